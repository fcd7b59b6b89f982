import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Sessions that a pool tracks.
struct TrackedSessionTests {
  private static let notEnabled =
    "OperationNotEnabledException: "
    + "The operation is not available in the current region or for the current user pool configuration."
  private static let revoked = "NotAuthorizedException: Refresh Token has been revoked"

  private static func tracking(_ more: [String: JSON] = [:]) throws -> TestPool {
    try TestPool(.object(["UserSessionTracking": "ENABLED"].merging(more) { $1 }))
  }

  private func list(_ pool: inout TestPool, _ token: String) throws -> [JSON] {
    let reply = pool.call("ListUserSessions", token: token)
    return try #require(reply.json?["Sessions"]?.elements, "\(reply.text)")
  }

  private func own(_ pool: inout TestPool, _ token: String) throws -> String {
    let current = try list(&pool, token).first { $0["IsCurrentSession"]?.bool == true }
    return try #require(current?["SessionId"]?.text)
  }

  private func end(
    _ pool: inout TestPool, _ id: String, by token: String, _ more: [String: JSON] = [:]
  ) -> HTTPReply {
    pool.call(
      "RevokeUserSession", token: token, ["SessionId": .string(id)].merging(more) { $1 })
  }

  private func refresh(_ pool: inout TestPool, _ tokens: Tokens) -> HTTPReply {
    pool.call("GetTokensFromRefreshToken", PoolTokenTests.refresh(tokens.refresh))
  }

  // MARK: API

  @Test func theListSaysWhoseSessionAsks() throws {
    var pool = try Self.tracking()
    let (one, two) = (try pool.tokens(), try pool.tokens())
    let rows = try list(&pool, one.access)
    expect(rows.map { $0["IsCurrentSession"]?.bool }, equals: [true, false])
    for row in rows {
      let id = row["SessionId"]?.text ?? ""
      expect(id.hasPrefix("tkn") && id.count == 28 && row["SessionType"] == "TOKEN", "\(row)")
      expect(row["ClientId"]?.text == TestPool.client && row["OriginSessionId"] == nil)
    }
    expect(try own(&pool, two.access), equals: rows[1]["SessionId"]?.text ?? "")
  }

  @Test func anotherSessionEndsAndTheOwnDoesNot() throws {
    var pool = try Self.tracking()
    let (one, two) = (try pool.tokens(), try pool.tokens())
    let (first, second) = (try own(&pool, one.access), try own(&pool, two.access))
    expect(end(&pool, first, by: two.access).status, equals: 200)
    expect(refresh(&pool, one).cognitoError, equals: Self.revoked)
    expect(
      pool.call("GetUser", token: one.access).cognitoError,
      equals: "NotAuthorizedException: Access Token has been revoked")
    expect(try list(&pool, two.access).count, equals: 1)
    expect(
      end(&pool, second, by: two.access).cognitoError,
      equals: "InvalidParameterException: "
        + "The session that the access token belongs to can't be revoked.")
    for gone in [first, "tkn" + String(repeating: "a", count: 25)] {
      expect(
        end(&pool, gone, by: two.access).cognitoError,
        equals: "ResourceNotFoundException: The session does not exist.")
    }
  }

  @Test func anotherUsersSessionIsUnknown() throws {
    var pool = try Self.tracking()
    try pool.set("bob", ["Password": "Sandbox-1", "Status": "CONFIRMED"])
    let (alice, bob) = (try pool.tokens(), try pool.tokens("bob"))
    let id = try own(&pool, alice.access)
    expect(end(&pool, id, by: bob.access).cognitoError.hasPrefix("ResourceNotFoundException"))
    expect(refresh(&pool, alice).status, equals: 200)
  }

  @Test func theModelsLimitsHold() throws {
    var pool = try Self.tracking()
    let token = try pool.tokens().access
    let id = "tkn" + String(repeating: "a", count: 25)
    for wrong in ["x", "abc" + id.dropFirst(3), id + "a", id.uppercased()] {
      expect(
        end(&pool, wrong, by: token).cognitoError.hasPrefix(
          "InvalidParameterException: 1 validation"))
    }
    for input: [String: JSON] in [
      [:], ["SessionId": 5], ["SessionId": .string(id), "UserPoolId": "x"],
      ["SessionId": .string(id), "RevokeAssociatedSessions": "ALL"],
    ] { expect(pool.call("RevokeUserSession", token: token, input).status, equals: 400) }
    for input: [String: JSON] in [["NextToken": ""], ["NextToken": "9"], ["Limit": 5]] {
      expect(pool.call("ListUserSessions", token: token, input).status, equals: 400)
    }
    for settings: JSON in [
      ["UserSessionTracking": "ON"], ["TokenSession": ["MaxPerUser": 0]],
      ["TokenSession": ["MaxPerUser": 101]], ["SessionsPerPage": 126],
      ["DisabledOperations": ["Nothing"]],
    ] {
      expect(pool.test.send("POST", "/control/user-pool", settings).status, equals: 400)
    }
  }

