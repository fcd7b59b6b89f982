import CredCore
import Testing

@testable import CredService

/// `logout` of a user pool's session.
struct PoolSignOutTests {
  @Test func aPoolThatHangsHoldsUpNoLogout() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["RevokeToken"] = [.silence]
    let client = fixture.connect()
    client.sendOnly(#"{"op":"logout"}"#)
    #expect(try client.next().state == "signedOut")
    #expect(fixture.upstream.callCount == 1)
    fixture.advance(by: .seconds(60))
    #expect(fixture.upstream.callCount == 0)
  }

  @Test func aLogoutRevokesTheRefreshTokenInTheBackground() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    #expect(try fixture.ask(#"{"op":"logout"}"#).state == "signedOut")
    fixture.advance(by: .seconds(1))
    #expect(pool.operations == ["RevokeToken"])
    #expect(pool.bodies.last?["Token"]?.text == "refresh-0")
    #expect(pool.live == [])
    #expect(fixture.upstream.callCount == 0)
  }

  @Test func aLogoutWithoutRevokingLeavesTheRefreshTokenAlone() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    #expect(try fixture.ask(#"{"op":"logout","revoke":false}"#).state == "signedOut")
    fixture.advance(by: .seconds(60))
    #expect(pool.operations == [])
  }

  @Test func aLogoutHoldsThoughThePoolIsAway() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["RevokeToken"] = [.failure(.connect)]
    #expect(try fixture.ask(#"{"op":"logout"}"#).state == "signedOut")
    fixture.advance(by: .seconds(60))
    #expect(pool.operations == ["RevokeToken"])
    let entry = try #require(
      fixture.host.log.entries.first {
        $0["message_id"] == JournalEvent.tokensNotRevoked.rawValue
      })
    #expect(entry["profile"] == "default")
    #expect(entry["uid"] == "1000")
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
    #expect(failures.isEmpty)
  }

  @Test func aGlobalLogoutEndsAllSessionsWithAFreshAccessToken() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(profile: "vend_tokens = access"))
    try fixture.signInAtPool()
    #expect(try fixture.ask(#"{"op":"logout","global":true}"#).state == "signedOut")
    #expect(pool.operations == ["GetTokensFromRefreshToken", "GlobalSignOut"])
    #expect(pool.live == [])
    #expect(pool.bodies.last?["AccessToken"]?.text?.hasPrefix("e30.") == true)
  }

  @Test func aGlobalLogoutThatFailsSaysSoAndHoldsHere() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["GlobalSignOut"] = [FakePool.refusal("InternalErrorException", "")]
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    #expect(
      reply.errorMessage?.hasPrefix("signed out on this host, but not at the backend") == true)
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "signedOut")
  }

  @Test func aGlobalLogoutThatHappenedBeforeIsDone() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["GlobalSignOut"] = [
      FakePool.refusal("NotAuthorizedException", "Access Token has been revoked")
    ]
    #expect(try fixture.ask(#"{"op":"logout","global":true}"#).state == "signedOut")
  }

  @Test func aGlobalLogoutWithoutASessionSaysWhy() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    _ = try fixture.ask(#"{"op":"identity"}"#)
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    #expect(reply.errorCode == "SignInRequired")
    #expect(pool.operations == [])
  }

  @Test func aSecondLogoutAsksThePoolNothing() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    for _ in 0..<2 { _ = try fixture.ask(#"{"op":"logout"}"#) }
    fixture.advance(by: .seconds(60))
    #expect(pool.operations == ["RevokeToken"])
  }
}
