import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What an orderly end of the daemon waits for: renewals that may bring the only refresh token.
struct PoolStopTests {
  @Test func aStopWaitsForTheTokensAndBeginsNothing() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.rotates = true
    pool.hasGrace = false
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.delays["GetTokensFromRefreshToken"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":30}"#)
    var ends: [Instant] = []
    let start = fixture.now
    let exchanges = fixture.host.upstreams.calls("GetCredentialsForIdentity")
    fixture.service.stop()
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    fixture.service.afterRenewals(atMost: .seconds(8)) { ends.append(fixture.now) }
    fixture.advance(by: .seconds(20))
    expect(ends.map { $0 - start }, equals: [.seconds(1)])
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: exchanges)
    try fixture.restart(Configured.userPool())
    expect(try fixture.ask(#"{"refresh":true,"wait":30}"#).accessKeyID != nil)
    expect(pool.misuses, equals: 0)
  }

  @Test func aStopWaitsForNothingThatWasNotSentAndNotForEver() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "max_parallel = 1"))
    try fixture.signInAtPool()
    try fixture.signInAtPool(uid: 1001, username: "bob", refresh: pool.add("bob"))
    fixture.advance(by: .seconds(60))
    pool.delays["GetTokensFromRefreshToken"] = .seconds(1.5)
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":30}"#)
    fixture.connect(uid: 1001).send(#"{"refresh":true,"wait":30}"#)
    fixture.service.stop()
    var ends: [Instant] = []
    let start = fixture.now
    fixture.service.afterRenewals(atMost: .seconds(1)) { ends.append(fixture.now) }
    fixture.advance(by: .seconds(20))
    expect(ends.count == 1 && ends.allSatisfy { $0 - start == .seconds(1) })
    expect(pool.operations.count, equals: 1)
    fixture.service.afterRenewals(atMost: .seconds(1)) { ends.append(fixture.now) }
    expect(ends.count, equals: 2)
  }

  @Test func aStopDoesNotWaitForAFileThatARenewalNeeds() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "client_secret_file = /run/secret"))
    fixture.host.queries.files["/run/secret"] = "a-secret-of-24-characters"
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    fixture.host.background.time[.files] = .seconds(3)
    fixture.connect().send(#"{"refresh":true,"wait":30}"#)
    expect(try stop(fixture), equals: .zero)
    // It is not sent later either.
    fixture.advance(by: .seconds(20))
    expect(pool.operations, equals: [])
  }

  @Test func aStopDoesNotWaitForARenewalThatBringsNoOtherRefreshToken() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("UnknownOperationException", "")
    ]
    pool.delays["InitiateAuth"] = .seconds(1.5)
    fixture.connect().send(#"{"refresh":true,"wait":30}"#)
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "InitiateAuth"])
    expect(try stop(fixture), equals: .zero)
    try fixture.restart(Configured.userPool())
    expect(try fixture.ask(#"{"refresh":true,"wait":30}"#).accessKeyID != nil)
  }

  @Test func aStopSaysWhatItWaitsForAndWhatDidNotCome() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(timeout: "20s"))
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    pool.delays["GetTokensFromRefreshToken"] = .seconds(15)
    fixture.connect().send(#"{"refresh":true,"wait":30}"#)
    expect(try stop(fixture), equals: .seconds(8))
    let said = fixture.host.log.messages.suffix(2)
    expect(said.first?.hasPrefix("waiting up to 8 s for new tokens") == true)
    expect(said.last?.hasPrefix("new tokens did not arrive in time: 1 ") == true)
  }

  /// How long an orderly end takes.
  private func stop(_ fixture: ServiceFixture) throws -> Duration {
    var end: Instant?
    let start = fixture.now
    fixture.service.stop()
    fixture.service.dismissWaiters()
    fixture.service.afterRenewals(atMost: .seconds(8)) { end = fixture.now }
    fixture.advance(by: .seconds(10))
    return try #require(end) - start
  }
}
