/// Which version the schema has, and which program the database belongs to.
extension AuthStore {
  /// The version that this program wants.
  public static var schemaVersion: Int { Migrations.steps.count }

  /// Brings the schema up to date. Several servers may do so at once. If the schema is up to date
  /// already, nothing is written, and no right to make tables is needed.
  ///
  /// - Returns: the version before.
  @discardableResult
  public func migrate() async throws -> Int {
    let dialect = database.dialect
    await keepReserve()
    let before = try await version()
    guard before < Migrations.steps.count else {
      try Self.checkKnown(before)
      return before
    }
    return try await database.write { connection in
      if dialect == .postgres {
        // A number that only this program uses. The lock ends with the transaction.
        _ = try connection.run("SELECT pg_advisory_xact_lock(7205759403792793)")
      }
      try connection.run(
        "CREATE TABLE IF NOT EXISTS schema_version (one BIGINT PRIMARY KEY, version BIGINT NOT NULL)"
      )
      let version = try Self.version(connection, dialect)
      try Self.checkKnown(version)
      for step in Migrations.steps[version...] {
        for statement in step(dialect) { try connection.run(statement) }
      }
      try connection.run(
        "INSERT INTO schema_version (one, version) VALUES (1, ?) "
          + "ON CONFLICT (one) DO UPDATE SET version = excluded.version",
        .integer(Int64(Migrations.steps.count)))
      return version
    }
  }

  /// Throws if this program's statements do not fit the schema.
  ///
  /// - Parameter isReading: whether only the audit is read. Then earlier versions fit too.
  public func checkSchema(isReading: Bool = false) async throws {
    let version = try await version()
    try Self.checkKnown(version)
    guard version > 0 else {
      throw StoreError.otherSchema(
        "the database is empty: start the server, or run 'credd-authserver migrate'")
    }
    guard isReading || version == Migrations.steps.count else {
      throw StoreError.otherSchema(
        "the database's schema is version \(version), and this credd-authserver wants "
          + "\(Migrations.steps.count): start the server anew, or run 'credd-authserver migrate'")
    }
  }

  /// What would keep a server from bringing the schema up to date, or from using it. Nothing is changed.
  public func schemaFault() async throws -> String? {
    let version = try await version()
    try Self.checkKnown(version)
    guard database.dialect == .postgres else { return nil }
    let isCurrent = version == Migrations.steps.count
    let right =
      isCurrent
      ? "has_table_privilege('audit', 'INSERT')"
      : "COALESCE(has_schema_privilege(current_schema(), 'CREATE'), FALSE)"
    let row = try await database.read {
      try $0.run("SELECT CASE WHEN \(right) THEN 1 ELSE 0 END").first
    }
    guard try row?.integer(0) != 1 else { return nil }
    return isCurrent
      ? "its user may not write: postgresql-grants.sql gives it its rights"
      : "its schema is version \(version), which its user may not bring to "
        + "\(Migrations.steps.count): run 'credd-authserver migrate' as the schema's owner"
  }

  private static func checkKnown(_ version: Int) throws {
    guard version <= Migrations.steps.count else {
      throw StoreError.otherSchema(
        "the database's schema is version \(version), from a newer credd-authserver than this one, "
          + "which knows \(Migrations.steps.count)")
    }
  }

  /// The version of the schema; 0 in an empty database. Throws if the database is another
  /// program's.
  public func version() async throws -> Int {
    let dialect = database.dialect
    return try await database.read { try Self.version($0, dialect) }
  }

  private static func version(_ connection: any SQLConnection, _ dialect: SQLDialect) throws -> Int
  {
    let tables = try connection.run(dialect.schemaTables).first
    guard try tables?.integer(0) == 2 else {
      guard try tables?.integer(1) == 0 else {
        throw StoreError.foreign("it has tables, and none of them says its version")
      }
      return 0
    }
    let rows = try connection.run("SELECT version FROM schema_version WHERE one = 1")
    return Int(try rows.first?.integer(0) ?? 0)
  }
}
