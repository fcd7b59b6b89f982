import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// The tokens of a user pool at the identity pool, and from region to region.
struct PoolLoginTests {
  private func id(_ pool: inout TestPool, _ token: String) -> HTTPReply {
    pool.test.cognito("GetId", SocialLoginTests.getID([TestPool.provider: token]))
  }

  @Test func anIDTokenGivesCredentials() throws {
    var pool = try TestPool()
    let token = try pool.tokens().id
    let identity = try #require(id(&pool, token).json?["IdentityId"]?.text)
    expect(pool.test.credentials(identity, TestPool.provider, token).status, equals: 200)
    // Another sign-in is the same identity, another user another one.
    expect(id(&pool, try pool.tokens().id).json?["IdentityId"]?.text, equals: identity)
    try pool.set("bob", ["Password": "Sandbox-1", "Status": "CONFIRMED"])
    let bob = try pool.tokens("bob").id
    expect(id(&pool, bob).json?["IdentityId"]?.text != identity)
    expect(
      pool.test.credentials(identity, TestPool.provider, bob).cognitoError.contains(
        "Logins don't match."))
  }

  @Test func otherTokensAreRefused() throws {
    var pool = try TestPool()
    let tokens = try pool.tokens()
    let start = "NotAuthorizedException: Invalid login token. "
    expect(id(&pool, tokens.access).cognitoError, equals: start + "Missing a required claim: aud")
    let claims = try TokenIssuer.claims(in: tokens.id)
    let foreign = try TestSandbox.issuer.get().token(claims, algorithm: .rs256)
    expect(id(&pool, foreign).cognitoError, equals: start + "Couldn't verify signed token.")
    var members = claims.members ?? [:]
    members["aud"] = "another"
    let key = try PoolKeys.shared.issuer(TestPool.id, .id)
    expect(
      id(&pool, try key.token(.object(members), algorithm: .rs256)).cognitoError,
      equals: start + "Incorrect token audience.")
    members["aud"] = claims["aud"]
    members["token_use"] = "access"
    expect(id(&pool, try key.token(.object(members), algorithm: .rs256)).status, equals: 400)
    members["iss"] = "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_Other"
    expect(
      id(&pool, try key.token(.object(members), algorithm: .rs256)).cognitoError,
      equals: start + "Issuer doesn't match providerName")
    pool.test.now += 3600
    let now = pool.test.now.epochSeconds
    expect(id(&pool, tokens.id).cognitoError, equals: start + "Token expired: \(now) >= \(now)")
  }

