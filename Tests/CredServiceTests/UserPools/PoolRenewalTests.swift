import CredCore
import Testing

@testable import CredService

/// A user pool's tokens in the service: renewal, rotation, what is stored and what is sent.
struct PoolRenewalTests {
  private func session(_ fixture: ServiceFixture) throws -> PoolSession {
    let session = fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    return try #require(session?.machine.state.poolSession)
  }

  @Test func aGetAfterTheSignInIsAnsweredWithoutThePool() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    #expect(try fixture.ask().accessKeyID != nil)
    #expect(pool.operations == [])
    let identity = try fixture.ask(#"{"op":"identity"}"#)
    #expect(identity["SignedInBy"]?.text == "userPool")
    #expect(identity["Username"]?.text == "alice")
    #expect(identity["Subject"]?.text == "s-1")
    // The ID token stands in the logins map under the pool's own key.
    let exchange = try #require(
      fixture.host.http.requests.last { $0.operation == "GetCredentialsForIdentity" })
    #expect(
      exchange.json?["Logins"]?["cognito-idp.us-east-1.amazonaws.com/\(FakePool.id)"] != nil)
  }

  @Test func aSessionIsRenewedForDaysWithoutTheUser() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    for hour in 1...48 {
      #expect(try fixture.ask().accessKeyID != nil, "hour \(hour)")
      fixture.advance(by: .seconds(3600))
    }
    #expect(pool.operations.count >= 24)
    #expect(Set(pool.operations) == ["GetTokensFromRefreshToken"])
    #expect(pool.live.contains(try session(fixture).refreshToken.exposedText() ?? ""))
  }

  @Test func aRenewalCarriesTheClientsSecretAndNoHash() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "client_secret_file = /run/secret"))
    fixture.host.queries.files["/run/secret"] = "  a-secret-of-24-characters\n"
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true}"#)
    let body = try #require(pool.bodies.first)
    #expect(body["ClientSecret"]?.text == "a-secret-of-24-characters")
    #expect(body["ClientId"]?.text == FakePool.client)
    #expect(body["RefreshToken"]?.text == "refresh-0")
    #expect(body["AuthParameters"] == nil)
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
    #expect(saved < next)
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
    #expect(pool.operations == ["GetTokensFromRefreshToken"])
    try fixture.restart(Configured.userPool())
    fixture.host.upstreams.faults = [:]
    #expect(try session(fixture).refreshToken == Secret("refresh-1"))
    _ = try fixture.ask(#"{"refresh":true}"#)
    #expect(pool.bodies.last?["RefreshToken"]?.text == "refresh-1")
  }

  @Test func aLostReplyIsRepeatedOnceAtOnce() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.lostReplies = 1
    #expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    let sent = pool.bodies.map { $0["RefreshToken"]?.text }
    #expect(sent == ["refresh-0", "refresh-0"])
    #expect(try session(fixture).refreshToken == Secret("refresh-2"))
  }

  @Test func aTokenThatWasSeenBeforeEndsTheSession() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [
      .failure(.reset), FakePool.refusal("RefreshTokenReuseException", "reuse"),
    ]
    _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    #expect(pool.operations.count == 2)
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "tokensInvalid")
    // Nothing more is sent.
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    #expect(pool.operations.count == 2)
  }

  @Test func aPoolThatIsAwaySignsNobodyOut() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = Array(repeating: .failure(.connect), count: 50)
    _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "signedIn")
    pool.faults = [:]
    fixture.advance(by: .seconds(600))
    #expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
  }

  @Test func anOlderPoolIsAskedByInitiateAuth() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("UnknownOperationException", "")
    ]
    #expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    #expect(pool.operations == ["GetTokensFromRefreshToken", "InitiateAuth"])
    #expect(pool.bodies.last?["AuthFlow"]?.text == "REFRESH_TOKEN_AUTH")
  }

  @Test func manyCallersBurnOneRotation() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    let clients = (0..<20).map { _ in fixture.connect() }
    for client in clients { client.sendOnly(#"{"refresh":true}"#) }
    fixture.advance(by: .seconds(2))
    for client in clients { #expect(try client.next().accessKeyID != nil) }
    #expect(pool.operations.count == 1)
  }

  // MARK: Another pool

  @Test func aReloadWithAnotherClientSendsItNothing() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    try fixture.reload(Configured.userPool(client: "2other"))
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "tokensInvalid")
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    #expect(pool.operations == [])
  }

  @Test func aReloadThatChangesNothingOfThePoolKeepsTheSession() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    try fixture.reload(Configured.userPool(backend: "auth_flow = choice"))
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "signedIn")
    fixture.advance(by: .seconds(60))
    #expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    #expect(pool.operations == ["GetTokensFromRefreshToken"])
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
      #expect(!text.contains("refresh-0") && !text.contains("a-secret-of"), "\(text)")
    }
  }
}
