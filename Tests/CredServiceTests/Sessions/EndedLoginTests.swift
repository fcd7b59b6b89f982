import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Cognito keeps what is linked to an identity for good, so whose the logins were is remembered with the
/// identity, also while the session has none.
struct EndedLoginTests: ProviderLoginTesting {
  private func ending(_ subject: String, _ fixture: ServiceFixture) -> String {
    let end = (fixture.host.clock.wallTime + .seconds(3600)).milliseconds / 1000
    return SampleJWT.text(#"{"sub":"\#(subject)","exp":\#(end)}"#)
  }

  /// Google's p1 and another provider's o1 are held, and one of them ends in an hour.
  private func fixture(thatEnds ended: String) throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.withoutBackend)
    let logins = [(Self.google, "p1"), (Self.okta, "o1")].map { provider, subject in
      (provider, subject == ended ? ending(subject, fixture) : Self.token(subject))
    }
    expect(try fixture.ask(login(logins)).state, equals: "signedIn")
    return fixture
  }

  /// Google's p1 has ended, and another provider's is held.
  private func fixture() throws -> ServiceFixture {
    let fixture = try fixture(thatEnds: "p1")
    fixture.advance(by: .seconds(3660))
    expect(try fixture.ask().accessKeyID != nil)
    return fixture
  }

  private func identity(_ fixture: ServiceFixture) throws -> String? {
    try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
  }

  /// The user is asked before the other person's login goes anywhere.
  private func expectQuestion(_ fixture: ServiceFixture, about subject: String = "p2") throws {
    let key = subject.hasPrefix("p") ? Self.google : Self.okta
    let asked = try fixture.ask(login([(key, Self.token(subject))]))
    expect(asked["Challenge"]?["Parameters"]?["Subject"]?.text, equals: subject, "\(asked)")
  }

  private func expectNoQuestion(_ fixture: ServiceFixture, _ logins: [(String, String)]) throws {
    let reply = try fixture.ask(login(logins))
    expect(reply.state == "signedIn" && reply.handle == nil, "\(reply)")
  }

  @Test func anIdentityThatAClientNamesAgainIsTheSame() throws {
    let fixture = try fixture()
    let identity = try #require(try identity(fixture))
    let again = login([(Self.okta, Self.token("o1"))], #","identity_id":"\#(identity)""#)
    expect(try fixture.ask(again).state, equals: "signedIn")
    try expectQuestion(fixture)
  }

  @Test func anIdentityThatCognitoGivesAgainIsTheSame() throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"ResourceNotFoundException","message":"Identity not found."}"#, count: 1)
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(fixture.host.upstreams.calls("GetId"), equals: 2)
    try expectQuestion(fixture)
  }

  /// Also a login that ends meanwhile, and after a restart.
  @Test(arguments: [false, true])
  func whatEndsWhileThereIsNoIdentityIsKept(_ restarts: Bool) throws {
    let fixture = try fixture(thatEnds: "p1")
    fixture.host.upstreams.faults = [
      "GetCredentialsForIdentity": .status(
        400, #"{"__type":"ResourceNotFoundException","message":"Identity not found."}"#),
      "GetId": .status(503),
    ]
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true}"#)
    expect(try identity(fixture) == nil)
    fixture.advance(by: .seconds(3660))
    _ = try fixture.ask(#"{"wait":0}"#)
    if restarts { try fixture.restart(Self.withoutBackend) }
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(#"{"wait":30}"#).accessKeyID != nil)
    try expectQuestion(fixture)
  }

  /// The other person alone begins a new identity. Cognito may give the old one.
  @Test func loginsOfOthersThatLeadToTheSameIdentityAreOfTheSame() throws {
    let fixture = try fixture(thatEnds: "o1")
    fixture.advance(by: .seconds(3660))
    expect(try fixture.ask().accessKeyID != nil)
    try expectNoQuestion(fixture, [(Self.google, Self.token("p2"))])
    try expectQuestion(fixture, about: "o2")
  }

  /// `alone` drops all that is held, and Cognito gives the identity to which it is linked.
  @Test(arguments: [#","alone":true"#, nil])
  func whatStandsInTheirPlaceForAMomentLeadsToTheSame(_ alone: String?) throws {
    let fixture = try fixture(thatEnds: "")
    let token = #"{"op":"login","identity_id":"\#(try identity(fixture) ?? "")","token":"a-token"}"#
    let between = alone.map { login([(Self.okta, Self.token("o1"))], $0) } ?? token
    expect(try fixture.ask(between).state, equals: "signedIn")
    let asked = try fixture.ask(
      login([(Self.google, Self.token("p2")), (Self.okta, Self.token("o1"))]))
    expect(asked["Challenge"]?["Parameters"]?["Subject"]?.text, equals: "p2", "\(asked)")
  }

  @Test func anotherIdentityHasNoSuchLogin() throws {
    let fixture = try fixture(thatEnds: "o1")
    fixture.advance(by: .seconds(3660))
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.replaceIdentity(of: "logins")
    try expectNoQuestion(fixture, [(Self.google, Self.token("p2"))])
    try expectNoQuestion(fixture, [(Self.okta, Self.token("o2"))])
  }

  @Test(arguments: [#"{"op":"logout"}"#, #"{"op":"clear","what":"identity"}"#])
  func whatForgetsTheIdentityForgetsThemToo(_ line: String) throws {
    let fixture = try fixture()
    _ = try fixture.ask(line)
    try expectNoQuestion(
      fixture, [(Self.google, Self.token("p2")), (Self.okta, Self.token("o1"))])
  }
}
