import AuthCore
import AuthTestSupport
import Testing

@testable import AuthStore

/// Entries that leave the audit for an archive. The same on both databases.
@Suite(.serialized) struct ArchiveStoreTests {
  private let now = Example.now
  private let trail = AuditTrail(chain: "cli", AuditNote("archived", [:], at: Example.now))

  /// 2,500 entries of chain a, 10 a second, and 3 old ones of chain b.
  private func store(_ place: AuthCore.Configuration.Database) async throws -> AuthStore {
    let store = try AuthStore(place)
    try await store.migrate()
    for start in stride(from: 0, to: 2500, by: 500) {
      let notes = (start..<(start + 500)).map {
        AuditNote("token", ["n": "\($0)"], at: now + Interval(milliseconds: Int64($0) * 100))
      }
      try await store.commit(notes: notes, chain: "a", now: now)
    }
    let notes = (0..<3).map { AuditNote("token", ["n": "\($0)"], at: now) }
    try await store.commit(notes: notes, chain: "b", now: now)
    return store
  }

  private func archive(
    _ store: AuthStore, before time: Timestamp
  ) async throws -> (entries: [AuditEntry], isDone: Bool) {
    var entries: [AuditEntry] = []
    let old = try await store.auditStarts()
    let new = try await store.oldEntries(before: time) { entries.append($0) }
    let isDone = try await store.startAudit(after: new, insteadOf: old, trail: trail)
    try await store.removeArchived()
    return (entries, isDone)
  }