  @Test func pagesFollowEachOther() throws {
    var pool = try Self.tracking(["SessionsPerPage": 2])
    var token = ""
    for _ in 0..<5 { token = try pool.tokens().access }
    var (ids, next): (Set<String>, String?) = ([], nil)
    for count in [2, 2, 1] {
      let reply = pool.call(
        "ListUserSessions", token: token, next.map { ["NextToken": .string($0)] } ?? [:])
      let rows = try #require(reply.json?["Sessions"]?.elements)
      expect(rows.count, equals: count)
      ids.formUnion(rows.compactMap { $0["SessionId"]?.text })
      next = reply.json?["NextToken"]?.text
    }
    expect(ids.count == 5 && next == nil)
  }

  @Test func withoutTrackingThereIsNothing() throws {
    var pool = try TestPool()
    let token = try pool.tokens().access
    for reply in [
      pool.call("ListUserSessions", token: token),
      end(&pool, "tkn" + String(repeating: "a", count: 25), by: token),
    ] { expect(reply.cognitoError, equals: Self.notEnabled) }
  }

  @Test func anOperationCanBeSwitchedOff() throws {
    var pool = try TestPool(["DisabledOperations": ["GetTokensFromRefreshToken", "GetUser"]])
    let tokens = try pool.tokens()
    expect(refresh(&pool, tokens).cognitoError, equals: Self.notEnabled)
    expect(pool.call("GetUser", token: tokens.access).cognitoError, equals: Self.notEnabled)
    try pool.control("", ["DisabledOperations": []])
    expect(refresh(&pool, tokens).status, equals: 200)
  }

  // MARK: MaxPerUser

  @Test func atTheLimitTheLeastRecentlyUsedSessionGoes() throws {
    var pool = try Self.tracking(["TokenSession": ["MaxPerUser": 2]])
    let one = try pool.tokens()
    pool.test.now += 1
    let two = try pool.tokens()
    pool.test.now += 1
    expect(refresh(&pool, one).status, equals: 200)
    pool.test.now += 1
    let three = try pool.tokens()
    expect(refresh(&pool, two).cognitoError, equals: Self.revoked)
    expect(refresh(&pool, one).status, equals: 200)
    expect(refresh(&pool, three).status, equals: 200)
    // The user has a limit of their own.
    try pool.set("bob", ["Password": "Sandbox-1", "Status": "CONFIRMED"])
    _ = try pool.tokens("bob")
    expect(refresh(&pool, one).status, equals: 200)
    // A lower limit ends nothing before the next sign-in.
    try pool.control("", ["TokenSession": ["MaxPerUser": 1]])
    expect(refresh(&pool, one).status == 200 && refresh(&pool, three).status == 200)
    let last = try pool.tokens()
    expect(try list(&pool, last.access).count, equals: 1)
  }

  // MARK: SSO

  /// A sign-in by the browser of alice, who is signed in there: its tokens.
  private func browse(_ pool: inout TestPool) throws -> Tokens {
    let uri = "http://localhost:8976/"
    let target =
      "/oauth2/authorize?response_type=code&client_id=\(TestPool.client)&redirect_uri="
      + formEncoded(uri) + "&scope=" + formEncoded("openid " + UserPool.accountScope)
    let code = try #require(TestProvider.response(pool.test.send("GET", target))["code"])
    let form = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", uri),
      ("client_id", TestPool.client),
    ].map { formEncoded($0.0) + "=" + formEncoded($0.1) }
    let reply = pool.test.answer(
      HTTPRequest(
        method: "POST", target: "/oauth2/token",
        headers: [HTTPField("Content-Type", "application/x-www-form-urlencoded")],
        body: Array(form.joined(separator: "&").utf8))
    ).reply
    return Tokens(
      id: reply.json?["id_token"]?.text ?? "",
      access: try #require(reply.json?["access_token"]?.text, "\(reply.text)"),
      refresh: try #require(reply.json?["refresh_token"]?.text))
  }

  private func withBrowser() throws -> TestPool {
    var pool = try Self.tracking()
    try pool.set(client: ["CallbackUrls": ["http://localhost:8976/"]])
    try pool.control("/hosted", ["SignedInAs": "alice"])
    return pool
  }

  private func isSignedIn(_ pool: inout TestPool) throws -> Bool {
    try pool.control("/hosted", [:])["SignedInAs"]?.text == "alice"
  }

  @Test func aTokenSessionNamesTheBrowsers() throws {
    var pool = try withBrowser()
    let (one, _) = (try browse(&pool), try browse(&pool))
    let rows = try list(&pool, one.access)
    expect(rows.map { $0["SessionType"]?.text }, equals: ["TOKEN", "TOKEN", "SSO"])
    let sso = try #require(rows.last?["SessionId"]?.text)
    expect(sso.hasPrefix("sso") && rows[0]["OriginSessionId"]?.text == sso)
  }

