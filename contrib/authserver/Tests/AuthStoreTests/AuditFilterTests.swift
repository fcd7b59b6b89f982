import AuthCore
import AuthStore
import AuthTestSupport
import Testing

/// What leads to a stolen token. The same on both databases.
@Suite(.serialized) struct AuditFilterTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func entriesAreFoundByHostUserAndTime(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let hosts = ["web1", "web10", "web%", #"q"uote"#, "straße"]
    for host in hosts {
      let notes = (0..<4).map { index in
        AuditNote(
          index == 3 ? "refused" : "token",
          ["host": host, "user": "u\(index)", "x": #""host":"web1""#],
          at: now + .minutes(Int64(index)))
      }
      try await store.commit(notes: notes, chain: "a", now: now)
    }
    for host in hosts {
      let found = try await store.auditEntries(latest: 100, AuditFilter(host: host))
      #expect(found.count == 4, "\(host)")
      #expect(found.map(\.time) == found.map(\.time).sorted())
    }
    #expect(try await store.auditEntries(latest: 100, AuditFilter(host: "web")).isEmpty)
    #expect(try await store.auditEntries(latest: 100, AuditFilter(user: "u2")).count == 5)
    #expect(try await store.auditEntries(latest: 2, AuditFilter(user: "u2")).count == 2)
    let one = AuditFilter(event: "refused", host: "web1", user: "u3")
    #expect(try await store.auditEntries(latest: 100, one).count == 1)
    var timed = AuditFilter()
    timed.since = now + .minutes(1)
    timed.until = now + .minutes(3)
    #expect(try await store.auditEntries(latest: 100, timed).count == 10)
    #expect(
      try await store.auditEntries(latest: 3, timed).allSatisfy { $0.time == now + .minutes(2) })
    await store.close()
  }

  /// More than one statement looks at.
  @Test(arguments: TestDatabase.allCases)
  func theOnlyOneIsFoundBehindManyOthers(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let thief = AuditNote("token", ["host": "stolen"], at: now)
    try await store.commit(notes: [thief], chain: "a", now: now)
    for part in 0..<5 {
      let notes = (0..<5000).map { index in
        AuditNote(
          "token", ["host": "web1"], at: now + Interval(milliseconds: Int64(part * 5000 + index)))
      }
      try await store.commit(notes: notes, chain: "a", now: now)
    }
    #expect(
      try await store.auditEntries(latest: 5, AuditFilter(host: "stolen")).map(\.sequence) == [1])
    #expect(try await store.auditEntries(latest: 30_000).count == 25_001)
    await store.close()
  }
}
