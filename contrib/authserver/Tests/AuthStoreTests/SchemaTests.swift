import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

/// Whose a database is, and which version it has.
@Suite(.serialized) struct SchemaTests {
  @Test(arguments: TestDatabase.allCases)
  func commandsWantTheSchemaAndMakeNone(_ database: TestDatabase) async throws {
    let place = try database.make()
    // PostgreSQL's is there, and empty.
    let message =
      database == .sqlite
      ? "there is no .*/auth.db yet: start the server" : "the database is empty: start"
    await #expect {
      let store = try AuthStore(place, .change)
      try await store.checkSchema()
    } throws: { "\($0)".contains(try Regex(message)) }
    if case .sqlite(let path) = place { #expect(!FileManager.default.fileExists(atPath: path)) }
    let store = try AuthStore(place)
    try await store.migrate()
    try await store.checkSchema()
    try Example.run("UPDATE schema_version SET version = 2", place)
    await #expect { try await store.checkSchema() } throws: {
      "\($0)".contains("schema is version 2, and this credd-authserver wants")
    }
    try await store.checkSchema(isReading: true)
    try Example.run("UPDATE schema_version SET version = 99", place)
    for isReading in [true, false] {
      await #expect { try await store.checkSchema(isReading: isReading) } throws: {
        "\($0)".contains("version 99, from a newer credd-authserver")
      }
    }
    await #expect { try await store.migrate() } throws: { "\($0)".contains("version 99") }
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func anothersDatabaseStaysAsItIs(_ database: TestDatabase) async throws {
    for table in ["users (a TEXT)", "schema_version (number BIGINT)"] {
      let place = try database.make()
      try Example.run("CREATE TABLE \(table)", place)
      let before = try bytes(of: place)
      for access in [StoreAccess.make, .change, .read] {
        await #expect {
          let store = try AuthStore(place, access)
          if access == .make { try await store.migrate() } else { try await store.checkSchema() }
        } throws: {
          if case StoreError.foreign = $0 { return true }
          return false
        }
      }
      #expect(try bytes(of: place) == before)
    }
  }

  private func bytes(of place: AuthCore.Configuration.Database) throws -> Data? {
    guard case .sqlite(let path) = place else { return nil }
    return try Data(contentsOf: URL(filePath: path))
  }

  @Test func whatIsNoDatabaseIsSaidToBeNone() async throws {
    let path = try TestFolder().path + "/auth.db"
    try String(repeating: "no database", count: 100).write(
      toFile: path, atomically: false, encoding: .utf8)
    for access in [StoreAccess.make, .change, .read] {
      await #expect(throws: StoreError.foreign("\(path) is not a file of SQLite")) {
        let store = try AuthStore(.sqlite(path: path), access)
        try await store.checkSchema()
      }
    }
  }

  /// A user to whom the folder and the file say no.
  @Test func readingWritesNothing() async throws {
    let place = try TestDatabase.sqlite.make()
    guard case .sqlite(let path) = place else { return }
    let store = try AuthStore(place)
    try await store.migrate()
    try await store.commit(
      notes: [AuditNote("token", [:], at: Example.now)], chain: "a", now: Example.now)
    await store.close()
    let before = try Data(contentsOf: URL(filePath: path))
    let reader = try AuthStore(place, .read)
    #expect(try await reader.verifyAudit(heads: []).ends.map(\.sequence) == [1])
    await #expect(throws: StoreError.unavailable("it was opened to read")) {
      try await reader.checkWritable(now: Example.now)
    }
    await reader.close()
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  /// The roles of postgresql-grants.sql: the server's neither makes tables nor enrols hosts.
  @Test func theServersRoleHasTheLeastRights() async throws {
    let place = try TestDatabase.postgres.make()
    let owner = try AuthStore(place)
    try await owner.migrate()
    await owner.close()
    let roles = try PostgresRoles(place)
    let server = try AuthStore(roles.server)
    // As `serve` does: nothing is to be done, so that no right is needed.
    #expect(try await server.migrate() == AuthStore.schemaVersion)
    let now = Example.now
    try await server.registerZoe()
    _ = try await server.takeQuota(1, rate: 40)
    _ = try await server.beginGuess(.init(user: "account:zoe", source: "web1"), now: now)
    let host = try Example.host()
    await #expect(throws: StoreError.self) {
      try await server.enrol(host, token: Example.ticket(.host))
    }
    let administrator = try AuthStore(roles.administrator, .change)
    try await administrator.checkSchema()
    let trail = AuditTrail(chain: "cli", AuditNote("hostEnrolled", [:], at: now))
    try await administrator.enrol(host, token: Example.ticket(.host), trail: trail)
    let invitation = Example.ticket(.invitation)
    try await administrator.invite(invitation, name: "yan", expires: now + .days(1), now: now)
    let outcome = try await server.register(
      Identifier(registering: "yan", as: .account), password: "h", invitation: invitation,
      avoidsEnrolments: false, now: now, trail: trail)
    #expect(outcome == .done)
    let alice = try Identifier("alice")
    let record = IdentityRecord(pool: "work", user: alice, identityID: "us-east-1:1")
    for _ in 0..<2 {
      try await server.commit(
        [record], notes: [AuditNote("token", [:], at: now)], chain: "a", now: now)
    }
    #expect(try await server.adopt("us-east-1:2", pool: "work", for: alice))
    #expect(try await server.replacePassword("h", by: "i", of: "account:yan"))
    #expect(try await server.useSignature("s", of: "sample:bob", now: now))
    let session = Example.session(Example.ticket(.session))
    #expect(try await server.open(session, on: host, password: "h"))
    let device = SampleDevice(
      uid: "d", identifier: "account:zoe", key: String(repeating: "0a", count: 16), created: now)
    #expect(try await server.keep(device, password: "h"))
    #expect(try await server.keep(device, password: "h"))
    try await server.endGuess(.init(user: "account:zoe", source: "web1"), now: now)
    try await server.sweep(now: now + .days(400))
    try await server.checkWritable(now: now)
    #expect(try await administrator.setDisabled(true, "account:zoe", trail: trail))
    #expect(try await administrator.setPassword("i", of: "account:zoe"))
    #expect(try await administrator.delete(user: "account:zoe", freesName: true))
    try await administrator.note(vouched: Identifier("carol"), now: now)
    _ = try await administrator.change(host: "web1") { $0.expires = nil }
    _ = try await administrator.commit([record], notes: [], chain: "cli", now: now)
    try await administrator.forgetIdentity(of: "alice", pool: "work")
    #expect(try await !administrator.revokeInvitations(for: "yan", now: now))
    #expect(try await administrator.revoke(host: "web1", now: now, trail: trail))
    try await administrator.enrol(host, token: nil, trail: trail)
    for statement in [
      "UPDATE hosts SET revoked = NULL", "UPDATE hosts SET vouches = '*'",
      "UPDATE hosts SET certificates_from = NULL", "UPDATE users SET disabled = 0",
      "DELETE FROM users", "UPDATE users SET identifier = 'x'",
      "UPDATE invitations SET name = 'x'", "UPDATE invitations SET hash = 'x'",
      "DELETE FROM identities", "UPDATE audit_heads SET chain = 'x'",
      "UPDATE adoptions SET identifier = 'x'", "UPDATE host_tokens SET expires = NULL",
    ] {
      #expect(throws: CommandFailed.self, "\(statement)") {
        try Example.run(statement, roles.server)
      }
    }
    for role in [roles.server, roles.administrator] {
      for statement in [
        "CREATE TABLE x (a TEXT)", "DELETE FROM audit", "UPDATE audit SET event = 'x'",
        "UPDATE audit_starts SET sequence = 9", "UPDATE schema_version SET version = 9",
      ] { #expect(throws: CommandFailed.self, "\(statement)") { try Example.run(statement, role) } }
    }
    for store in [server, administrator] { await store.close() }
  }

  @Test func withoutTheRightTheSchemaIsNotChanged() async throws {
    let place = try TestDatabase.postgres.make()
    let store = try AuthStore(try PostgresRoles(place, isGranted: false).server)
    await #expect { try await store.migrate() } throws: {
      if case StoreError.denied = $0 { return true }
      return false
    }
    await store.close()
  }
}

/// Two roles of PostgreSQL's that are not the owner of a database.
private struct PostgresRoles {
  let server: AuthCore.Configuration.Database
  let administrator: AuthCore.Configuration.Database

  init(_ place: AuthCore.Configuration.Database, isGranted: Bool = true) throws {
    guard case .postgres(let url) = place else { throw CommandFailed("no PostgreSQL") }
    let number = UUID().uuidString.prefix(8).lowercased()
    let names = ["server", "administrator"].map { "\($0)_\(number)" }
    for name in names { try Example.run("CREATE ROLE \(name) LOGIN", place) }
    // As if an earlier version had given more.
    if isGranted {
      try Example.run(
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO " + names.joined(separator: ", "), place)
    }
    if isGranted {
      let file = URL(filePath: #filePath).appending(path: "../../../postgresql-grants.sql")
      try Command.run(
        "/usr/bin/psql",
        [
          "-v", "server=\(names[0])", "-v", "administrator=\(names[1])", "-f",
          file.standardizedFileURL.path, url,
        ])
    }
    server = .postgres(url: url.replacing("postgres@", with: "\(names[0])@"))
    administrator = .postgres(url: url.replacing("postgres@", with: "\(names[1])@"))
  }
}
