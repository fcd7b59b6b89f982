import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A user pool's tokens in the service: renewal, rotation, what is stored and what is sent.
struct PoolRenewalTests {
  private func session(_ fixture: ServiceFixture) throws -> ProviderSession {
    let session = fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    return try #require(session?.machine.state.providerSession)
  }

  @Test func aGetAfterTheSignInIsAnsweredWithoutThePool() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    expect(try fixture.ask().accessKeyID != nil)
    expect(pool.operations, equals: [])
    let identity = try fixture.ask(#"{"op":"identity"}"#)
    expect(identity["SignedInBy"]?.text, equals: "userPool")
    expect(identity["Username"]?.text, equals: "alice")
    expect(identity["Subject"]?.text, equals: "s-1")
    // The ID token stands in the logins map under the pool's own key.
    let exchange = try #require(
      fixture.host.http.requests.last { $0.operation == "GetCredentialsForIdentity" })
    expect(
      exchange.json?["Logins"]?["cognito-idp.us-east-1.amazonaws.com/\(FakePool.id)"] != nil)
  }

  @Test func aSessionIsRenewedForDaysWithoutTheUser() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    for hour in 1...48 {
      expect(try fixture.ask().accessKeyID != nil, "hour \(hour)")
      fixture.advance(by: .seconds(3600))
    }
    expect(pool.operations.count >= 24)
    expect(Set(pool.operations), equals: ["GetTokensFromRefreshToken"])
    expect(pool.live.contains(try session(fixture).refreshToken.exposedText() ?? ""))
  }

  @Test func aRenewalCarriesTheClientsSecretAndNoHash() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "client_secret_file = /run/secret"))
    fixture.host.queries.files["/run/secret"] = "  a-secret-of-24-characters\n"
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true}"#)
    let body = try #require(pool.bodies.first)
    expect(body["ClientSecret"]?.text, equals: "a-secret-of-24-characters")
    expect(body["ClientId"]?.text, equals: FakePool.client)
    expect(body["RefreshToken"]?.text, equals: "refresh-0")
    expect(body["AuthParameters"] == nil)
  }

  @Test func theRotatedTokenIsStoredBeforeTheNextRequest() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    fixture.host.trace.clear()
    _ = try fixture.ask(#"{"refresh":true}"#)
    let lines = fixture.host.trace.lines
    let reply = try #require(lines.firstIndex(of: "reply GetTokensFromRefreshToken"))
    let saved = try #require(lines[reply...].firstIndex(of: "save default"))
    let next = try #require(lines[reply...].firstIndex(of: "send GetCredentialsForIdentity"))
    expect(saved < next)
  }

  @Test func aRestartInTheMiddleOfARenewalKeepsTheRotatedToken() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    // The exchange after the renewal hangs, and the daemon is killed.
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .hang
    let client = fixture.connect()
    client.send(#"{"refresh":true}"#)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
    try fixture.restart(Configured.userPool())
    fixture.host.upstreams.faults = [:]
    expect(try session(fixture).refreshToken, equals: Secret("refresh-1"))
    _ = try fixture.ask(#"{"refresh":true}"#)
    expect(pool.bodies.last?["RefreshToken"]?.text, equals: "refresh-1")
  }

  /// Each ends the refresh that asked for the renewal.
  @Test(arguments: [
    #"{"op":"clear","what":"credentials"}"#, #"{"op":"clear","what":"identity"}"#,
    #"{"op":"login","logins":{"accounts.google.com":"token"}}"#, "another flow",
  ])
  func whatEndsARefreshLosesNoRotatedToken(_ line: String) throws {
    let (fixture, pool, waiting) = try ServiceFixture.withRenewalUnderWay()
    let other = fixture.connect()
    if line.hasPrefix("{") {
      other.sendOnly(line)
    } else {
      try fixture.reload(
        Configured.userPool(
          profile: "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app\n"
            + "sts_endpoint = http://127.0.0.1:4599\n"))
    }
    fixture.letAnswersArrive()
    _ = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    waiting.leave()
    other.leave()
    expect(pool.misuses, equals: 0)
    let sent = pool.bodies.compactMap { $0["RefreshToken"]?.text }
    expect(sent.count, equals: Set(sent).count, "\(sent)")
    expect(pool.live.contains(try session(fixture).refreshToken.exposedText() ?? ""))
  }

  @Test func aLostReplyIsRepeatedOnceAtOnce() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.lostReplies = 1
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    let sent = pool.bodies.map { $0["RefreshToken"]?.text }
    expect(sent, equals: ["refresh-0", "refresh-0"])
    expect(try session(fixture).refreshToken, equals: Secret("refresh-2"))
  }

  /// A pool that loses replies is asked no faster than its rate allows.
  @Test func aSecondTryTakesATurnOfTheRate() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "rate_limit = 1/s"))
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.lostReplies = 1
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":5}"#)
    fixture.advance(by: .milliseconds(900))
    expect(pool.operations.count, equals: 1)
    fixture.advance(by: .milliseconds(200))
    expect(pool.operations.count, equals: 2)
    expect(try client.next().accessKeyID != nil)
    expect(fixture.upstream.callCount, equals: 0)
  }

  /// Whoever waits in the queue has not begun, and the token is good for some seconds more.
  @Test func aSecondTryGoesBeforeTheCallsOfOthers() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "rate_limit = 1/s"))
    try fixture.signInAtPool()
    try fixture.signInAtPool(uid: 1001, username: "bob", refresh: pool.add("bob"))
    fixture.advance(by: .seconds(60))
    pool.lostReplies = 1
    let clients = [1000, 1001].map { fixture.connect(uid: $0) }
    for client in clients { client.send(#"{"refresh":true,"wait":5}"#) }
    fixture.advance(by: .milliseconds(1500))
    let sent = pool.bodies.map { $0["RefreshToken"]?.text }
    expect(sent, equals: ["refresh-0", "refresh-0"])
    fixture.advance(by: .seconds(2))
    for client in clients { expect(try client.next().accessKeyID != nil) }
  }

  @Test func aTokenThatWasSeenBeforeEndsTheSession() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [
      .failure(.reset), FakePool.refusal("RefreshTokenReuseException", "reuse"),
    ]
    _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(pool.operations.count, equals: 2)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    // Nothing more is sent.
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    expect(pool.operations.count, equals: 2)
  }

  @Test func aPoolThatIsAwaySignsNobodyOut() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = Array(repeating: .failure(.connect), count: 50)
    _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    pool.faults = [:]
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
  }

  @Test func anOlderPoolIsAskedByInitiateAuth() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("UnknownOperationException", "")
    ]
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "InitiateAuth"])
    expect(pool.bodies.last?["AuthFlow"]?.text, equals: "REFRESH_TOKEN_AUTH")
  }

  @Test func manyCallersBurnOneRotation() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    let clients = (0..<20).map { _ in fixture.connect() }
    for client in clients { client.sendOnly(#"{"refresh":true}"#) }
    fixture.advance(by: .seconds(2))
    for client in clients { expect(try client.next().accessKeyID != nil) }
    expect(pool.operations.count, equals: 1)
  }

  // MARK: A renewal that something else overtakes

  /// What comes while a renewal is under way.
  enum Interruption: String, CaseIterable {
    case clear, clearIdentity, reload, login, refusedLogin, get
  }

  @Test(arguments: Interruption.allCases, [false, true])
  func aRotatedTokenIsKeptWhateverComesMeanwhile(
    _ interruption: Interruption, isStale: Bool
  ) throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    pool.hasGrace = false
    try fixture.signInAtPool()
    fixture.advance(by: isStale ? .seconds(7200) : .seconds(60))
    pool.delays["GetTokensFromRefreshToken"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":30}"#)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
    let other = fixture.connect()
    switch interruption {
    case .clear: other.send(#"{"op":"clear","what":"credentials"}"#)
    case .clearIdentity: other.send(#"{"op":"clear","what":"identity"}"#)
    case .reload:
      try fixture.reload(
        Configured.userPool(profile: "role_arn = arn:aws:iam::123456789012:role/r"))
    case .login:
      other.send(#"{"op":"login","logins":{"accounts.google.com":"t"}}"#)
    case .refusedLogin:
      fixture.host.upstreams.faults["GetId"] = .status(
        400, #"{"__type":"NotAuthorizedException","message":"Invalid login token."}"#)
      other.send(#"{"op":"login","logins":{"accounts.google.com":"t"},"alone":true}"#)
    case .get: other.send(#"{"refresh":true,"wait":30}"#)
    }
    fixture.advance(by: .seconds(40))
    fixture.host.upstreams.faults = [:]
    expect(pool.misuses, equals: 0)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    let kept = try session(fixture).refreshToken.exposedText() ?? ""
    expect(pool.live.contains(kept), "\(kept)")
    expect(try fixture.ask(#"{"refresh":true,"wait":30}"#).accessKeyID != nil)
    expect(pool.misuses, equals: 0)
  }

  /// A login that is not linked, and is accepted.
  @Test func theTokensOfASessionThatALoginReplacesAreRevoked() throws {
    for isUnderWay in [false, true] {
      let (fixture, pool) = try ServiceFixture.ofUserPool()
      pool.rotates = true
      pool.hasGrace = false
      try fixture.signInAtPool()
      fixture.advance(by: .seconds(60))
      pool.delays["GetTokensFromRefreshToken"] = .seconds(1)
      if isUnderWay { fixture.connect().send(#"{"refresh":true,"wait":30}"#) }
      let reply = try fixture.ask(
        #"{"op":"login","logins":{"accounts.google.com":"t"},"alone":true}"#)
      expect(reply["SignedInBy"]?.text, equals: "logins")
      fixture.advance(by: .seconds(10))
      expect(pool.live, equals: [], "\(isUnderWay)")
    }
  }

  @Test func theTokensOfAFormerSignInAreRevoked() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    let next = pool.add("bob")
    try fixture.signInAtPool(username: "bob", refresh: next)
    fixture.advance(by: .seconds(10))
    expect(pool.live, equals: [next])
  }

  @Test func whoSignsInAgainKeepsTheLoginsOfOtherProviders() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    let login = try fixture.ask(#"{"op":"login","logins":{"accounts.google.com":"t"}}"#)
    expect(login["SignedInBy"]?.text, equals: "userPool")
    func sent() -> JSONValue? {
      fixture.host.http.requests.last { $0.operation == "GetCredentialsForIdentity" }?
        .json?["Logins"]?["accounts.google.com"]
    }
    try fixture.signInAtPool(refresh: pool.add("alice"))
    expect(sent() != nil)
    // Also once the pool has ended the session.
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("NotAuthorizedException", "Refresh Token has been revoked")
    ]
    fixture.advance(by: .seconds(7200))
    _ = try fixture.ask(#"{"wait":1}"#)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    try fixture.signInAtPool(refresh: pool.add("alice"))
    expect(sent() != nil)
    // Another user does not get them.
    try fixture.signInAtPool(username: "bob", refresh: pool.add("bob"))
    expect(sent() == nil)
  }

  // MARK: Another pool

  @Test func aReloadWithAnotherClientSendsItNothing() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    try fixture.reload(Configured.userPool(client: "2other"))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    // The one that gave the token is told that it ends.
    expect(pool.operations, equals: ["RevokeToken"])
    expect(pool.bodies.first?["ClientId"]?.text, equals: FakePool.client)
  }

  @Test func aReloadThatChangesNothingOfThePoolKeepsTheSession() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    try fixture.reload(Configured.userPool(backend: "auth_flow = choice"))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
  }

  @Test func noTokenReachesTheLog() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "client_secret_file = /run/secret"))
    fixture.host.queries.files["/run/secret"] = "a-secret-of-24-characters"
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal(
        "InternalErrorException", "refresh-0 of a-secret-of-24-characters is in trouble")
    ]
    let reply = try fixture.ask(#"{"refresh":true,"wait":0.5}"#)
    let said = fixture.host.log.entries.map { "\($0.message) \($0.metadata)" } + [reply.text]
    for text in said {
      expect(!text.contains("refresh-0") && !text.contains("a-secret-of"), "\(text)")
    }
  }
}
