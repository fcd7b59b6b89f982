/// A value of a column. The schema has only texts and whole numbers, which mean the same to both
/// databases.
public enum SQLValue: Sendable, Equatable {
  case text(String)
  case integer(Int64)
  case null

  static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
  static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
  static func flag(_ flag: Bool) -> SQLValue { .integer(flag ? 1 : 0) }
}

/// One row of an answer, its columns in the order of the query.
public struct SQLRow: Sendable, Equatable {
  public let values: [SQLValue]

  func text(_ column: Int) throws -> String {
    guard let text = optionalText(column) else { throw StoreError.unexpectedNull(column) }
    return text
  }

  func integer(_ column: Int) throws -> Int64 {
    guard let number = optionalInteger(column) else { throw StoreError.unexpectedNull(column) }
    return number
  }

  func optionalText(_ column: Int) -> String? {
    if case .text(let text) = values[column] { return text }
    return nil
  }

  func optionalInteger(_ column: Int) -> Int64? {
    if case .integer(let number) = values[column] { return number }
    return nil
  }
}

/// Why the database did not do what it was asked.
public enum StoreError: Error, Equatable, CustomStringConvertible {
  /// It cannot be reached, is locked or broke off: the same may succeed later.
  case unavailable(String)
  /// No room is left on its disk.
  case full(String)
  /// It is not this program's.
  case foreign(String)
  /// This program does not know the schema of the database.
  case otherSchema(String)
  /// The user that PostgreSQL knows this program as lacks a right.
  case denied(String)
  /// Another transaction was in the way. This transaction has changed nothing.
  case collided
  /// The row is there already.
  case conflict
  case unexpectedNull(Int)
  /// A mistake in this program, or a schema of another version.
  case failed(String)

  /// The same may succeed later.
  public var isPassing: Bool {
    switch self {
    case .unavailable, .full, .collided: true
    default: false
    }
  }

  /// The case alone, without its reason.
  public var kind: String {
    switch self {
    case .unavailable: "unavailable"
    case .full: "full"
    case .foreign: "foreign"
    case .otherSchema: "otherSchema"
    case .denied: "denied"
    case .collided: "collided"
    case .conflict: "conflict"
    case .unexpectedNull: "unexpectedNull"
    case .failed: "failed"
    }
  }

  public var description: String {
    switch self {
    case .unavailable(let reason): "the database is not available: \(reason)"
    case .full(let place): "no room is left on the disk of the database: \(place)"
    case .foreign(let reason): "this is no database of credd-authserver's: \(reason)"
    case .otherSchema(let reason): reason
    case .denied(let reason):
      "the database's user may not do that: \(reason); authserver.md has the rights of each role"
    case .collided: "another transaction was in the way"
    case .conflict: "the row is there already"
    case .unexpectedNull(let column): "column \(column) of the database's answer is empty"
    case .failed(let reason): "the database refused: \(reason)"
    }
  }
}

/// Where the two databases differ.
public enum SQLDialect: Sendable {
  case sqlite
  case postgres

  /// The end of a SELECT if its rows are then changed. SQLite has one writer at a time anyway.
  var forUpdate: String { self == .postgres ? " FOR UPDATE" : "" }

  /// The end of a SELECT from several tables if rows of one table are then changed. PostgreSQL
  /// cannot lock the rows of an outer join that may be missing.
  func forUpdate(of table: String) -> String { self == .postgres ? " FOR UPDATE OF \(table)" : "" }

  /// A query with one row. It counts the columns of this program's table of versions. If there is
  /// no such table, it counts the tables that may not stand beside it.
  var schemaTables: String {
    switch self {
    case .sqlite:
      """
      SELECT (SELECT COUNT(*) FROM pragma_table_info('schema_version')
          WHERE name IN ('one', 'version')),
        (SELECT COUNT(*) FROM sqlite_master WHERE type = 'table')
      """
    case .postgres:
      """
      SELECT (SELECT COUNT(*) FROM pg_attribute
          WHERE attrelid = to_regclass('schema_version') AND attname IN ('one', 'version')),
        (SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()
          AND tablename IN ('schema_version', 'users', 'hosts', 'sessions', 'audit'))
      """
    }
  }

  /// A column of texts in the order of their bytes. SQLite always has this order.
  func bytewise(_ column: String) -> String {
    self == .sqlite ? column : "\(column) COLLATE \"C\""
  }

  /// Whether a text holds another, as it stands.
  func contains(_ column: String) -> String {
    self == .sqlite ? "instr(\(column), ?) > 0" : "strpos(\(column), ?) > 0"
  }

  /// The database's clock, in milliseconds. It is the same for all servers.
  var clock: String {
    switch self {
    case .sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    case .postgres: "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    }
  }
}

/// Runs statements within one transaction. Parameters are written `?`. Values never stand in a
/// statement's text.
public protocol SQLConnection {
  @discardableResult
  func run(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow]
}

extension SQLConnection {
  @discardableResult
  func run(_ sql: String, _ values: SQLValue...) throws -> [SQLRow] { try run(sql, values) }
}

/// One of the two databases.
public protocol SQLDatabase: Sendable {
  var dialect: SQLDialect { get }
  /// Reads; one statement, so it needs no transaction.
  func read<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T
  /// Runs one statement that writes, without a transaction around it. If the connection breaks, the
  /// statement may run twice. So the statement itself must say whether there is something to do.
  ///
  /// - Returns: nil if a transaction is to do it.
  func writeAlone<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T?
  /// Reads and writes, all or nothing. When this returns, the changes are on disk.
  func write<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T
  /// Reads and writes, like `write`, but must succeed on a full disk too: room is kept for it.
  func writeUrgently<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T
  /// Keeps that room again, where there is enough.
  func keepReserve() async
  /// Writes a copy of the state of one moment into an empty file that is open, while others write.
  func copy(to descriptor: Int32) async throws
  func close() async
}