  @Test func aTokenOfAnotherPoolIsRefused() throws {
    var pool = try TestPool()
    let other = "us-east-1_Other"
    try pool.control("", ["UserPool": .string(other)])
    try pool.control(
      "/client",
      [
        "UserPool": .string(other), "ClientId": "otherclient",
        "ExplicitAuthFlows": ["ALLOW_USER_PASSWORD_AUTH"],
      ])
    try pool.control(
      "/user",
      [
        "UserPool": .string(other), "Username": "alice", "Password": "Sandbox-1",
        "Status": "CONFIRMED",
      ])
    let values = ["USERNAME": "alice", "PASSWORD": "Sandbox-1"]
    let token = try Tokens(pool.start("USER_PASSWORD_AUTH", values, client: "otherclient")).id
    expect(
      id(&pool, token).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Issuer doesn't match providerName")
    let login = ["cognito-idp.us-east-1.amazonaws.com/" + other: token]
    expect(
      pool.test.cognito("GetId", SocialLoginTests.getID(login)).cognitoError,
      equals:
        "NotAuthorizedException: Token is not from a supported provider of this identity pool.")
    let body: JSON = [
      "CognitoIdentityProviders": [
        [
          "ProviderName": .string("cognito-idp.us-east-1.amazonaws.com/" + other),
          "ClientId": "otherclient",
        ]
      ]
    ]
    expect(pool.test.send("POST", "/control/pool", body).status, equals: 200)
    expect(pool.test.cognito("GetId", SocialLoginTests.getID(login)).status, equals: 200)
  }

  // MARK: The updated issuer

  private func login(_ pool: inout TestPool, _ key: String, _ token: String) -> HTTPReply {
    pool.test.cognito("GetId", SocialLoginTests.getID([key: token]))
  }

  private func update(_ pool: inout TestPool, _ type: String, _ keys: String) throws {
    try pool.control("", ["IssuerConfiguration": ["Type": .string(type)]])
    let body: JSON = ["UserPoolKeys": .string(keys)]
    expect(pool.test.send("POST", "/control/pool", body).status, equals: 200)
  }

  @Test func aPoolSwitchesItsIssuerAndKnowsItsOlderTokens() throws {
    var pool = try TestPool()
    let before = try pool.tokens()
    try update(&pool, "UPDATED", "documented")
    let after = try pool.tokens()
    for token in [after.id, after.access] {
      expect(
        try TokenIssuer.claims(in: token)["iss"]?.text,
        equals: "https://issuer-" + TestPool.provider)
    }
    for token in [before.access, after.access] {
      expect(pool.call("GetUser", token: token).status, equals: 200)
    }
    // Both are taken under the documented key, and the other one is unknown.
    for token in [before.id, after.id] { expect(id(&pool, token).status, equals: 200) }
    expect(
      login(&pool, "issuer-" + TestPool.provider, after.id).cognitoError,
      equals:
        "NotAuthorizedException: Token is not from a supported provider of this identity pool.")
    let page = pool.test.send("GET", "/\(TestPool.id)/.well-known/openid-configuration", .null)
    expect(page.json?["issuer"]?.text, equals: "https://issuer-" + TestPool.provider)
  }

  @Test(arguments: ["issuer", "separate"])
  func anIdentityPoolMayWantTheKeyOfTheIssuer(_ keys: String) throws {
    var pool = try TestPool()
    let before = try pool.tokens().id
    try update(&pool, "UPDATED", keys)
    let after = try pool.tokens().id
    let other = "issuer-" + TestPool.provider
    let wrong = "NotAuthorizedException: Invalid login token. Issuer doesn't match providerName"
    expect(id(&pool, after).cognitoError, equals: wrong)
    expect(login(&pool, other, before).cognitoError, equals: wrong)
    let identity = try #require(id(&pool, before).json?["IdentityId"]?.text)
    let found = try #require(login(&pool, other, after).json?["IdentityId"]?.text)
    expect(found == identity, equals: keys == "issuer")
    expect(
      pool.test.credentials(identity, other, after).status, equals: keys == "issuer" ? 200 : 400)
  }

  @Test(arguments: [false, true])
  func signOutCountsOnlyWhereThePoolIsAsked(_ isAsked: Bool) throws {
    var pool = try TestPool()
    let body: JSON = [
      "CognitoIdentityProviders": [
        [
          "ProviderName": .string(TestPool.provider), "ClientId": .string(TestPool.client),
          "ServerSideTokenCheck": .bool(isAsked),
        ]
      ]
    ]
    expect(pool.test.send("POST", "/control/pool", body).status, equals: 200)
    let (tokens, deleted) = (try pool.tokens(), try pool.tokens())
    expect(id(&pool, tokens.id).status, equals: 200)
    _ = pool.call("GlobalSignOut", token: tokens.access)
    expect(id(&pool, tokens.id).status, equals: (isAsked ? 400 : 200))
    let again = try pool.tokens()
    expect(id(&pool, again.id).status, equals: 200)
    _ = pool.call("DeleteUser", token: again.access)
    expect(id(&pool, again.id).status, equals: (isAsked ? 400 : 200))
    expect(id(&pool, deleted.id).status, equals: (isAsked ? 400 : 200))
  }

  @Test(arguments: [
    ("eu-west-1_AbC", "cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC"),
    ("us-gov-west-1_AbC", "cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_AbC"),
    ("cn-north-1_AbC", "cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_AbC"),
    ("eusc-de-east-1_AbC", "cognito-idp.eusc-de-east-1.amazonaws.eu/eusc-de-east-1_AbC"),
  ])
  func theProviderIsOfTheRegionsPartition(_ id: String, _ provider: String) {
    expect(UserPoolName(id: id).provider, equals: provider)
    expect(UserPoolName(id: id).isValid)
  }

  @Test(arguments: ["", "_a", "eu-west-1_", "eu west_a", "eu-west-1_a_b", "eu-west-1_a-b"])
  func anIDOfAnotherFormIsRefused(_ id: String) {
    expect(!UserPoolName(id: id).isValid)
  }
}
