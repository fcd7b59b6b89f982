import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Social logins that a client brings beside a backend, in virtual time: they are passed when the link
/// is made, and never again.
struct LinkedLoginTests: ProviderLoginTesting {
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

  // MARK: Another person's

  /// The logins that callbacks brought.
  private func linked(_ fixture: ServiceFixture) -> [JSONValue] {
    fixture.host.http.requests.filter { $0.operation == "token" }.compactMap { $0.json?["Logins"] }
  }

  private static let p1 = [(google, token("p1"))]
  private static let p2 = [(google, token("p2"))]

  /// What a backend has linked is linked for good, although nobody holds its token.
  @Test(arguments: [false, true])
  func anotherPersonsIsLinkedAfterAWord(_ restarts: Bool) throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask(login(Self.p1)).state, equals: "signedIn")
    if restarts { try fixture.restart(Configured.usual()) }
    let asked = try fixture.ask(login(Self.p2))
    let parameters = asked["Challenge"]?["Parameters"]
    expect(parameters?["Subject"]?.text, equals: "p2", "\(asked)")
    expect(parameters?["LinksTo"]?.text, equals: fixture.host.upstreams.identity(of: "alice"))
    expect(linked(fixture).count, equals: 1)
    let reply = try fixture.ask(asked.response("confirm", "true"))
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(linked(fixture).last?[Self.google]?.text, equals: Self.token("p2"))
    // From now on it is that person's.
    expect(try fixture.ask(login(Self.p2)).state, equals: "signedIn")
    expect(linked(fixture).count, equals: 3)
  }

  @Test func theSamePersonsAndAnotherProvidersAreLinkedAtOnce() throws {
    let fixture = try ServiceFixture()
    for logins in [
      Self.p1, [(Self.google, SampleJWT.text(#"{"sub":"p1","n":2}"#))],
      [(Self.okta, Self.token("o1"))],
    ] {
      expect(try fixture.ask(login(logins)).state, equals: "signedIn")
    }
    expect(linked(fixture).count, equals: 3)
  }

  /// The backend reads it; Cognito is not asked of a login that it may not know.
  @Test func whatNobodyHereCanReadIsForTheBackendToJudge() throws {
    let fixture = try ServiceFixture()
    for token in ["opaque-1", "opaque-2"] {
      expect(try fixture.ask(login([(Self.facebook, token)])).state, equals: "signedIn")
    }
    expect(
      linked(fixture).map { $0[Self.facebook]?.text }, equals: ["opaque-1", "opaque-2"])
    let toCognito = fixture.host.http.requests.filter {
      $0.operation == "GetCredentialsForIdentity"
    }
    expect(toCognito.allSatisfy { $0.json?["Logins"]?[Self.facebook] == nil })
  }

  /// The sign-in is refused by what follows. The link is made.
  @Test func aLinkBeforeARefusalIsRemembered() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"InvalidIdentityPoolConfigurationException","message":"no role"}"#)
    expect(try fixture.ask(login(Self.p1)).errorCode != nil)
    expect(linked(fixture).count, equals: 1)
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(login(Self.p2)).handle != nil)
  }

  @Test func whatCameWithAPasswordIsRememberedToo() throws {
    let fixture = try ServiceFixture(Configured.password())
    let first =
      #"{"op":"login","username":"alice","password":"alice-password","logins":"#
      + #"{"\#(Self.google)":"\#(Self.token("p1"))"}}"#
    expect(try fixture.ask(first).state, equals: "signedIn")
    expect(try fixture.ask(login(Self.p2)).handle != nil)
    // Another user of the backend has an identity of their own.
    let bob = #"{"op":"login","username":"bob","password":"bob-password"}"#
    expect(try fixture.ask(bob).state, equals: "signedIn")
    expect(try fixture.ask(login(Self.p2)).handle == nil)
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
