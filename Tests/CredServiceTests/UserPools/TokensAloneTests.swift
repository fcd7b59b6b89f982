import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A profile with a user pool and without an identity pool: programs get the pool's tokens, and no
/// credentials.
struct TokensAloneTests {
  private static let token = #"{"op":"token"}"#

  private static func text(_ profile: String = "vend_tokens = id\n") -> String {
    Configured.userPool(profile: profile)
      .replacing("identity_pool_id = \(FakeUpstreams.pool)\n", with: "")
      .replacing("cognito_endpoint = http://127.0.0.1:4599\n", with: "")
  }

  private func fixture(
    _ profile: String = "vend_tokens = id\n"
  ) throws -> (ServiceFixture, FakePool) {
    let (fixture, pool) = try ServiceFixture.ofUserPool(Self.text(profile))
    try fixture.signInAtPool()
    return (fixture, pool)
  }

  private func advance(_ fixture: ServiceFixture, minutes: Int, asking line: String? = nil) throws {
    for _ in 0..<minutes {
      fixture.advance(by: .seconds(60))
      if let line { expect(try fixture.ask(line)["Token"] != nil) }
    }
  }

  @Test func aSignInIsEnoughForATokenAndNobodyElseIsAsked() throws {
    let (fixture, pool) = try fixture()
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    let reply = try fixture.ask(Self.token)
    expect(reply["Token"]?.text?.hasPrefix("e30.") == true, "\(reply)")
    expect(reply["Expiration"] != nil && reply["IdentityId"] == nil)
    expect(pool.operations, equals: [])
    expect(fixture.host.upstreams.calls("GetId"), equals: 0)
    let session = try #require(try fixture.status())
    expect(session["State"]?.text, equals: "signedIn")
    expect(session["Expiration"]?.text, equals: reply["Expiration"]?.text)
    expect(session["IdentityId"] == nil)
  }

