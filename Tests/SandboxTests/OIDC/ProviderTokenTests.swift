import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct ProviderTokenTests {
  // MARK: Renewal

  @Test func aRotatedTokenReplacesTheFormerOne() throws {
    var provider = try TestProvider()
    let (first, _) = try provider.signIn()
    let renewed = provider.renew(first)
    let second = try #require(renewed.json?["refresh_token"]?.text)
    expect(second != first)
    // No nonce after the first ID token.
    let token = try #require(renewed.json?["id_token"]?.text)
    let claims = try TestSandbox.issuer.get().verifiedClaims(in: token, algorithm: .rs256)
    expect(claims["nonce"] == nil)
    expect(provider.renew(second).status, equals: 200)
  }

  @Test func anOldTokenEndsTheNewestToo() throws {
    var provider = try TestProvider()
    let (first, _) = try provider.signIn()
    let second = try #require(provider.renew(first).json?["refresh_token"]?.text)
    expect(provider.renew(first).oauthError, equals: "invalid_grant")
    expect(provider.renew(second).oauthError, equals: "invalid_grant")
    expect(provider.misuses["ReusedRefreshTokens"]?.integer, equals: 1)
  }

  @Test func withAGraceTheFormerTokenWorksForAMoment() throws {
    var provider = try TestProvider()
    provider.control("/client", ["ClientId": .string(TestProvider.client), "Grace": 30])
    let (first, _) = try provider.signIn()
    expect(provider.renew(first).status, equals: 200)
    provider.wait(29)
    let third = try #require(provider.renew(first).json?["refresh_token"]?.text)
    // Older than the one before is no lost reply.
    expect(provider.renew(first).oauthError, equals: "invalid_grant")
    expect(provider.renew(third).oauthError, equals: "invalid_grant")
  }

  @Test func withoutRotationTheTokenStays() throws {
    var provider = try TestProvider()
    provider.control("/client", ["ClientId": .string(TestProvider.client), "Rotation": "off"])
    let (token, _) = try provider.signIn()
    for _ in 0..<3 {
      let reply = provider.renew(token)
      expect(reply.status, equals: 200)
      expect(reply.json?["refresh_token"] == nil)
    }
  }

  @Test func aRefreshTokenHasAnEndAndAClient() throws {
    var provider = try TestProvider()
    provider.control("/client", ["ClientId": "other"])
    let (token, _) = try provider.signIn()
    expect(provider.renew(token, [("client_id", "other")]).oauthError, equals: "invalid_grant")
    expect(provider.renew("rt_unknown").oauthError, equals: "invalid_grant")
    expect(provider.renew(token, [("scope", "openid admin")]).oauthError, equals: "invalid_scope")
    provider.wait(86_400)
    expect(provider.renew(token).oauthError, equals: "invalid_grant")
  }

  @Test func withoutOfflineAccessThereIsNoRefreshToken() throws {
    var provider = try TestProvider()
    let code = try provider.code([("scope", "openid")])
    expect(provider.exchange(code).json?["refresh_token"] == nil)
  }

  @Test func aRevokedTokenIsNoneAndAnUnknownOneIsNoError() throws {
    var provider = try TestProvider()
    let (token, _) = try provider.signIn()
    let client = ("client_id", TestProvider.client)
    expect(provider.post("/revoke", [("token", "unknown"), client]).status, equals: 200)
    expect(provider.post("/revoke", [("token", token), client]).status, equals: 200)
    expect(provider.renew(token).oauthError, equals: "invalid_grant")
    expect(provider.post("/revoke", [client]).oauthError, equals: "invalid_request")
    provider.control("/client", ["ClientId": "other"])
    let (second, _) = try provider.signIn()
    expect(
      provider.post("/revoke", [("token", second), ("client_id", "other")]).oauthError,
      equals: "invalid_grant")
    expect(provider.renew(second).status, equals: 200)
  }

  @Test func theControlPathEndsAUsersSessions() throws {
    var provider = try TestProvider()
    let (token, _) = try provider.signIn()
    expect(provider.control("/revoke", ["User": "bob"])?["Sessions"]?.integer, equals: 0)
    expect(provider.control("/revoke", ["User": "alice"])?["Sessions"]?.integer, equals: 1)
    expect(provider.renew(token).oauthError, equals: "invalid_grant")
  }

  /// The service does what it was asked, and its answer is lost.
  @Test func aLostReplyUsesTheTokenUp() throws {
    var provider = try TestProvider()
    let (token, _) = try provider.signIn()
    provider.sandbox.plan(["Service": "oidc", "Operation": "token", "Kind": "truncate"])
    _ = provider.renew(token)
    expect(provider.renew(token).oauthError, equals: "invalid_grant")
  }

  // MARK: Device codes

  @Test func aDeviceCodeGivesTokensOnceItsUserSaysYes() throws {
    var provider = try TestProvider()
    let (code, userCode) = try provider.startDevice()
    expect(provider.poll(code).oauthError, equals: "authorization_pending")
    let typed = JSON.string(userCode.lowercased().filter { $0 != "-" })
    provider.control("/device", ["UserCode": typed, "As": "bob"])
    provider.wait(5)
    let reply = provider.poll(code)
    let token = try #require(reply.json?["id_token"]?.text, "\(reply.text)")
    expect(try TokenIssuer.claims(in: token)["sub"]?.text, equals: "sandbox|bob")
    provider.wait(5)
    expect(provider.poll(code).oauthError, equals: "invalid_grant")
  }

  @Test func aClientThatAsksTooOftenIsSlowedDownForGood() throws {
    var provider = try TestProvider()
    let (code, _) = try provider.startDevice()
    expect(provider.poll(code).oauthError, equals: "authorization_pending")
    provider.wait(4)
    expect(provider.poll(code).oauthError, equals: "slow_down")
    // The interval is ten seconds from now on.
    provider.wait(9)
    expect(provider.poll(code).oauthError, equals: "slow_down")
    expect(provider.misuses["RepeatedEarlyPolls"]?.integer, equals: 1)
    provider.wait(15)
    expect(provider.poll(code).oauthError, equals: "authorization_pending")
  }

  @Test func aDeviceCodeEnds() throws {
    var provider = try TestProvider()
    let (denied, userCode) = try provider.startDevice()
    provider.control("/device", ["UserCode": .string(userCode)])
    expect(provider.poll(denied).oauthError, equals: "access_denied")
    let (late, lateUserCode) = try provider.startDevice()
    provider.wait(600)
    expect(provider.poll(late).oauthError, equals: "expired_token")
    let answer: JSON = ["UserCode": .string(lateUserCode), "As": "bob"]
    expect(provider.sandbox.send("POST", "/control/oidc/device", answer).status, equals: 400)
    expect(provider.poll("dc_unknown").oauthError, equals: "invalid_grant")
  }

  @Test func theCodesPageWantsNameAndPassword() throws {
    var provider = try TestProvider()
    let (code, userCode) = try provider.startDevice()
    let form = [("user_code", userCode), ("username", "alice")]
    expect(provider.post("/activate", form + [("password", "wrong")]).status, equals: 403)
    expect(provider.poll(code).oauthError, equals: "authorization_pending")
    expect(provider.post("/activate", form + [("password", "alice-password")]).status, equals: 200)
    provider.wait(5)
    expect(provider.poll(code).status, equals: 200)
  }

  // MARK: Lies

  private func claims(_ reply: HTTPReply) throws -> JSON {
    try TokenIssuer.claims(in: try #require(reply.json?["id_token"]?.text, "\(reply.text)"))
  }

  @Test func eachLieIsToldAsOftenAsItWasAskedFor() throws {
    var provider = try TestProvider()
    let lies: [(String, String, String)] = [
      ("Nonce", "nonce", "wrong"), ("Audience", "aud", "another-client"),
      ("AuthorizedParty", "azp", "another-client"), ("Issuer", "iss", "https://evil.example/"),
    ]
    for (lie, claim, value) in lies {
      provider.control("", .object([lie: 1]))
      expect(try claims(provider.exchange(try provider.code()))[claim]?.text, equals: value)
      expect(try claims(provider.exchange(try provider.code()))[claim]?.text != value)
    }
    let (token, _) = try provider.signIn()
    provider.control("", ["Subject": 1])
    let reply = provider.renew(token)
    expect(try claims(reply)["sub"]?.text, equals: "sandbox|mallory")
    provider.control("", ["NoIdToken": 1])
    let next = provider.renew(try #require(reply.json?["refresh_token"]?.text))
    expect(next.json?["id_token"] == nil)
    expect(next.json?["refresh_token"] != nil)
  }

  @Test func aRenewedTokenMayRepeatTheNonceOrHaveAnother() throws {
    var provider = try TestProvider()
    let (first, _) = try provider.signIn()
    provider.control("", ["NonceAtRenewal": true])
    let same = provider.renew(first)
    expect(try claims(same)["nonce"]?.text, equals: "n-1")
    provider.control("", ["RenewedNonce": 1])
    let other = provider.renew(try #require(same.json?["refresh_token"]?.text))
    expect(try claims(other)["nonce"]?.text, equals: "wrong")
  }

  @Test func aClientsTokensMayBeForOthersToo() throws {
    var provider = try TestProvider()
    provider.control(
      "/client", ["ClientId": .string(TestProvider.client), "Audiences": ["project-1"]])
    var token = try claims(provider.signIn().reply)
    expect(token["aud"], equals: [.string(TestProvider.client), "project-1"])
    expect(token["azp"]?.text, equals: TestProvider.client)
    provider.control("", ["NamesParty": false])
    token = try claims(provider.signIn().reply)
    expect(token["azp"] == nil)
  }

  @Test func aDeviceCodesLifetimeMayBeATextOrMissing() throws {
    var provider = try TestProvider()
    let parameters = [("client_id", TestProvider.client), ("scope", "openid")]
    for (form, lifetime) in [("text", JSON.string("600")), ("none", nil), ("number", 600)] {
      provider.control("", ["DeviceLifetimeForm": .string(form)])
      let reply = provider.post("/device", parameters)
      expect(reply.json?["expires_in"], equals: lifetime, "\(form)")
    }
  }

  @Test func aRefusalMayHaveNoReason() throws {
    var provider = try TestProvider()
    let (token, _) = try provider.signIn()
    provider.control("", ["EmptyRefusal": 1])
    let reply = provider.renew(token)
    expect(reply.status, equals: 400)
    expect(reply.body.isEmpty)
    provider.control("", ["UnknownError": 1])
    expect(provider.renew(token).oauthError, equals: "sandbox_refuses")
    expect(provider.renew(token).status, equals: 200)
  }

  @Test func theBrowsersResponseMayLie() throws {
    var provider = try TestProvider()
    provider.control("", ["ResponseIssuer": 1])
    expect(TestProvider.response(provider.authorize())["iss"], equals: "https://evil.example/")
    provider.control("", ["NoResponseIssuer": 1])
    expect(TestProvider.response(provider.authorize())["iss"] == nil)
    provider.control("", ["SecondCode": 1])
    expect(provider.authorize().header("Location")?.split(separator: "code=").count, equals: 3)
    provider.control("", ["ErrorResponse": 1])
    expect(TestProvider.response(provider.authorize())["error"], equals: "access_denied")
    expect(provider.sandbox.send("POST", "/control/oidc", ["Lie": 1]).status, equals: 400)
  }

  // MARK: Cognito takes the provider's tokens

  private func getID(
    _ provider: inout TestProvider, _ token: String, key: String = "127.0.0.1:4599/oidc"
  ) -> HTTPReply {
    provider.sandbox.cognito(
      "GetId",
      [
        "IdentityPoolId": .string(TestSandbox.pool), "Logins": .object([key: .string(token)]),
      ])
  }

  @Test func anIdentityPoolTakesTheIDTokenUnderTheIssuerWithoutScheme() throws {
    var provider = try TestProvider()
    let entry: JSON = [
      "ProviderName": "127.0.0.1:4599/oidc", "ClientId": .string(TestProvider.client),
    ]
    let pool = provider.sandbox.send(
      "POST", "/control/pool", ["CognitoIdentityProviders": [entry]])
    expect(pool.status, equals: 200, "\(pool.text)")
    for hasSlash in [false, true] {
      provider.control("", ["Slash": .bool(hasSlash)])
      let token = try #require(provider.exchange(try provider.code()).json?["id_token"]?.text)
      expect(getID(&provider, token).json?["IdentityId"]?.text != nil)
      for key in ["http://127.0.0.1:4599/oidc", "127.0.0.1:4599/oidc/"] {
        expect(getID(&provider, token, key: key).status, equals: 400, "\(key)")
      }
    }
    for lie in ["Issuer", "Audience", "AuthorizedParty", "Expired", "Unsigned", "Symmetric"] {
      provider.control("", .object([lie: 1]))
      let token = try #require(provider.exchange(try provider.code()).json?["id_token"]?.text)
      let reply = getID(&provider, token)
      expect(reply.cognitoError.hasPrefix("NotAuthorizedException"), "\(lie): \(reply.text)")
    }
  }
}
