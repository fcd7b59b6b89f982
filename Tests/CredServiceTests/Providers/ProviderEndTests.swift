import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What becomes of a provider's tokens that no session has any more.
struct ProviderEndTests {
  @Test func tokensThatComeAfterTheEndOfTheSignInAreRevoked() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.login)
    provider.delay = .seconds(1)
    let client = fixture.connect()
    client.send(asked.response("response", "\"\(provider.browse(asked))\""))
    expect(client.hasReadAll)
    let handle = asked["Challenge"]?["Handle"]?.text ?? ""
    _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    expect(try client.next().errorCode, equals: "SignInFailed")
    provider.delay = .zero
    fixture.advance(by: .seconds(5))
    expect(provider.operations.last == "revoke" && provider.live.isEmpty)
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aLogoutRevokesTheRefreshTokenInTheBackground() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    let reply = try fixture.ask(#"{"op":"logout"}"#)
    expect(reply.state, equals: "signedOut")
    expect(reply["LogoutUrl"]?.text, equals: "https://login.example.com/logout?client_id=client-1")
    fixture.advance(by: .seconds(1))
    expect(provider.operations.last, equals: "revoke")
    expect(provider.live.isEmpty)
  }

  @Test func aGlobalLogoutNamesThePageToo() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    expect(reply.state, equals: "signedOut", "\(reply)")
    expect(reply["LogoutUrl"]?.text, equals: "https://login.example.com/logout?client_id=client-1")
    // Nobody has been signed in there since.
    expect(try fixture.ask(#"{"op":"logout","global":true}"#)["LogoutUrl"] == nil)
  }

  @Test func tokensOfACodeWhoseClientLeftAreRevoked() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.login)
    provider.delay = .seconds(1)
    let client = fixture.connect()
    client.sendOnly(asked.response("response", "\"\(provider.browse(asked))\""))
    fixture.advance(by: .milliseconds(500))
    expect(provider.live.count, equals: 1)
    client.leave()
    provider.delay = .zero
    fixture.advance(by: .seconds(5))
    expect(provider.operations.last == "revoke" && provider.live.isEmpty)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  /// A renewal that shows another account, or one that may not be used any more, ends the session, and
  /// what it brought ends at the provider, whether it is new or the same.
  @Test(arguments: [true, false], ["user", "claim", "idToken"])
  func tokensThatARenewalShowsToBeNobodysAreRevoked(_ rotates: Bool, _ what: String) throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(
      Configured.provider(backend: "scopes = openid email\nrequire.email = {user}@example.com"))
    provider.rotates = rotates
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    fixture.advance(by: .seconds(60))
    switch what {
    case "user": provider.user = "mallory"
    case "claim": provider.emailVerified = "false"
    default: provider.givesIDTokenAtRenewal = false
    }
    expect(
      try fixture.ask(#"{"refresh":true,"wait":1}"#).errorCode, equals: "SignInRequired")
    fixture.advance(by: .seconds(5))
    expect(provider.live.isEmpty)
    expect(provider.operations.count { $0 == "revoke" }, equals: 1)
  }

  /// The user was signed in there, and the ID token is none that could be believed.
  @Test(arguments: [FakeProvider.login, FakeProvider.device])
  func tokensOfASignInWhoseIDTokenIsRefusedAreRevoked(_ login: String) throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.moreClaims = #","azp":"another-client""#
    try signInInVain(login, fixture, provider)
    expect(provider.live.isEmpty)
    // Nobody knows whose they are: they may be those of the user who is signed in.
    provider.moreClaims = ""
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    provider.moreClaims = #","azp":"another-client""#
    try signInInVain(login, fixture, provider)
    expect(provider.live.count, equals: 2)
    expect(try fixture.ask("{}").accessKeyID != nil)
  }

  private func signInInVain(
    _ login: String, _ fixture: ServiceFixture, _ provider: FakeProvider
  ) throws {
    let asked = try fixture.ask(login)
    let isByBrowser = login == FakeProvider.login
    let client = fixture.connect()
    client.sendOnly(
      isByBrowser
        ? asked.response("response", "\"\(provider.browse(asked))\"") : asked.waiting(60))
    fixture.advance(by: .seconds(10))
    expect(try client.next().errorMessage?.contains("the ID token") == true)
  }

  /// The former process could not know that it would be dropped.
  @Test(arguments: ["client", "authority", "profile", "pool"])
  func aSessionThatARestartDropsIsRevokedWhereItIsStillKnownHow(_ change: String) throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    let text = Configured.provider()
    switch change {
    case "client":
      try fixture.restart(text.replacing("client_id = client-1", with: "client_id = other"))
    case "authority":
      try fixture.restart(Configured.provider(backend: "ca_file = /etc/other.pem"))
    case "profile":
      try fixture.restart(text.replacing("[profile default]", with: "[profile other]"))
    default:
      try fixture.restart(
        text.replacing(FakeUpstreams.pool, with: FakeUpstreams.pool.dropLast() + "0"))
    }
    fixture.advance(by: .seconds(5))
    // What one client was given is sent by no other, and to no other place.
    expect(provider.live.isEmpty, equals: !["client", "authority"].contains(change))
  }

  /// Some providers end all sign-ins of a user with one.
  @Test func anotherSignInOfTheSamePersonEndsNoSession() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    fixture.advance(by: .seconds(5))
    expect(!provider.operations.contains("revoke"))
    // Nor does one that comes to nothing.
    let asked = try fixture.ask(FakeProvider.login)
    provider.delay = .seconds(1)
    let client = fixture.connect()
    client.send(asked.response("response", "\"\(provider.browse(asked))\""))
    let handle = asked["Challenge"]?["Handle"]?.text ?? ""
    _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    provider.delay = .zero
    fixture.advance(by: .seconds(5))
    expect(!provider.operations.contains("revoke"))
    expect(try fixture.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(5))
    expect(provider.operations.count { $0 == "revoke" }, equals: 1)
  }

  /// Another authority may vouch for another server there.
  @Test func afterAReloadTokensGoNowhereElse() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    try fixture.reload(
      Configured.provider(
        backend: "ca_file = /etc/other.pem\nrevocation_endpoint = https://moved.example.com/revoke")
    )
    fixture.advance(by: .seconds(5))
    let revoked = fixture.host.http.requests.filter { $0.operation == "revoke" }
    expect(revoked.map(\.url), equals: ["https://login.example.com/revoke"])
    expect(provider.live.isEmpty)
  }
}
