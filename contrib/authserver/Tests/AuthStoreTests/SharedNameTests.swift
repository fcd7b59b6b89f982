import AuthTestSupport
import Testing

@testable import AuthStore

/// How the accounts are found that a pattern may cover.
struct SharedNameTests {
  /// Otherwise each word of an enrolment reads all users.
  @Test(arguments: [true, false])
  func postgresFindsThemByItsIndexes(_ isWhole: Bool) async throws {
    let place = try TestDatabase.postgres.make()
    let store = try AuthStore(place)
    try await store.migrate()
    await store.close()
    try Example.run(
      "INSERT INTO users (identifier, unique_key, kind, password, disabled, created) "
        + "SELECT 'account:u' || n, 'account:u' || n, 'account', 'h', 0, 1 "
        + "FROM generate_series(1, 5000) n", place)
    try Example.run("ANALYZE users", place)
    var statement = AuthStore.accountsNear(isWhole: isWhole, .postgres)
    for start in ["account:u77", "u77", "account:u77"] {
      for value in isWhole ? [start] : [start, start + "\u{10FFFF}"] {
        statement.replace("?", with: "'\(value)'", maxReplacements: 1)
      }
    }
    let plan = try Example.run("EXPLAIN \(statement)", place)
    #expect(plan.contains("Index Scan") && !plan.contains("Seq Scan"), "\(plan)")
  }
}
