import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Tokens: what they say, how they are renewed and revoked, and what the identity pool takes.
struct PoolTokenTests {
  static func refresh(_ token: String, _ more: [String: JSON] = [:]) -> [String: JSON] {
    ["RefreshToken": .string(token)].merging(more) { $1 }
  }

  @Test func theClaimsAreCognitos() throws {
    var pool = try TestPool(client: ["IdTokenValidity": 300, "AccessTokenValidity": 600])
    try pool.set("alice", ["Groups": ["staff"]])
    let reply = pool.enter()
    let tokens = try Tokens(reply)
    expect(reply.json?["AuthenticationResult"]?["ExpiresIn"], equals: 600)
    expect(reply.json?["AuthenticationResult"]?["TokenType"], equals: "Bearer")
    let id = try PoolKeys.shared.issuer(TestPool.id, .id)
      .verifiedClaims(in: tokens.id, algorithm: .rs256)
    let access = try PoolKeys.shared.issuer(TestPool.id, .access)
      .verifiedClaims(in: tokens.access, algorithm: .rs256)
    let now = pool.test.now.epochSeconds
    for claims in [id, access] {
      expect(claims["iss"]?.text, equals: "https://" + TestPool.provider)
      expect(claims["iat"]?.integer == now && claims["auth_time"]?.integer == now)
      expect(claims["cognito:groups"], equals: ["staff"])
      expect(claims["sub"]?.text?.count, equals: 36)
    }
    expect(id["origin_jti"] == access["origin_jti"] && id["jti"] != access["jti"])
    expect(id["aud"]?.text == TestPool.client && access["aud"] == nil)
    expect(access["client_id"]?.text, equals: TestPool.client)
    expect(id["token_use"] == "id" && access["token_use"] == "access")
    expect(id["cognito:username"] == "alice" && access["username"] == "alice")
    expect(id["email_verified"] == true)
    expect(access["scope"], equals: "aws.cognito.signin.user.admin")
    expect(id["exp"]?.integer == now + 300 && access["exp"]?.integer == now + 600)
    expect(tokens.refresh.count > 1500 && tokens.refresh.split(separator: ".").count == 5)
  }

