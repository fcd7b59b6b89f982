import AuthCore
import CSQLite

/// One connection to SQLite. Its calls block.
///
/// Unchecked, because SQLite's handles are pointers: the thread that took the connection out of its
/// lock is the only one that uses it until it is back.
@safe final class SQLiteConnection: SQLConnection, @unchecked Sendable {
  private var handle: OpaquePointer?
  /// A statement is parsed once on each connection.
  private var prepared: [String: OpaquePointer] = unsafe [:]

  init(path: String, isWriter: Bool = false) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    // From here on `deinit` closes it, also where this throws.
    let code = unsafe sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK else { throw failure(code) }
    _ = unsafe sqlite3_extended_result_codes(handle, 1)
    // Another process may be writing.
    _ = unsafe sqlite3_busy_timeout(handle, Int32(Limits.databaseTime.milliseconds))
    try run("PRAGMA foreign_keys = ON")
    guard isWriter else {
      try run("PRAGMA query_only = ON")
      return
    }
    // Readers do not wait for the writer, nor the writer for readers.
    try run("PRAGMA journal_mode = WAL")
    // A commit is on disk before it is answered, through a loss of power too.
    try run("PRAGMA synchronous = FULL")
  }

  deinit {
    unsafe prepared.values.forEach { _ = unsafe sqlite3_finalize($0) }
    _ = unsafe sqlite3_close_v2(handle)
  }

  func transaction<T>(_ body: (any SQLConnection) throws -> T) throws -> T {
    try run("BEGIN IMMEDIATE")
    do {
      let result = try body(self)
      try run("COMMIT")
      return result
    } catch {
      // SQLite has rolled back itself after some errors.
      if unsafe sqlite3_get_autocommit(handle) == 0 { _ = try? run("ROLLBACK") }
      throw error
    }
  }

  func run(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
    let statement = try unsafe prepare(sql)
    defer {
      _ = unsafe sqlite3_reset(statement)
      _ = unsafe sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() {
      let code = unsafe Self.bind(value, to: statement, at: Int32(index + 1))
      guard code == SQLITE_OK else { throw failure(code) }
    }
    var rows: [SQLRow] = []
    while true {
      let code = unsafe sqlite3_step(statement)
      switch code {
      case SQLITE_ROW: unsafe rows.append(Self.row(statement))
      case SQLITE_DONE: return rows
      default: throw failure(code)
      }
    }
  }

  private func prepare(_ sql: String) throws -> OpaquePointer? {
    if let statement = unsafe prepared[sql] { return unsafe statement }
    var statement: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(
      handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK else { throw failure(code) }
    unsafe prepared[sql] = statement
    return unsafe statement
  }

  private static func bind(
    _ value: SQLValue, to statement: OpaquePointer?, at index: Int32
  ) -> Int32 {
    switch value {
    case .integer(let number): return unsafe sqlite3_bind_int64(statement, index, number)
    case .null: return unsafe sqlite3_bind_null(statement, index)
    case .text(var text):
      // SQLite copies it.
      let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      return text.withUTF8 { bytes in
        unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
          // No address would be no text, but NULL.
          unsafe characters.isEmpty
            ? sqlite3_bind_text(statement, index, "", 0, nil)
            : sqlite3_bind_text(
              statement, index, characters.baseAddress, Int32(characters.count), transient)
        }
      }
    }
  }

  private static func row(_ statement: OpaquePointer?) -> SQLRow {
    SQLRow(
      values: (0..<(unsafe sqlite3_column_count(statement))).map { column in
        switch unsafe sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, column))
        case SQLITE_TEXT:
          guard let text = unsafe sqlite3_column_text(statement, column) else { return .null }
          let bytes = unsafe UnsafeBufferPointer(
            start: text, count: Int(sqlite3_column_bytes(statement, column)))
          return unsafe .text(String(decoding: bytes, as: UTF8.self))
        default: return .null
        }
      })
  }

  private func failure(_ code: Int32) -> StoreError {
    let reason = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? "no reason"
    switch code & 0xFF {
    case SQLITE_CONSTRAINT:
      // A trigger has its own words.
      return code == auth_sqlite_constraint_trigger ? .failed(reason) : .conflict
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_READONLY,
      SQLITE_NOMEM, SQLITE_INTERRUPT, SQLITE_ABORT:
      return .unavailable(reason)
    default: return .failed(reason)
    }
  }
}
