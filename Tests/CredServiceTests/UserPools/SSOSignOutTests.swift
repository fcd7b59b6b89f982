import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `logout` with `sso`: the browser's session at the pool ends too.
struct SSOSignOutTests {
  private static let linked = "RevokeAssociatedSessions"

  @Test func theRefreshTokenTakesTheBrowsersSessionWithIt() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    expect(try fixture.ask(#"{"op":"logout","sso":true}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(1))
    expect(pool.operations, equals: ["RevokeToken"])
    expect(pool.bodies.last?[Self.linked]?.text, equals: "LINKED")
    expect(pool.bodies.last?["Token"]?.text, equals: "refresh-0")
  }

  /// Elsewhere another sign-in of the same browser may go on.
  @Test func withoutAWordItStays() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(1))
    expect(pool.operations == ["RevokeToken"] && pool.bodies.last?[Self.linked] == nil)
  }

  @Test(arguments: [false, true])
  func aSignOutEverywhereEndsItToo(rotates: Bool) throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = rotates
    try fixture.signInAtPool()
    expect(
      try fixture.ask(#"{"op":"logout","global":true,"sso":true}"#).state, equals: "signedOut")
    expect(
      pool.operations, equals: ["GetTokensFromRefreshToken", "GlobalSignOut", "RevokeToken"])
    expect(pool.bodies.last?[Self.linked]?.text, equals: "LINKED")
    expect(pool.bodies.last?["Token"]?.text, equals: rotates ? "refresh-1" : "refresh-0")
  }

  @Test func whatThePoolDoesNotDoEverywhereIsSaid() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["RevokeToken"] = [FakePool.refusal("InternalErrorException", "")]
    let reply = try fixture.ask(#"{"op":"logout","global":true,"sso":true}"#)
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test func aRenewalUnderWayIsAwaited() throws {
    let (fixture, pool, waiting) = try ServiceFixture.withRenewalUnderWay()
    let client = fixture.connect()
    client.sendOnly(#"{"op":"logout","sso":true}"#)
    fixture.letAnswersArrive()
    expect(try client.next().state, equals: "signedOut")
    waiting.leave()
    expect(pool.live == [] && pool.bodies.last?[Self.linked]?.text == "LINKED")
  }

  @Test func otherBackendsHaveNone() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    let reply = try fixture.ask(#"{"op":"logout","sso":true}"#)
    expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
    expect(reply.errorMessage?.contains("user pools") == true)
    // Nothing was done.
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }
}
