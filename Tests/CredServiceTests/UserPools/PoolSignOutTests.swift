import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `logout` of a user pool's session.
struct PoolSignOutTests {
  @Test func aPoolThatHangsHoldsUpNoLogout() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["RevokeToken"] = [.silence]
    let client = fixture.connect()
    client.sendOnly(#"{"op":"logout"}"#)
    expect(try client.next().state, equals: "signedOut")
    expect(fixture.upstream.callCount, equals: 1)
    fixture.advance(by: .seconds(60))
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aLogoutRevokesTheRefreshTokenInTheBackground() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    expect(try fixture.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(1))
    expect(pool.operations, equals: ["RevokeToken"])
    expect(pool.bodies.last?["Token"]?.text, equals: "refresh-0")
    expect(pool.live, equals: [])
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aLogoutWithoutRevokingLeavesTheRefreshTokenAlone() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    expect(try fixture.ask(#"{"op":"logout","revoke":false}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(60))
    expect(pool.operations, equals: [])
  }

  @Test func aLogoutHoldsThoughThePoolIsAway() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["RevokeToken"] = [.failure(.connect)]
    expect(try fixture.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(60))
    expect(pool.operations, equals: ["RevokeToken"])
    let entry = try #require(
      fixture.host.log.entries.first {
        $0["message_id"] == JournalEvent.tokensNotRevoked.rawValue
      })
    expect(entry["profile"], equals: "default")
    expect(entry["uid"], equals: "1000")
  }

