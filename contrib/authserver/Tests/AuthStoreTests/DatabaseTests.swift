import AuthCore
import AuthTestSupport
import Testing

@testable import AuthStore

/// The schema, and a database that goes and comes back. The same on both databases.
@Suite(.serialized) struct DatabaseTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func migrationsRunOnce(_ database: TestDatabase) async throws {
    let store = try AuthStore(try database.make())
    #expect(try await store.version() == 0)
    #expect(try await store.migrate() == 0)
    #expect(try await store.migrate() == AuthStore.schemaVersion)
    #expect(try await store.version() == AuthStore.schemaVersion)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func severalServersMayMigrateAtOnce(_ database: TestDatabase) async throws {
    let place = try database.make()
    let before = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let store = try AuthStore(place)
          let version = try await store.migrate()
          await store.close()
          return version
        }
      }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(before.filter { $0 == 0 }.count == 1)
  }

  /// As it was before there were groups of hosts.
  private static func backToTwo(_ place: AuthCore.Configuration.Database) throws {
    for statement in TestDatabase.beforeArchives(place) + [
      "ALTER TABLE hosts DROP COLUMN host_group", "DROP TABLE host_groups",
      "UPDATE schema_version SET version = 2",
    ] { try Example.run(statement, place) }
  }

  /// Names that differed in ẞ and ß were two, and are one now.
  @Test(arguments: TestDatabase.allCases)
  func earlierAccountsGetTheirNewKeys(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try AuthStore(place)
    try await store.migrate()
    // The last two are one name by now, and both were taken.
    let keys = [
      ("STRA\u{1E9E}E", "straße"), ("GRO\u{1E9E}", "groß"), ("gross", "gross"), ("zoe", "zoe"),
    ]
    for (name, key) in keys {
      try Example.run(
        "INSERT INTO users (identifier, unique_key, kind, password, disabled, created) "
          + "VALUES ('account:\(name)', 'account:\(key)', 'account', 'h', 0, 1)", place)
    }
    try Self.backToTwo(place)
    #expect(try await store.migrate() == 2)
    func found(_ name: String) async throws -> String? {
      try await store.user(matching: Identifier(registering: name, as: .account))?.identifier
    }
    #expect(try await found("strasse") == "account:STRA\u{1E9E}E")
    for name in keys.map(\.0) { #expect(try await found(name) == "account:" + name) }
    let outcome = try await store.register(
      try Identifier(registering: "straße", as: .account), password: "h", invitation: nil,
      avoidsEnrolments: false, now: now)
    #expect(outcome == .nameTaken)
    await store.close()
  }

  /// Its tokens had the enrolment's end, which can be changed now.
  @Test(arguments: TestDatabase.allCases)
  func anEarlierTokenEndsWithItsEnrolment(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try AuthStore(place)
    try await store.migrate()
    let (first, second) = (Example.ticket(.host), Example.ticket(.host))
    try await store.enrol(try Example.host(), token: first)
    _ = try await store.rotate(host: "web1", token: second, earlierUntil: now + .hours(1), now: now)
    let end = (now + .days(90)).milliseconds
    try Example.run("UPDATE host_tokens SET expires = \(end) WHERE expires IS NULL", place)
    try Self.backToTwo(place)
    #expect(try await store.migrate() == 2)
    _ = try await store.change(host: "web1") { $0.expires = nil }
    #expect(try await store.host(of: .ticket(second), now: now + .days(100)) != nil)
    #expect(try await store.host(of: .ticket(first), now: now + .hours(2)) == nil)
    await store.close()
  }

  @Test func aDatabaseThatIsGoneIsNotAvailable() async throws {
    let server = try PostgresServer()
    let store = try AuthStore(.postgres(url: try server.newDatabase()))
    try await store.migrate()
    // Several connections wait in the pool.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { _ = try await store.takeQuota(1, rate: 40) } }
      try await group.waitForAll()
    }
    // A restart that nobody saw costs no answer.
    try server.stop()
    try server.start()
    #expect(try await store.hosts().isEmpty)
    try await store.note(vouched: Identifier("alice"), now: now)
    try server.stop()
    for _ in 0..<20 {
      await #expect { try await store.hosts() } throws: { isUnavailable($0) }
    }
    try server.start()
    #expect(try await store.users().map(\.identifier) == ["alice"])
    await store.close()
  }

  /// The first host of the URL becomes a stand-by while connections to it wait in the pool.
  @Test func afterAFailOverTheOtherHostIsAsked() async throws {
    let servers = [try PostgresServer(), try PostgresServer()]
    for server in servers {
      let store = AuthStore(PostgresDatabase(url: try server.newDatabase()))
      try await store.migrate()
      await store.close()
    }
    let hosts = servers.map(\.socketFolder).joined(separator: ",")
    let url = "postgresql://postgres@/test1?host=" + hosts
    let store = AuthStore(PostgresDatabase(url: url))
    func note(_ names: Range<Int>) async throws {
      let now = now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in names {
          group.addTask { try await store.note(vouched: Identifier("u\(index)"), now: now) }
        }
        try await group.waitForAll()
      }
    }
    try await note(0..<20)
    try servers[0].becomeReadOnly()
    try await note(20..<40)
    func users(_ server: PostgresServer) throws -> String {
      try Example.run(
        "SELECT COUNT(*) FROM users",
        .postgres(url: "postgresql://postgres@/test1?host=" + server.socketFolder))
    }
    #expect(try servers.map(users) == ["20", "20"])
    // What is only read may come from a stand-by.
    let reader = AuthStore(PostgresDatabase(url: url, isReading: true))
    #expect(try await reader.users().first?.identifier == "u0")
    for store in [store, reader] { await store.close() }
  }

  /// After a fail-over the server's name leads elsewhere, and the old one may answer still.
  @Test(arguments: [(Interval.minutes(30), 1), (.seconds(0), 5)])
  func aConnectionIsNotUsedForEver(_ age: Interval, _ count: Int) async throws {
    let url = try PostgresServer.shared().newDatabase()
    let database = PostgresDatabase(url: url, connections: 1, age: age)
    var processes: Set<Int64> = []
    for _ in 0..<5 {
      processes.insert(
        try await database.read {
          try $0.run("SELECT pg_backend_pid()", []).first?.integer(0) ?? 0
        })
    }
    #expect(processes.count == count)
    await database.close()
  }

  @Test func aDatabaseThatDoesNotAnswerHoldsUpNobodyForLong() async throws {
    let server = try PostgresServer()
    let url = try server.newDatabase()
    let patient = AuthStore(PostgresDatabase(url: url))
    try await patient.migrate()
    await patient.close()
    let store = AuthStore(
      PostgresDatabase(url: url, connections: 1, time: Interval(milliseconds: 500)))
    #expect(await answers(store))
    try server.freeze()
    // One waits for the answer, and the others for the connection.
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<10 {
        group.addTask {
          await #expect { try await store.hosts() } throws: { isUnavailable($0) }
        }
      }
    }
    try server.thaw()
    #expect(await answers(store))
    await store.close()
  }

  /// Half a second may be too short on a busy machine, but not each time.
  private func answers(_ store: AuthStore) async -> Bool {
    for _ in 0..<60 {
      if (try? await store.hosts()) != nil { return true }
    }
    return false
  }

  private func isUnavailable(_ error: any Error) -> Bool {
    if case StoreError.unavailable = error { return true }
    return false
  }
}