  @Test func whoAsksForCredentialsIsToldOfTokens() throws {
    let (fixture, pool) = try fixture()
    for line in ["{}", #"{"refresh":true}"#, #"{"min_ttl":60,"wait":0}"#] {
      let reply = try fixture.ask(line)
      expect(reply.errorCode, equals: "InvalidRequest")
      expect(reply.errorMessage?.contains("'credctl token --profile default'") == true, "\(reply)")
    }
    // The endpoint answers as for a profile that is not there, and the operation says why.
    let opening = try EndpointLock.token(.user(1000))
    expect(try EndpointClient(fixture).ask("default", opening).status, equals: 403)
    expect(try fixture.ask(#"{"op":"endpoint"}"#).errorCode, equals: "InvalidRequest")
    expect(pool.operations, equals: [])
  }

  @Test func whatIsForAnIdentityPoolIsRefused() throws {
    let (fixture, _) = try fixture()
    for members in [
      #""logins":{"accounts.google.com":"t"}"#,
      #""logins":{"accounts.google.com":"t"},"alone":true"#,
      #""username":"alice","custom_role_arn":"arn:aws:iam::123456789012:role/x""#,
      #""identity_id":"us-east-1:00000000-1111-2222-3333-000000000001","token":"t""#,
    ] {
      let reply = try fixture.ask(#"{"op":"login",\#(members)}"#)
      expect(reply.errorCode, equals: "InvalidRequest", "\(members)")
      expect(reply.errorMessage?.contains("is for an identity pool") == true, "\(reply)")
    }
    let profiles = try fixture.ask(#"{"op":"status","profiles":true}"#)["Profiles"]
    expect(profiles?[0]?["SignIn"]?["Means"], equals: .array([.string(Secret("password"))]))
  }

  /// As credentials: what is in use is renewed with half of its life left, so that an outage is outlasted.
  @Test func tokensInUseAreRenewedBeforeTheirEnd() throws {
    let (fixture, pool) = try fixture()
    let watcher = fixture.connect()
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#).state, equals: "signedIn")
    let first = try fixture.ask(Self.token)
    try advance(fixture, minutes: 34, asking: Self.token)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
    let event = try watcher.next()
    expect(event["Event"]?.text, equals: "refreshed")
    expect(event["Expiration"] != nil && event["NextRefresh"] != nil, "\(event)")
    expect(try fixture.ask(Self.token)["Token"] != first["Token"])
    // Nobody asks: nothing is renewed.
    try advance(fixture, minutes: 100)
    expect(pool.operations.count <= 2, "\(pool.operations)")
  }

  @Test func tokensThatCannotBeRenewedServeToTheirEnd() throws {
    let (fixture, pool) = try fixture()
    _ = try fixture.ask(Self.token)
    pool.faults["GetTokensFromRefreshToken"] = Array(repeating: .failure(.connect), count: 1000)
    let watcher = fixture.connect()
    _ = try watcher.ask(#"{"op":"watch","profile":"default"}"#)
    try advance(fixture, minutes: 50, asking: Self.token)
    expect(pool.operations.count > 1 && pool.operations.count < 200, "\(pool.operations.count)")
    let event = try watcher.next()
    expect(event["Event"]?.text == "degraded" && event["Expiration"] != nil, "\(event)")
    expect(fixture.host.log.messages.contains { $0.contains("the tokens at hand go on serving") })
    // An expired one is never handed out.
    try advance(fixture, minutes: 12)
    let late = try fixture.ask(#"{"op":"token","wait":1}"#)
    expect(late.errorCode, equals: "BackendUnavailable", "\(late)")
    pool.faults = [:]
    fixture.advance(by: .seconds(400))
    expect(try fixture.ask(Self.token)["Token"] != nil)
  }

  @Test func keptSessionsAreRenewedThoughNobodyAsks() throws {
    let (fixture, pool) = try fixture("vend_tokens = id\nkeep_warm = yes\n")
    try advance(fixture, minutes: 240)
    expect((7...11).contains(pool.operations.count), "\(pool.operations.count)")
    let before = pool.operations.count
    expect(try fixture.ask(Self.token)["Token"] != nil)
    expect(pool.operations.count, equals: before)
  }

  @Test func aSessionOutlivesARestartAndEndsWithALogout() throws {
    let (fixture, pool) = try fixture()
    let first = try fixture.ask(Self.token)
    try fixture.restart(Self.text())
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(try fixture.ask(Self.token)["Token"], equals: first["Token"])
    expect(try fixture.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(5))
    expect(pool.live.isEmpty)
    let reply = try fixture.ask(#"{"op":"token","wait":0}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
  }

  @Test func checkRenewsTheTokens() throws {
    let (fixture, pool) = try fixture()
    fixture.advance(by: .seconds(120))
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply["Ok"]?.bool, equals: true, "\(reply)")
    guard case .array(let steps)? = reply["Steps"] else { return expect(Bool(false), "\(reply)") }
    let names = steps.map { $0["Name"]?.text ?? "" }
    expect(names.last, equals: "tokens")
    expect(!names.contains("cognito-identity"), "\(names)")
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
  }

  @Test func theAccountIsTheUsers() throws {
    let (fixture, pool) = try fixture()
    pool.faults["GetUser"] = [.reply(200, #"{"Username":"alice","UserAttributes":[]}"#)]
    expect(try fixture.ask(#"{"op":"account","action":"get"}"#)["Username"]?.text, equals: "alice")
  }

  /// A reload takes the identity pool away: whoever waits for credentials is told at once.
  @Test func whoWaitsForCredentialsThatThereAreNoMoreIsTold() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool(
      Configured.userPool(profile: "vend_tokens = id\n"))
    let waiting = fixture.connect()
    waiting.send(#"{"wait":300}"#)
    expect(waiting.isWaiting)
    try fixture.reload(Self.text())
    expect(try waiting.next().errorCode, equals: "InvalidRequest")
  }

  @Test func aProviderOfOpenIDConnectWillDoToo() throws {
    let text = Configured.provider(profile: "vend_tokens = id access")
      .replacing("identity_pool_id = \(FakeUpstreams.pool)\n", with: "")
      .replacing("cognito_endpoint = http://127.0.0.1:4599\n", with: "")
    let (fixture, provider) = try ServiceFixture.ofProvider(text)
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    expect(try fixture.ask(Self.token)["Token"]?.text?.hasPrefix("ey") == true)
    for _ in 0..<40 {
      fixture.advance(by: .seconds(60))
      expect(try fixture.ask(#"{"op":"token","kind":"access"}"#)["Token"] != nil)
    }
    expect(provider.forms.count, equals: 2)
    expect(try fixture.ask().errorCode, equals: "InvalidRequest")
  }

  /// Each renewal uses up a refresh token, so an access token of unknown lifetime asks for none.
  @Test func anUnknownLifetimeRenewsNothing() throws {
    let text = Configured.provider(profile: "vend_tokens = id access\nkeep_warm = yes")
      .replacing("identity_pool_id = \(FakeUpstreams.pool)\n", with: "")
      .replacing("cognito_endpoint = http://127.0.0.1:4599\n", with: "")
    let (fixture, provider) = try ServiceFixture.ofProvider(text)
    provider.tellsLifetime = false
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    try advance(fixture, minutes: 120)
    // The ID token lasts an hour, and is renewed at half of it.
    expect((4...6).contains(provider.forms.count), "\(provider.forms.count)")
  }
}