  @Test func thePublicKeysAreThoseOfTheTokens() throws {
    var pool = try TestPool()
    let tokens = try pool.tokens()
    let set = pool.test.send("GET", "/\(TestPool.id)/.well-known/jwks.json").json
    let keys = try #require(set?["keys"]?.elements)
    expect(keys.count == 2 && keys[0]["kid"] != keys[1]["kid"])
    for (index, token) in [tokens.id, tokens.access].enumerated() {
      let header = try #require(
        JSON(parsing: base64URLDecoded(token.prefix { $0 != "." }) ?? []))
      expect(header, equals: ["alg": "RS256", "kid": keys[index]["kid"] ?? .null])
      expect(keys[index]["kty"] == "RSA" && keys[index]["e"] == "AQAB")
      expect(base64URLDecoded(keys[index]["n"]?.text ?? "")?.count, equals: 256)
    }
    let discovery = pool.test.send("GET", "/\(TestPool.id)/.well-known/openid-configuration").json
    expect(discovery?["issuer"]?.text, equals: "https://" + TestPool.provider)
    expect(discovery?["jwks_uri"]?.text?.hasSuffix("/.well-known/jwks.json") == true)
    expect(pool.test.send("GET", "/us-east-1_Other/.well-known/jwks.json").status, equals: 400)
  }

  // MARK: Refresh

  @Test func aRefreshKeepsTheTimeOfTheSignIn() throws {
    var pool = try TestPool()
    let tokens = try pool.tokens()
    let began = pool.test.now.epochSeconds
    pool.test.now += 3601
    expect(
      pool.call("GetUser", token: tokens.access).cognitoError,
      equals: "NotAuthorizedException: Access Token has expired")
    for reply in [
      pool.call("GetTokensFromRefreshToken", Self.refresh(tokens.refresh)),
      pool.start("REFRESH_TOKEN_AUTH", ["REFRESH_TOKEN": tokens.refresh]),
    ] {
      let new = try Tokens(reply)
      expect(new.refresh.isEmpty)
      let claims = try TokenIssuer.claims(in: new.id)
      expect(claims["auth_time"]?.integer, equals: began)
      expect(claims["origin_jti"], equals: try TokenIssuer.claims(in: tokens.id)["origin_jti"])
      expect(pool.call("GetUser", token: new.access).status, equals: 200)
    }
    pool.test.now += 30 * 86_400
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(tokens.refresh)).cognitoError,
      equals: "NotAuthorizedException: Refresh Token has expired")
  }

  @Test func aRefreshTokenIsItsClients() throws {
    var pool = try TestPool()
    let refresh = try pool.tokens().refresh
    let invalid = "NotAuthorizedException: Invalid Refresh Token."
    let (id, secret) = (TestPool.secretClient, SandboxSeed.userPoolClientSecret)
    var input = Self.refresh(refresh, ["ClientId": .string(id)])
    expect(
      pool.call("GetTokensFromRefreshToken", input).cognitoError.contains("verify the secret"))
    input["ClientSecret"] = .string(secret)
    expect(pool.call("GetTokensFromRefreshToken", input).cognitoError, equals: invalid)
    input["ClientSecret"] = .string(String(secret.reversed()))
    expect(
      pool.call("GetTokensFromRefreshToken", input).cognitoError.contains("verify the secret"))
    let changed = String(refresh.dropLast()) + (refresh.hasSuffix("A") ? "B" : "A")
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(changed)).cognitoError, equals: invalid)
  }

  @Test func theHashOfARefreshIsOverTheNameThatNeverChanges() throws {
    var pool = try TestPool()
    let (id, secret) = (TestPool.secretClient, SandboxSeed.userPoolClientSecret)
    func hash(_ name: String) -> String { AppClient.hash(name, client: id, secret: secret) }
    let start = pool.start(
      "USER_PASSWORD_AUTH",
      ["USERNAME": "ALICE", "PASSWORD": TestPool.password, "SECRET_HASH": hash("ALICE")],
      client: id)
    let refresh = try Tokens(start).refresh
    func renew(_ hash: String) -> HTTPReply {
      pool.start(
        "REFRESH_TOKEN_AUTH", ["REFRESH_TOKEN": refresh, "SECRET_HASH": hash], client: id)
    }
    expect(
      renew(hash("ALICE")).cognitoError,
      equals: "NotAuthorizedException: SecretHash does not match for the client: \(id)")
    expect(renew(hash("alice")).status, equals: 200)
    let input = Self.refresh(
      refresh, ["ClientId": .string(id), "ClientSecret": .string(secret)])
    expect(pool.call("GetTokensFromRefreshToken", input).status, equals: 200)
  }

  static func rotating(grace: Int) throws -> TestPool {
    try TestPool(client: [
      "ExplicitAuthFlows": ["ALLOW_USER_PASSWORD_AUTH"], "RefreshTokenRotation": true,
      "RetryGracePeriodSeconds": .number(Double(grace)),
    ])
  }

  @Test(arguments: [0, 10])
  func aRotatedTokenLivesForTheGrace(_ grace: Int) throws {
    var pool = try Self.rotating(grace: grace)
    let first = try pool.tokens().refresh
    expect(
      pool.start("REFRESH_TOKEN_AUTH", ["REFRESH_TOKEN": first]).cognitoError,
      equals: "InvalidParameterException: REFRESH_TOKEN_AUTH flow not enabled for this client")
    let second = try Tokens(pool.call("GetTokensFromRefreshToken", Self.refresh(first))).refresh
    expect(!second.isEmpty && second != first)
    if grace > 0 {
      pool.test.now += Double(grace) - 1
      let third = try Tokens(pool.call("GetTokensFromRefreshToken", Self.refresh(first))).refresh
      expect(third != second && !third.isEmpty)
      pool.test.now += 1
    }
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(first)).cognitoError.hasPrefix(
        "RefreshTokenReuseException"))
    expect(pool.call("GetTokensFromRefreshToken", Self.refresh(second)).status, equals: 200)
  }

  @Test func rotationDoesNotProlongTheEnd() throws {
    var pool = try Self.rotating(grace: 0)
    try pool.set(client: ["RefreshTokenValidity": 3600])
    var refresh = try pool.tokens().refresh
    for _ in 0..<3 {
      pool.test.now += 1000
      refresh = try Tokens(pool.call("GetTokensFromRefreshToken", Self.refresh(refresh))).refresh
    }
    pool.test.now += 600
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(refresh)).cognitoError,
      equals: "NotAuthorizedException: Refresh Token has expired")
  }

  @Test func aLostReplyHasItsEffect() throws {
    var pool = try Self.rotating(grace: 0)
    let refresh = try pool.tokens().refresh
    pool.test.plan(["Service": "cognito-idp", "Kind": "truncate"])
    let input: JSON = [
      "ClientId": .string(TestPool.client), "RefreshToken": .string(refresh),
    ]
    let lost = pool.test.answer(TestPool.request("GetTokensFromRefreshToken", input))
    expect(lost.delivery, equals: .truncated)
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(refresh)).cognitoError.hasPrefix(
        "RefreshTokenReuseException"))
  }

  // MARK: Revocation

  @Test func arevokedTokenEndsWhatCameFromIt() throws {
    var pool = try TestPool()
    let (tokens, other) = (try pool.tokens(), try pool.tokens())
    expect(
      pool.call("RevokeToken", ["Token": .string(tokens.access)]).cognitoError.hasPrefix(
        "UnsupportedTokenTypeException"))
    for _ in 0..<2 {
      expect(pool.call("RevokeToken", ["Token": .string(tokens.refresh)]).status, equals: 200)
    }
    expect(
      pool.call("GetUser", token: tokens.access).cognitoError,
      equals: "NotAuthorizedException: Access Token has been revoked")
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(tokens.refresh)).cognitoError,
      equals: "NotAuthorizedException: Refresh Token has been revoked")
    expect(pool.call("GetUser", token: other.access).status, equals: 200)
    let foreign: [String: JSON] = [
      "Token": .string(other.refresh), "ClientId": .string(TestPool.secretClient),
    ]
    expect(pool.call("RevokeToken", foreign).cognitoError.hasPrefix("UnauthorizedException"))
    try pool.set(client: ["EnableTokenRevocation": false])
    expect(
      pool.call("RevokeToken", ["Token": .string(other.refresh)]).cognitoError.hasPrefix(
        "UnsupportedOperationException"))
  }

  @Test func aGlobalSignOutEndsAllSessions() throws {
    var pool = try TestPool()
    let (one, two) = (try pool.tokens(), try pool.tokens())
    expect(pool.call("GlobalSignOut", token: one.access).status, equals: 200)
    expect(
      pool.call("GetUser", token: two.access).cognitoError,
      equals: "NotAuthorizedException: Access Token has been revoked")
    expect(
      pool.call("GetTokensFromRefreshToken", Self.refresh(two.refresh)).cognitoError,
      equals: "NotAuthorizedException: Refresh Token has been revoked")
    expect(try pool.tokens().access.isEmpty == false)
  }

  @Test func anotherTokenIsNoAccessToken() throws {
    var pool = try TestPool()
    let tokens = try pool.tokens()
    let invalid = "NotAuthorizedException: Invalid Access Token"
    expect(pool.call("GetUser", token: tokens.id).cognitoError, equals: invalid)
    expect(pool.call("GetUser", token: tokens.refresh).cognitoError, equals: invalid)
    let parts = tokens.access.split(separator: ".")
    let other = try pool.tokens().access.split(separator: ".")
    let forged = [parts[0], other[1], parts[2]].joined(separator: ".")
    expect(pool.call("GetUser", token: forged).cognitoError, equals: invalid)
    // The sandbox's own key signs for other issuers alone.
    let claims = try TokenIssuer.claims(in: tokens.access)
    let foreign = try TestSandbox.issuer.get().token(claims, algorithm: .rs256)
    expect(pool.call("GetUser", token: foreign).cognitoError, equals: invalid)
    var members = claims.members ?? [:]
    members["scope"] = "openid"
    let narrow = try PoolKeys.shared.issuer(TestPool.id, .access)
      .token(.object(members), algorithm: .rs256)
    expect(
      pool.call("GetUser", token: narrow).cognitoError,
      equals: "NotAuthorizedException: Access Token does not have required scopes")
  }
}
