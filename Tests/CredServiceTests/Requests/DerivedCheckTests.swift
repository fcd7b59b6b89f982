import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `check` of derived profiles.
struct DerivedCheckTests {
  private static let role = "arn:aws:iam::210987654321:role/reader"
  private static let check = #"{"op":"check","profile":"maps"}"#

  private func fixture() throws -> ServiceFixture {
    try ServiceFixture(
      Configured.http() + Configured.profile("work", identifier: "{user}")
        + Configured.derived("maps", "role_arn = \(Self.role)"))
  }

  private func steps(_ reply: Reply) -> [String: String] {
    guard case .array(let steps)? = reply["Steps"] else { return [:] }
    let details = steps.map { ($0["Name"]?.text ?? "", $0["Detail"]?.text ?? "") }
    return Dictionary(details, uniquingKeysWith: { $1 })
  }

  /// A derived session begins with its first `get`, but its source may be signed in.
  @Test func aCheckBeforeTheFirstGetRenewsTheSourceAndWhatIsDerived() throws {
    let fixture = try fixture()
    _ = try fixture.ask(#"{"profile":"work"}"#)
    let steps = steps(try fixture.ask(Self.check))
    expect(steps["session"] == nil, "\(steps)")
    expect(steps["source 'work'"]?.hasPrefix("valid until ") == true, "\(steps)")
    expect(steps["AssumeRole"] != nil, "\(steps)")
    expect(steps["credentials"]?.hasSuffix("the session token is 14 % full") == true, "\(steps)")
  }

  /// The source is tried once, too.
  @Test func theFirstTryOfTheSourceThatFailsEndsTheCheck() throws {
    let fixture = try fixture()
    _ = try fixture.ask(#"{"profile":"maps"}"#)
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(503)
    let calls = fixture.host.upstreams.calls("token")
    let began = fixture.now
    let reply = try fixture.ask(Self.check)
    expect(reply["Ok"]?.bool == false, "\(reply.text)")
    expect(fixture.host.upstreams.calls("token") - calls, equals: 1)
    expect(fixture.now - began < .seconds(2), "\(fixture.now - began)")
  }

  @Test func aCheckSignsNobodyInToTheSource() throws {
    let fixture = try fixture()
    let steps = steps(try fixture.ask(Self.check))
    expect(steps["session"]?.contains("'credctl get maps'") == true, "\(steps)")
    expect(fixture.service.sessions.isEmpty)
  }

  @Test func usersOfADerivedProfileSignInToItsSource() throws {
    let fixture = try ServiceFixture(
      Configured.http(backend: "login_url = http://127.0.0.1/login")
        + Configured.profile("work", identifier: "{user}")
        + Configured.derived("maps", "role_arn = \(Self.role)"))
    let steps = steps(try fixture.ask(Self.check))
    expect(
      steps["session"], equals: "nobody is signed in: sign in with 'credctl login work'")
  }

  /// The source's first request failed, and with it that of the derived profile.
  @Test func theFailureOfTheSourceIsAStep() throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["token"] = .status(
      401, #"{"Code":"HostNotAuthorized","Message":"who is this?"}"#)
    expect(try fixture.ask(#"{"profile":"maps"}"#).errorCode != nil)
    let steps = steps(try fixture.ask(Self.check))
    let detail = steps["last request"] ?? steps["credentials"] ?? ""
    expect(detail.contains("who is this?"), "\(steps)")
  }
}
