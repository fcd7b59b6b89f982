import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A provider's session after its sign-in: renewals, tokens for programs, restarts.
struct ProviderRenewalTests {
  @Test func anExpiredTokenIsRenewedOnceForAll() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(3500))
    let clients = (0..<20).map { _ in fixture.connect() }
    for client in clients { client.send(#"{"refresh":true,"wait":60}"#) }
    fixture.advance(by: .seconds(1))
    for client in clients { expect(try client.next().accessKeyID != nil) }
    let renewals = provider.forms.filter { $0["grant_type"] == "refresh_token" }
    expect(Set(renewals.compactMap { $0["refresh_token"] }).count, equals: renewals.count)
  }

  /// The provider was called: what its reply lacks is named, and the next refresh token is kept.
  @Test func aReplyWithoutAnAccessTokenSaysSo() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.givesAccessTokens = false
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorMessage?.contains("access_token is missing") == true, "\(reply)")
    expect(reply.errorMessage?.contains("was not called") == false, "\(reply)")
    provider.givesAccessTokens = true
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(provider.misuses, equals: 0)
  }

  @Test func aSignInWithoutAnAccessTokenSaysSo() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.givesAccessTokens = false
    let reply = try fixture.signInAtProvider(provider)
    expect(reply.errorMessage?.contains("access_token is missing") == true, "\(reply)")
    expect(reply.errorMessage?.contains("was not called") == false, "\(reply)")
    expect(provider.live, equals: [])
  }

  @Test func aLostReplyIsAskedForOnceMore() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.rotates = false
    _ = try fixture.signInAtProvider(provider)
    provider.lostReplies = 1
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(provider.forms.count, equals: 3)
  }

  /// The provider has rotated the token, and nobody has its successor.
  @Test func aSessionThatALostReplyEndedSaysSo() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.lostReplies = 1
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(reply.errorMessage?.contains("was lost") == true, "\(reply)")
  }

  @Test func aRefusedRefreshTokenEndsTheSession() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.faults["token"] = [FakeProvider.error("invalid_grant")]
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(reply.errorMessage?.contains("was lost") == false)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
  }

  @Test func aRefusalWithoutAReasonIsAskedOnceMore() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.faults["token"] = [.reply(400, "")]
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    fixture.advance(by: .seconds(60))
    provider.faults["token"] = [.reply(400, ""), .reply(400, "")]
    expect(try fixture.ask(#"{"refresh":true,"wait":1}"#).errorCode, equals: "SignInRequired")
  }

  @Test func aProviderThatIsAwaySignsNobodyOut() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    for answer in [
      FakeHTTP.Answer.failure(.connect), .reply(503, ""), .reply(200, "<html>"),
      FakeProvider.error("invalid_client"),
    ] {
      provider.faults["token"] = [answer, answer, answer]
      _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
      expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
      provider.faults = [:]
      fixture.advance(by: .seconds(600))
    }
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
  }

  @Test func aRenewalWithoutAnIDTokenIsNamed() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.givesIDTokenAtRenewal = false
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(reply.errorMessage?.contains("no ID token") == true)
  }

  @Test func withoutARefreshTokenTheSessionLastsAsLongAsItsIDToken() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.givesRefreshTokens = false
    let reply = try fixture.signInAtProvider(provider)
    expect(reply.state, equals: "signedIn")
    // Told at once, not after an hour.
    let end = WallTime(
      milliseconds: fixture.host.clock.wallTime.milliseconds / 1000 * 1000 + 3_600_000)
    expect(reply["SignedInUntil"]?.text, equals: end.iso8601)
    expect(try fixture.ask().accessKeyID != nil)
    try fixture.restart(Configured.provider())
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    fixture.advance(by: .seconds(3601))
    let late = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(late.errorCode, equals: "SignInRequired")
    expect(late.errorMessage?.contains("offline_access") == true)
  }

  /// The renewal waits for discovery and is taken back; nothing waits for it after that.
  @Test func aLogoutBeforeARenewalWithoutATokenLeavesNothingWaiting() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.givesRefreshTokens = false
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(86_401))
    provider.faults["openid-configuration"] = [.silence]
    let client = fixture.connect()
    client.sendOnly(#"{"refresh":true,"wait":5}"#)
    fixture.advance(by: .seconds(1))
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(60))
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
  }

  @Test func anotherSubjectEndsTheSession() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.user = "mallory"
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(try fixture.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "alice")
  }

  /// OpenID Connect Core 1.0, 12.2: the nonce of a renewed token is that of the first one, also after a
  /// restart.
  @Test func aRenewedTokenOfAnotherSignInIsNotUsed() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.renewedNonce = provider.nonce
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    for isRestarted in [false, true] {
      if isRestarted { try fixture.restart(Configured.provider()) }
      fixture.advance(by: .seconds(600))
      provider.renewedNonce = "another"
      let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
      expect(reply.errorCode, equals: "TokenRejected")
      expect(reply.errorMessage?.contains("another sign-in") == true, "\(reply)")
      // It is the same user's, who stays signed in.
      expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
      provider.renewedNonce = provider.nonce
      fixture.advance(by: .seconds(600))
      expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    }
    expect(provider.misuses, equals: 0)
  }

  /// A new refresh token that came with an ID token of no use is the one that lives.
  @Test func aRotatedTokenIsKeptThoughTheRestIsOfNoUse() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    fixture.advance(by: .seconds(60))
    provider.moreClaims = #","azp":"another""#
    _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(provider.live, equals: ["refresh-2"])
    provider.moreClaims = ""
    fixture.advance(by: .seconds(3600))
    expect(try fixture.ask(#"{"wait":60}"#).accessKeyID != nil)
    expect(provider.misuses, equals: 0)
  }

  @Test func aRefreshTokenGoesToNoOtherPlace() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    provider.tokenEndpoint = "https://moved.example.com/token"
    fixture.advance(by: .seconds(3601))
    let count = provider.forms.count
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(provider.forms.count, equals: count)
  }

  @Test func aSessionOutlivesARestart() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    try fixture.restart(Configured.provider())
    let identity = try fixture.ask(#"{"op":"identity"}"#)
    expect(identity.state, equals: "signedIn")
    expect(identity["SignedInBy"]?.text, equals: "oidc")
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(provider.forms.last?["refresh_token"], equals: "refresh-1")
  }

  @Test func tokensAreHandedOutWhereTheProfileNamesThem() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(
      Configured.provider(profile: "vend_tokens = id access"))
    _ = try fixture.signInAtProvider(provider)
    expect(try fixture.ask(#"{"op":"token"}"#)["Token"]?.text?.hasPrefix("ey") == true)
    expect(
      try fixture.ask(#"{"op":"token","kind":"access"}"#)["Token"]?.text?.hasPrefix("access-")
        == true)
    expect(
      try fixture.ask(#"{"op":"token","kind":"developer"}"#).errorCode, equals: "InvalidRequest")
    let (plain, other) = try ServiceFixture.ofProvider()
    _ = try plain.signInAtProvider(other)
    expect(try plain.ask(#"{"op":"token"}"#).errorCode, equals: "AccessDenied")
  }
}