  @Test func revokeTokenTakesTheBrowsersSessionAlongOnlyWhenLinked() throws {
    var pool = try withBrowser()
    let (one, two, three) = (try browse(&pool), try browse(&pool), try browse(&pool))
    for (tokens, more, isLeft): (Tokens, [String: JSON], Bool) in [
      (one, [:], true), (two, ["RevokeAssociatedSessions": "NONE"], true),
      (three, ["RevokeAssociatedSessions": "LINKED"], false),
    ] {
      let input: [String: JSON] = ["Token": .string(tokens.refresh)]
      expect(pool.call("RevokeToken", input.merging(more) { $1 }).status, equals: 200)
      expect(refresh(&pool, tokens).cognitoError, equals: Self.revoked)
      expect(try isSignedIn(&pool), equals: isLeft, "\(more)")
    }
    expect(
      pool.call("RevokeToken", ["Token": "t", "RevokeAssociatedSessions": "ALL"]).status,
      equals: 400)
  }

  @Test func theEndOfABrowsersSessionTakesAppsAlongOnlyWhenLinked() throws {
    for isLinked in [false, true] {
      var pool = try withBrowser()
      let (browsed, other) = (try browse(&pool), try pool.tokens())
      let rows = try list(&pool, other.access)
      let sso = try #require(rows.last?["SessionId"]?.text)
      let more: [String: JSON] = isLinked ? ["RevokeAssociatedSessions": "LINKED"] : [:]
      expect(end(&pool, sso, by: other.access, more).status, equals: 200)
      expect(try !isSignedIn(&pool))
      expect(refresh(&pool, browsed).status, equals: isLinked ? 400 : 200)
      expect(refresh(&pool, other).status, equals: 200)
    }
  }

  /// As AWS says of GlobalSignOut: the pages keep their cookie.
  @Test func aSignOutEverywhereLeavesTheBrowser() throws {
    var pool = try withBrowser()
    let tokens = try browse(&pool)
    expect(pool.call("GlobalSignOut", token: tokens.access).status, equals: 200)
    expect(try isSignedIn(&pool))
  }

  // MARK: Two secrets

  @Test func bothSecretsOfAClientCount() throws {
    var pool = try TestPool()
    let secrets = (1...2).map { String(repeating: "s\($0)", count: 12) }
    let client = "twosecrets"
    try pool.control(
      "/client",
      [
        "ClientId": .string(client), "ClientSecrets": .array(secrets.map { .string($0) }),
        "ExplicitAuthFlows": ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
      ])
    func signIn(_ secret: String) -> HTTPReply {
      let hash = AppClient.hash("alice", client: client, secret: secret)
      return pool.start(
        "USER_PASSWORD_AUTH",
        ["USERNAME": "alice", "PASSWORD": TestPool.password, "SECRET_HASH": hash], client: client)
    }
    func renew(_ token: String, _ secret: String) -> Int {
      let input: [String: JSON] = [
        "ClientId": .string(client), "RefreshToken": .string(token),
        "ClientSecret": .string(secret),
      ]
      return pool.send("GetTokensFromRefreshToken", input).status
    }
    for secret in secrets {
      let tokens = try Tokens(signIn(secret))
      for other in secrets { expect(renew(tokens.refresh, other), equals: 200) }
      expect(renew(tokens.refresh, String(repeating: "x", count: 24)), equals: 400)
    }
    // The old one is deleted.
    try pool.control(
      "/client", ["ClientId": .string(client), "ClientSecret": .string(secrets[1])])
    expect(signIn(secrets[0]).status, equals: 400)
    expect(signIn(secrets[1]).status, equals: 200)
    let three: JSON = .array((1...3).map { .string(String(repeating: "s\($0)", count: 12)) })
    for fault: JSON in [
      ["ClientId": "c", "ClientSecrets": three], ["ClientId": "c", "ClientSecrets": ["short"]],
      ["ClientId": "c", "ClientSecrets": [], "ClientSecret": .string(secrets[0])],
    ] { expect(pool.test.send("POST", "/control/user-pool/client", fault).status, equals: 400) }
  }

  // MARK: Sessions of a sign-in

  @Test func aSignInsSessionIsAsLongAsTheModelAllows() throws {
    var pool = try PoolDeviceTests.tracking("OFF")
    let reply = try pool.prove()
    expect(reply.session?.count, equals: 4096)
    let answer = ["USERNAME": "alice", "SMS_MFA_CODE": try pool.code()]
    let long = (reply.session ?? "") + "x"
    expect(pool.respond("SMS_MFA", answer, session: long).status, equals: 400)
    _ = try Tokens(pool.respond("SMS_MFA", answer, session: reply.session))
  }
}

extension Tokens {
  fileprivate init(id: String, access: String, refresh: String) {
    (self.id, self.access, self.refresh, device) = (id, access, refresh, nil)
  }
}
