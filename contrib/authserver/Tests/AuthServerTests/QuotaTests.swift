import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

@testable import AuthServer

/// The gate before Cognito, with a database. What it decides is tried in AuthCore's tests.
struct QuotaTests {
  private func outcomes(
    _ gate: QuotaGate, hosts: Int, each: Int
  ) async -> [Result<Void, Refusal>] {
    await withTaskGroup(of: Result<Void, Refusal>.self) { group in
      for host in 0..<hosts {
        for _ in 0..<each {
          group.addTask {
            do throws(Refusal) { return .success(try await gate.enter(host: "web\(host)")) } catch {
              return .failure(error)
            }
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  private func isSuccess(_ outcome: Result<Void, Refusal>) -> Bool {
    if case .success = outcome { return true }
    return false
  }

  @Test(arguments: TestDatabase.allCases)
  func everybodyHasOneAnswer(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let gate = QuotaGate(
      store: store, rate: 1000, metrics: Metrics(), now: { Timestamp(Date.now) })
    let outcomes = await outcomes(gate, hosts: 20, each: 50)
    #expect(outcomes.count == 1000)
    #expect(outcomes.allSatisfy(isSuccess))
    await store.close()
  }

  /// At one call a second most of them are told to come back.
  @Test func whoFindsNoCallIsToldWhenToComeBack() async throws {
    let clock = TestClock()
    let store = try await TestDatabase.sqlite.makeStore()
    let metrics = Metrics()
    // Each look at the clock is half a second later.
    let gate = QuotaGate(
      store: store, rate: 1, metrics: metrics,
      now: {
        clock.pass(Interval(milliseconds: 500))
        return clock.now
      })
    let outcomes = await outcomes(gate, hosts: 3, each: 10)
    let refused = outcomes.compactMap { outcome -> Refusal? in
      if case .failure(let refusal) = outcome { return refusal }
      return nil
    }
    #expect(refused.count + outcomes.filter(isSuccess).count == 30)
    #expect(refused.count >= 20)
    #expect(refused.allSatisfy { $0.status == 429 && ($0.retryAfter ?? 0) >= 1 })
    // They come back one after the other.
    #expect(Set(refused.map(\.retryAfter)).count >= 4)
    #expect(
      metrics.value(of: .tokens, "quota") == refused.count)
    await store.close()
  }

  @Test func withoutADatabaseNobodyIsLeftWaiting() async throws {
    let server = try PostgresServer()
    let url = try server.newDatabase()
    // With time enough, however busy the machine.
    let first = AuthStore(PostgresDatabase(url: url))
    try await first.migrate()
    await first.close()
    let store = AuthStore(
      PostgresDatabase(url: url, connections: 1, time: Interval(milliseconds: 500)))
    try server.stop()
    let gate = QuotaGate(
      store: store, rate: 40, metrics: Metrics(), now: { Timestamp(Date.now) })
    for outcome in await outcomes(gate, hosts: 5, each: 10) {
      guard case .failure(let refusal) = outcome else {
        Issue.record("let through without a call of the quota")
        continue
      }
      #expect(refusal.status == 503 && refusal.retryAfter != nil)
    }
    await store.close()
  }
}