  @Test func aTokenThatWasRevokedBeforeIsNoFailure() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["RevokeToken"] = [
      FakePool.refusal("NotAuthorizedException", "Refresh Token has been revoked")
    ]
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(1))
    let failures = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.tokensNotRevoked.rawValue
    }
    expect(failures.isEmpty)
  }

  @Test func aGlobalLogoutEndsAllSessionsWithAFreshAccessToken() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "GlobalSignOut"])
    expect(pool.live, equals: [])
    expect(pool.bodies.last?["AccessToken"]?.text?.hasPrefix("e30.") == true)
  }

  @Test func eachRequestOfASignOutTakesATurnOfTheRate() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "rate_limit = 1/s"))
    try fixture.signInAtPool()
    pool.lostReplies = 1
    let client = fixture.connect()
    client.send(#"{"op":"logout","global":true}"#)
    let requests = ["GetTokensFromRefreshToken", "GetTokensFromRefreshToken", "GlobalSignOut"]
    for count in 1...3 {
      expect(pool.operations, equals: Array(requests.prefix(count)))
      fixture.advance(by: .seconds(1))
    }
    expect(pool.operations, equals: requests)
    expect(try client.next().state, equals: "signedOut")
  }

  @Test(arguments: [false, true])
  func aLogoutInTheMiddleOfARenewalEndsTheNewToken(isGlobal: Bool) throws {
    let (fixture, pool, waiting) = try ServiceFixture.withRenewalUnderWay()
    let client = fixture.connect()
    client.sendOnly(#"{"op":"logout","global":\#(isGlobal)}"#)
    fixture.host.settle()
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
    fixture.letAnswersArrive()
    expect(try client.next().state, equals: "signedOut")
    waiting.leave()
    expect(pool.misuses == 0 && pool.live == [])
    let end = [isGlobal ? "GlobalSignOut" : "RevokeToken"]
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"] + end)
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aGlobalLogoutThatFailsSaysSoAndHoldsHere() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["GlobalSignOut"] = [FakePool.refusal("InternalErrorException", "")]
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    expect(
      reply.errorMessage?.hasPrefix("signed out on this host, but not at the backend") == true)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test func aGlobalLogoutThatHappenedBeforeIsDone() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["GlobalSignOut"] = [
      FakePool.refusal("NotAuthorizedException", "Access Token has been revoked")
    ]
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
  }

  @Test func aGlobalLogoutWithoutASessionSaysWhy() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    _ = try fixture.ask(#"{"op":"identity"}"#)
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(pool.operations, equals: [])
  }

  /// Its end is a logout, whether it is forgotten here or found too old at a start.
  @Test(arguments: [false, true])
  func aForgottenSessionsRefreshTokenIsRevoked(atStart: Bool) throws {
    let text = Configured.userPool(profile: "forget_after = 8d\n")
    let (fixture, pool) = try ServiceFixture.ofUserPool(text)
    try fixture.signInAtPool()
    if atStart {
      let stored = fixture.host.store.records
      for _ in 0..<12 { fixture.advance(by: .seconds(86_400)) }
      expect(fixture.service.sessions.isEmpty)
      fixture.host.store.records = stored
      let before = pool.operations.count
      try fixture.restart(text)
      fixture.advance(by: .seconds(1))
      expect(pool.operations.dropFirst(before), equals: ["RevokeToken"])
      return
    }
    for _ in 0..<12 { fixture.advance(by: .seconds(86_400)) }
    expect(fixture.service.sessions.isEmpty)
    expect(pool.operations.last == "RevokeToken" && pool.live == [])
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aSecondLogoutAsksThePoolNothing() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    for _ in 0..<2 { _ = try fixture.ask(#"{"op":"logout"}"#) }
    fixture.advance(by: .seconds(60))
    expect(pool.operations, equals: ["RevokeToken"])
  }

  // MARK: While the tokens are renewed

  private func renewing(
    _ configuration: String = Configured.userPool()
  ) throws -> (ServiceFixture, FakePool, TestClient) {
    let (fixture, pool) = try ServiceFixture.ofUserPool(configuration)
    pool.rotates = true
    pool.hasGrace = false
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.delays["GetTokensFromRefreshToken"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":30}"#)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
    return (fixture, pool, client)
  }

  @Test func aGlobalLogoutDuringARenewalSignsOutEverywhere() throws {
    let (fixture, pool, client) = try renewing()
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "GlobalSignOut"])
    expect(pool.misuses == 0 && pool.live == [])
    client.leave()
  }

  @Test func aGlobalLogoutDuringARenewalThatFailsIsStillMade() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [.reply(500, "")]
    pool.delays["GetTokensFromRefreshToken"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":30}"#)
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(pool.live, equals: [])
  }

  @Test func aLogoutDuringARenewalRevokesTheNewTokenToo() throws {
    let (fixture, pool, _) = try renewing()
    let client = fixture.connect()
    client.sendOnly(#"{"op":"logout"}"#)
    expect(try client.next().state, equals: "signedOut")
    fixture.advance(by: .seconds(10))
    expect(pool.live, equals: [])
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "RevokeToken"])
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aLogoutWithoutRevokingLeavesTheNewTokenAloneToo() throws {
    let (fixture, pool, _) = try renewing()
    _ = try fixture.ask(#"{"op":"logout","revoke":false}"#)
    fixture.advance(by: .seconds(10))
    expect(!pool.operations.contains("RevokeToken"))
  }

  @Test func twoLogoutsDuringTwoRenewalsAreBothMade() throws {
    let (fixture, pool, _) = try renewing()
    let first = fixture.connect()
    first.send(#"{"op":"logout","global":true}"#)
    try fixture.signInAtPool(username: "bob", refresh: pool.add("bob"))
    fixture.connect().send(#"{"refresh":true,"wait":30}"#)
    let second = fixture.connect()
    second.send(#"{"op":"logout","global":true}"#)
    fixture.advance(by: .seconds(20))
    expect(try first.next().state, equals: "signedOut")
    expect(try second.next().state, equals: "signedOut")
    expect(pool.operations.count { $0 == "GlobalSignOut" }, equals: 2)
  }

  @Test func aGlobalLogoutTakesAHeldAccessTokenFirst() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(profile: "vend_tokens = access"))
    try fixture.signInAtPool()
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(pool.operations, equals: ["GlobalSignOut"])
    expect(pool.live, equals: [])
  }

  @Test(arguments: ["Access Token has been revoked", "Access Token has expired"])
  func aHeldAccessTokenThatIsRefusedIsReplaced(_ refusal: String) throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(profile: "vend_tokens = access"))
    try fixture.signInAtPool()
    pool.faults["GlobalSignOut"] = [FakePool.refusal("NotAuthorizedException", refusal)]
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(
      pool.operations, equals: ["GlobalSignOut", "GetTokensFromRefreshToken", "GlobalSignOut"])
    expect(pool.live, equals: [])
  }

  @Test func anOlderPoolIsSignedOutOfToo() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("UnknownOperationException", "")
    ]
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(
      pool.operations, equals: ["GetTokensFromRefreshToken", "InitiateAuth", "GlobalSignOut"])
  }

  /// What a later step needs is fetched, though an earlier request was made twice.
  @Test func anOlderPoolIsSignedOutOfAfterALostReply() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(profile: "vend_tokens = access"))
    try fixture.signInAtPool()
    pool.faults["GlobalSignOut"] = [
      FakePool.refusal("NotAuthorizedException", "Access Token has been revoked")
    ]
    pool.faults["GetTokensFromRefreshToken"] = [
      .failure(.reset), FakePool.refusal("UnknownOperationException", ""),
    ]
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(
      pool.operations,
      equals: [
        "GlobalSignOut", "GetTokensFromRefreshToken", "GetTokensFromRefreshToken", "InitiateAuth",
        "GlobalSignOut",
      ])
  }

  // MARK: Tokens that lose their session otherwise

  @Test func theTokensOfARemovedProfileAreRevoked() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    try fixture.reload(
      Configured.userPool().replacing("[profile default]", with: "[profile other]"))
    fixture.advance(by: .seconds(10))
    expect(pool.operations, equals: ["RevokeToken"])
    expect(pool.live, equals: [])
  }

  @Test func theTokensOfAUidsFormerOwnerAreRevoked() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.host.queries.users[1000]?.name = "carol"
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(10))
    expect(pool.live, equals: [])
  }
}