  @Test(arguments: TestDatabase.allCases)
  func oldEntriesGoAndTheChainStaysVerifiable(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try await store(place)
    let logged = try await store.auditHeads()
    let all = try await store.auditEntries(latest: 10_000)
    let (entries, isDone) = try await archive(store, before: now + .seconds(123))
    #expect(isDone)
    #expect(entries.filter { $0.chain == "a" } == all.filter { $0.chain == "a" }.prefix(1230) + [])
    #expect(entries.filter { $0.chain == "b" }.count == 3)
    #expect(try Example.run("SELECT COUNT(*) FROM audit WHERE chain = 'a'", place) == "1270")
    #expect(try Example.run("SELECT COUNT(*) FROM audit WHERE chain = 'b'", place) == "0")
    // The ends that the log had before are still there.
    let (ends, faults) = try await store.verifyAudit(heads: logged)
    #expect(faults.isEmpty)
    #expect(ends.map(\.sequence) == [2500, 3, 1])
    try await store.commit(notes: [AuditNote("token", [:], at: now)], chain: "b", now: now)
    #expect(try await store.verifyAudit(heads: logged).faults.isEmpty)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func archivesReachBackFromTheAudit(_ database: TestDatabase) async throws {
    let store = try await store(try database.make())
    let head = try await store.auditEntries(latest: 10_000).first { $0.sequence == 100 }
    let logged = AuditHead(chain: "a", sequence: 100, hash: try #require(head).hash)
    var archives: [ArchivedChain] = []
    for seconds: Int64 in [50, 123] {
      let start = try await store.auditStarts().first { $0.chain == "a" } ?? AuditHead(chain: "a")
      _ = try await archive(store, before: now + .seconds(seconds))
      let end = try #require(try await store.auditStarts().first { $0.chain == "a" })
      archives.append(ArchivedChain(start: start, end: end))
    }
    #expect(try await store.verifyAudit(heads: [logged], archives: archives).faults.isEmpty)
    #expect(
      try await store.verifyAudit(heads: [logged]).faults == [
        "entry 100 of chain a, which the log names, is in an archive: give that with --archive"
      ])
    #expect(
      try await store.verifyAudit(heads: [], archives: [archives[0]]).faults == [
        "an archive has entries 1 to 500 of chain a, and neither the audit nor another archive goes "
          + "on from there"
      ])
    #expect(try await store.verifyAudit(heads: [], archives: [archives[1]]).faults.isEmpty)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func whatIsInNoArchiveStays(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try await store(place)
    _ = try await archive(store, before: now + .seconds(50))
    for statement in [
      "DELETE FROM audit WHERE chain = 'a' AND sequence = 501", "DELETE FROM audit",
      "UPDATE audit SET event = 'x'",
    ] {
      #expect(throws: (any Error).self) { try Example.run(statement, place) }
    }
    // Somebody says of entries that they were archived.
    try Example.run(
      "UPDATE audit_starts SET sequence = 600, hash = (SELECT hash FROM audit WHERE chain = 'a' AND "
        + "sequence = 600) WHERE chain = 'a'", place)
    try await store.removeArchived()
    #expect(try await store.verifyAudit(heads: []).faults.isEmpty)
    let logged = AuditHead(chain: "a", sequence: 550, hash: String(repeating: "0", count: 64))
    #expect(try await store.verifyAudit(heads: [logged]).faults.count == 1)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func ofTwoArchivesAtOnceOneIsTaken(_ database: TestDatabase) async throws {
    let store = try await store(try database.make())
    let old = try await store.auditStarts()
    let new = try await store.oldEntries(before: now + .seconds(50)) { _ in }
    #expect(try await store.startAudit(after: new, insteadOf: old, trail: trail))
    #expect(try await !store.startAudit(after: new, insteadOf: old, trail: trail))
    // The server ended before it had removed them.
    #expect(try await store.verifyAudit(heads: []).faults.isEmpty)
    // The entry about the first one is old too.
    let more = try await archive(store, before: now + .seconds(50)).entries
    #expect(more.map(\.chain) == ["cli"])
    await store.close()
  }

  /// What makes the database refuse to remove an entry, as a limit in time does.
  private static func refusal(_ database: TestDatabase) -> String {
    database == .sqlite
      ? "CREATE TRIGGER refusal BEFORE DELETE ON audit WHEN OLD.sequence = 1500 "
        + "BEGIN SELECT RAISE(ABORT, 'no time'); END"
      : """
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'no time' USING ERRCODE = '57014'; END $$;
      CREATE TRIGGER refusal BEFORE DELETE ON audit
      FOR EACH ROW WHEN (OLD.sequence = 1500) EXECUTE FUNCTION refuse()
      """
  }

  @Test(arguments: TestDatabase.allCases)
  func aRemovalThatBrokeOffGoesOn(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try await store(place)
    try Example.run(Self.refusal(database), place)
    await #expect(throws: StoreError.self) { try await archive(store, before: now + .days(1)) }
    func left() throws -> String {
      try Example.run("SELECT COUNT(*) FROM audit WHERE chain = 'a'", place)
    }
    #expect(try left() == "1500")
    #expect(try await store.verifyAudit(heads: []).faults.isEmpty)
    try Example.run(
      "DROP TRIGGER refusal" + (database == .sqlite ? "" : " ON audit"), place)
    #expect(try await store.removeArchived() == 1503)
    #expect(try left() == "0")
    #expect(try await store.removeArchived() == 0)
    await store.close()
  }

  /// Without a lower bound each piece reads all that were removed before it.
  @Test func postgresReadsOnePieceAtATime() async throws {
    let place = try TestDatabase.postgres.make()
    let store = try await store(place)
    await store.close()
    try Example.run("ANALYZE audit", place)
    var statement = AuthStore.removal
    for value in ["'a'", "1000", "2000"] { statement.replace("?", with: value, maxReplacements: 1) }
    let plan = try Example.run("SET enable_seqscan = off; EXPLAIN \(statement)", place)
    #expect(plan.contains("(sequence > 1000) AND (sequence <= 2000)"), "\(plan)")
    #expect(plan.contains("Index Cond"), "\(plan)")
  }

  @Test(arguments: TestDatabase.allCases)
  func aBrokenChainIsNotArchived(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try await store(place)
    try Example.run(
      database == .sqlite
        ? "DROP TRIGGER audit_no_update" : "ALTER TABLE audit DISABLE TRIGGER ALL", place)
    try Example.run("UPDATE audit SET detail = '{}' WHERE chain = 'a' AND sequence = 7", place)
    await #expect(throws: StoreError.failed("the audit is broken: entry 7 of chain a was changed"))
    {
      try await store.oldEntries(before: now + .seconds(50)) { _ in }
    }
    await store.close()
  }
}
