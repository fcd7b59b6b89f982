import AuthCore
import AuthStore
import AuthTestSupport
import Testing

/// The audit's chains. The same on both databases.
@Suite(.serialized) struct AuditStoreTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func theAuditIsAppendOnlyAndWhole(_ database: TestDatabase) async throws {
    let place = try database.make()
    let stores = try [AuthStore(place), AuthStore(place)]
    try await stores[0].migrate()
    let now = now
    // Two programs on one chain, and one on another.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<40 {
        group.addTask {
          let notes = (0..<(index % 5 + 1)).map {
            AuditNote("token", ["n": "\(index).\($0)", "q": "it's"], at: now)
          }
          _ = try await stores[index % 2].commit(
            notes: notes, chain: index % 4 == 3 ? "b" : "a", now: now)
        }
      }
      try await group.waitForAll()
    }
    let (ends, faults) = try await stores[0].verifyAudit(heads: [])
    #expect(faults.isEmpty)
    #expect(ends.map(\.chain) == ["a", "b"])
    #expect(ends.map(\.sequence).reduce(0, +) == 120)
    let missing = AuditHead(chain: "a", sequence: 9999, hash: String(repeating: "0", count: 64))
    #expect(try await stores[0].verifyAudit(heads: [missing]).faults.count == 1)
    #expect(try await stores[0].auditEntries(latest: 3).count == 3)
    for store in stores { await store.close() }
    for statement in ["UPDATE audit SET event = 'x'", "DELETE FROM audit"] {
      #expect(throws: (any Error).self) { try Example.run(statement, place) }
    }
  }

  /// Whatever a program knows of a chain's end, its entries follow the real one.
  @Test(arguments: TestDatabase.allCases)
  func entriesFollowTheEndThatThereIs(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let (now, chain) = (now, "a")
    func commit(_ names: String..., after end: AuditHead?) async throws -> AuditHead {
      let notes = names.map { AuditNote("token", ["n": $0], at: now) }
      return try await store.commit(notes: notes, chain: chain, after: end, now: now)
    }
    let first = try await commit("1", after: nil)
    let second = try await commit("2", "3", after: first)
    // Another program has written meanwhile; and a chain of that name never was.
    let third = try await commit("4", after: first)
    #expect(third.sequence == second.sequence + 1)
    let other = AuditHead(chain: chain, sequence: 2, hash: String(repeating: "0", count: 64))
    let last = try await commit("5", after: other)
    #expect(try await store.auditHeads() == [last])
    #expect(try await store.verifyAudit(heads: [first, second, third, last]).faults.isEmpty)
    let details = try await store.auditEntries(latest: 10).map(\.detail)
    #expect(details == (1...5).map { #"{"n":"\#($0)"}"# })
    await store.close()
  }

  /// A connection breaks, and a statement runs again whose first answer was lost.
  @Test func anEntryWhoseAnswerWasLostStandsOnce() async throws {
    let store = try await TestDatabase.postgres.makeStore()
    let notes = [AuditNote("token", [:], at: now)]
    let start = try await store.commit(
      notes: [AuditNote("login", [:], at: now)], chain: "a", now: now)
    let end = try await store.commit(notes: notes, chain: "a", after: start, now: now)
    let again = try await store.commit(notes: notes, chain: "a", after: start, now: now)
    #expect(again == end)
    // Something else was written before that was seen.
    let last = try await store.commit(
      notes: [AuditNote("logout", [:], at: now)], chain: "a", after: end, now: now)
    #expect(try await store.commit(notes: notes, chain: "a", after: start, now: now) == last)
    #expect(try await store.auditEntries(latest: 10).map(\.event) == ["login", "token", "logout"])
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aChangedEntryIsSeen(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try AuthStore(place)
    try await store.migrate()
    let notes = (0..<5).map { AuditNote("token", ["n": "\($0)"], at: now) }
    _ = try await store.commit(notes: notes, chain: "a", now: now)
    switch place {
    case .sqlite:
      try Example.run("DROP TRIGGER audit_no_update", place)
    case .postgres: try Example.run("ALTER TABLE audit DISABLE TRIGGER ALL", place)
    }
    try Example.run("UPDATE audit SET detail = '{}' WHERE sequence = 3", place)
    let faults = try await store.verifyAudit(heads: []).faults
    #expect(faults == ["entry 3 of chain a was changed"])
    await store.close()
  }

  /// Entries are appended while the chain is followed.
  @Test(arguments: TestDatabase.allCases)
  func aChainIsWholeWhileItGrows(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let now = now
    let writer = Task {
      while !Task.isCancelled {
        try await store.commit(notes: [AuditNote("token", [:], at: now)], chain: "a", now: now)
      }
    }
    for _ in 0..<20 { #expect(try await store.verifyAudit(heads: []).faults.isEmpty) }
    writer.cancel()
    _ = await writer.result
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aRemovedAndATruncatedEntryAreSeen(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try AuthStore(place)
    try await store.migrate()
    let notes = (0..<5).map { AuditNote("token", ["n": "\($0)"], at: now) }
    for chain in ["a", "b", "c"] { try await store.commit(notes: notes, chain: chain, now: now) }
    let logged = try await store.auditHeads().filter { $0.chain == "c" }
    let isSQLite = database == .sqlite
    _ = try Example.run(
      isSQLite ? "DROP TRIGGER audit_no_delete" : "ALTER TABLE audit DISABLE TRIGGER ALL", place)
    for statement in [
      "DELETE FROM audit WHERE chain = 'a' AND sequence = 3",
      "DELETE FROM audit WHERE chain = 'b' AND sequence = 5",
      // With the recorded end: the log alone knows.
      "DELETE FROM audit WHERE chain = 'c' AND sequence = 5",
      "UPDATE audit_heads SET sequence = 4, hash = (SELECT hash FROM audit WHERE chain = 'c' "
        + "AND sequence = 4) WHERE chain = 'c'",
    ] { _ = try Example.run(statement, place) }
    let seen = ["entry 3 of chain a is missing", "chain b ends at 4, and should at 5"]
    #expect(try await store.verifyAudit(heads: []).faults == seen)
    let all = seen + ["entry 5 of chain c, which the log names, is missing"]
    #expect(try await store.verifyAudit(heads: logged).faults == all)
    // All of a chain: only the log knows that there was one.
    for statement in [
      "DELETE FROM audit WHERE chain = 'c'", "DELETE FROM audit_heads WHERE chain = 'c'",
    ] { _ = try Example.run(statement, place) }
    #expect(try await store.verifyAudit(heads: []).faults == seen)
    let gone = seen + ["chain c, which the log names, is gone"]
    #expect(try await store.verifyAudit(heads: logged).faults == gone)
    await store.close()
  }
}
