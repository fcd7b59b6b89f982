import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

/// A pooler that gives each transaction another session.
@Suite(
  .serialized,
  .enabled(
    if: PgBouncer.isInstalled || ProcessInfo.processInfo.environment["CI"] == "true",
    "takes Debian's pgbouncer"))
struct PgBouncerTests {
  /// It refuses a program's options, or is told to drop them.
  @Test(arguments: ["", "ignore_startup_parameters = options"])
  func sessionsMayChangeBetweenTransactions(_ settings: String) async throws {
    let server = try PostgresServer.shared()
    let pooler = try PgBouncer(before: server, settings)
    defer { pooler.stop() }
    let url = try pooler.url(of: try server.newDatabase())
    let now = Example.now
    // A busy machine is no fault of the pooler's.
    let stores = (0..<2).map { _ in AuthStore(PostgresDatabase(url: url, time: .minutes(1))) }
    try await stores[0].migrate()
    let token = Example.ticket(.host)
    try await stores[0].enrol(try Example.host(), token: token)
    // Statements of many kinds, on more connections than there are sessions.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<200 {
        let store = stores[index % 2]
        group.addTask {
          switch index % 4 {
          case 0: _ = try await store.takeQuota(1, rate: 1000)
          case 1:
            try await store.commit(notes: [AuditNote("token", [:], at: now)], chain: "a", now: now)
          case 2: #expect(try await store.host(of: .ticket(token), now: now)?.name == "web1")
          default: try await store.note(vouched: Identifier("u\(index)"), now: now)
          }
        }
      }
      try await group.waitForAll()
    }
    let (ends, faults) = try await stores[1].verifyAudit(heads: [])
    #expect(faults.isEmpty && ends.map(\.sequence) == [50])
    #expect(try await stores[0].users().count == 50)
    for store in stores { await store.close() }
  }

  /// PostgreSQL gives up before this program does, however it is reached.
  @Test func theLimitsHoldInEachTransaction() async throws {
    let server = try PostgresServer.shared()
    let pooler = try PgBouncer(before: server)
    defer { pooler.stop() }
    let direct = try server.newDatabase()
    for url in [direct, try pooler.url(of: direct)] {
      let database = PostgresDatabase(url: url)
      let limits = try await database.write { connection in
        try ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"].map {
          try connection.run("SHOW \($0)", []).first?.values
        }
      }
      #expect(limits == [[.text("4s")], [.text("3s")], [.text("15s")]])
      await database.close()
    }
  }
}
