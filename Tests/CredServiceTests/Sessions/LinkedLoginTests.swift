import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Social logins that a client brings beside a backend, in virtual time: they are passed when the link
/// is made, and never again.
struct LinkedLoginTests {
  private static let login = #"{"op":"login","logins":{"graph.facebook.com":"opaque-of-alice"}}"#
  private static let renew = #"{"refresh":true,"wait":2}"#

  /// A backend that refuses the token once it has ended.
  private func fixture(_ refusal: FakeHTTP.Answer, refusesFrom: Int = 2) throws -> ServiceFixture {
    let fixture = try ServiceFixture()
    let usual = fixture.host.http.answer
    var links = 0
    fixture.host.http.answer = { request in
      guard request.url == "http://127.0.0.1/token", request.json?["Logins"] != nil else {
        return usual(request)
      }
      links += 1
      return links < refusesFrom ? usual(request) : refusal
    }
    return fixture
  }

  private static let refusals: [FakeHTTP.Answer] = [
    .reply(400, #"{"Code":"LoginsRejected","message":"Cognito refuses a token in Logins"}"#),
    .reply(403, ""), .reply(409, #"{"message":"linked to another account"}"#),
  ]

  @Test(arguments: 0..<3)
  func aTokenThatEndsAfterTheLinkEndsNoCredentials(_ refusal: Int) throws {
    let fixture = try fixture(Self.refusals[refusal])
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    for _ in 0..<3 {
      fixture.advance(by: .seconds(3600))
      let reply = try fixture.ask(Self.renew)
      expect(reply.accessKeyID != nil, "\(reply)")
    }
  }

  @Test(arguments: 0..<3)
  func aLinkIsDecidedByItsOwnAnswer(_ refusal: Int) throws {
    let fixture = try fixture(Self.refusals[refusal], refusesFrom: 1)
    expect(try fixture.ask().accessKeyID != nil)
    let usual = fixture.host.http.answer
    var isAway = true
    fixture.host.http.answer = { isAway ? .reply(503, "") : usual($0) }
    let undecided = try fixture.ask(Self.login)
    expect(undecided.errorCode, equals: "BackendUnavailable", "\(undecided)")
    expect(undecided["Error"]?["Kind"]?.text, equals: "temporary")
    isAway = false
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(Self.login).errorCode != nil)
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(Self.renew).accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  /// They were meant for the backend that was configured when they came.
  @Test(arguments: [true, false])
  func loginsThatAreBeingLinkedGoToNoOtherBackend(_ isSignedIn: Bool) throws {
    let fixture = try ServiceFixture()
    if isSignedIn { expect(try fixture.ask().accessKeyID != nil) }
    let client = fixture.connect()
    fixture.host.upstreams.faults["token"] = .hang
    client.send(Self.login)
    expect(client.isWaiting)
    fixture.host.upstreams.faults = [:]
    let before = fixture.host.http.requests.count
    try fixture.reload(
      Configured.http(url: "http://127.0.0.1/other") + Configured.profile("default"))
    expect(try client.next().errorCode, equals: "SignInFailed")
    fixture.advance(by: .seconds(600))
    _ = try fixture.ask(Self.renew)
    let later = fixture.host.http.requests.dropFirst(before)
    expect(!later.contains { $0.json?["Logins"] != nil }, "\(later.map(\.url))")
  }
}
