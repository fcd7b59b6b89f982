import GRDB

/// One file, in the mode in which readers do not wait for the writer. Several processes may have it
/// open: a second server on the same machine, and the commands of the administrator.
public struct SQLiteDatabase: SQLDatabase {
  private let pool: DatabasePool

  public var dialect: SQLDialect { .sqlite }

  public init(path: String) throws {
    var configuration = GRDB.Configuration()
    configuration.busyMode = .timeout(5)
    configuration.maximumReaderCount = 4
    configuration.prepareDatabase { database in
      // A commit is on disk before it is answered, through a loss of power too.
      try database.execute(sql: "PRAGMA synchronous = FULL")
    }
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
    } catch {
      throw Self.storeError(error)
    }
  }

  public func read<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    do {
      return try await pool.read { try body(SQLiteConnection(database: $0)) }
    } catch {
      throw Self.storeError(error)
    }
  }

  public func write<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    do {
      return try await pool.write { try body(SQLiteConnection(database: $0)) }
    } catch {
      throw Self.storeError(error)
    }
  }

  public func close() async { try? pool.close() }

  private static func storeError(_ error: any Error) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    switch error.resultCode {
    case .SQLITE_CONSTRAINT:
      return error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER
        ? StoreError.failed(error.message ?? "a constraint") : StoreError.conflict
    case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_IOERR, .SQLITE_FULL, .SQLITE_CANTOPEN,
      .SQLITE_READONLY, .SQLITE_NOMEM, .SQLITE_INTERRUPT, .SQLITE_ABORT:
      return StoreError.unavailable(error.message ?? error.resultCode.description)
    default:
      return StoreError.failed(error.message ?? error.resultCode.description)
    }
  }
}

private struct SQLiteConnection: SQLConnection {
  let database: Database

  func run(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
    let statement = try database.cachedStatement(sql: sql)
    let arguments = StatementArguments(
      values.map { value -> (any DatabaseValueConvertible)? in
        switch value {
        case .text(let text): text
        case .integer(let number): number
        case .null: nil
        }
      })
    guard statement.columnCount > 0 else {
      try statement.execute(arguments: arguments)
      return []
    }
    return try Row.fetchAll(statement, arguments: arguments).map { row in
      SQLRow(
        values: row.databaseValues.map { value in
          switch value.storage {
          case .string(let text): .text(text)
          case .int64(let number): .integer(number)
          default: .null
          }
        })
    }
  }
}
