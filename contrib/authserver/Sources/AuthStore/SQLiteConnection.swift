import AuthCore
import CSQLite
import Glibc

/// One connection to SQLite. Its calls block.
///
/// Unchecked, because SQLite's handles are pointers. Only the thread that took the connection out
/// of its lock uses it, until the connection is back.
@safe final class SQLiteConnection: SQLConnection, @unchecked Sendable {
  /// What a connection may do with its file.
  enum Use {
    /// Also where there is none yet.
    case make
    case write
    case read
    /// Leaves everything as it is; the file may be on a medium that nobody can write.
    case look
  }

  private let path: String
  private var handle: OpaquePointer?
  /// A statement is parsed once on each connection.
  private var prepared: [String: OpaquePointer] = unsafe [:]

  init(path: String, _ use: Use) throws {
    self.path = path
    try open(path, use)
    // Another process may be writing.
    _ = unsafe sqlite3_busy_timeout(handle, Int32(Limits.databaseTime.milliseconds))
    try run("PRAGMA foreign_keys = ON")
    switch use {
    case .make, .write:
      // Another program's file stays as it is.
      let tables = try run(SQLDialect.sqlite.schemaTables).first
      guard try tables?.integer(0) == 2 || tables?.integer(1) == 0 else {
        throw StoreError.foreign("\(path) has tables, and none of them says its version")
      }
      // Readers do not wait for the writer, nor the writer for readers.
      try run("PRAGMA journal_mode = WAL")
      // A commit is on disk before it is answered, and survives a loss of power.
      try run("PRAGMA synchronous = FULL")
    case .read: try run("PRAGMA query_only = ON")
    case .look: try readAlone()
    }
  }

  private func open(_ name: String, _ use: Use) throws {
    let access =
      switch use {
      case .make: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .write, .read: SQLITE_OPEN_READWRITE
      case .look: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      }
    // From here on `deinit` closes it, even if this throws.
    let code = unsafe sqlite3_open_v2(name, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK else { throw failure(code) }
    _ = unsafe sqlite3_extended_result_codes(handle, 1)
  }

  /// A file that was written in WAL mode needs a file of shared memory beside it. If none can be
  /// made, and nothing waits in the WAL, nobody writes the database either.
  private func readAlone() throws {
    do { try run("SELECT COUNT(*) FROM sqlite_master") } catch StoreError.unavailable(let reason) {
      var wal = stat()
      guard unsafe stat(path + "-wal", &wal) != 0 || wal.st_size == 0 else {
        throw StoreError.unavailable(
          reason + "; \(path)-wal holds a part of it: copy both to a folder that can be written")
      }
      _ = unsafe sqlite3_close_v2(handle)
      let name = path.utf8.map { byte in
        // What means something in a URI.
        byte >= 0x80 || [UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "%")].contains(byte)
          ? "%" + Hex.encode([byte]) : String(UnicodeScalar(byte))
      }.joined()
      try open("file:\(name)?immutable=1", .look)
    }
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

  /// By the descriptor alone: this process may not be able to reach the file by its name.
  func copy(to descriptor: Int32) throws {
    let code = auth_sqlite_write_into(descriptor)
    guard code == SQLITE_OK else { throw failure(code) }
    try run("VACUUM INTO 'file:copy?vfs=descriptor'")
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
      // A trigger says its error in other words.
      return code == auth_sqlite_constraint_trigger ? .failed(reason) : .conflict
    case SQLITE_FULL: return .full(path)
    // The shared memory beside the file could not grow.
    case SQLITE_IOERR where code == auth_sqlite_ioerr_shmsize: return .full(path)
    case SQLITE_IOERR where code == auth_sqlite_ioerr_write && auth_has_file_size_limit():
      return .unavailable(
        "\(path): \(reason): RLIMIT_FSIZE, or LimitFSIZE= of the unit, may be too small")
    case SQLITE_NOTADB: return .foreign("\(path) is not a file of SQLite")
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY,
      SQLITE_NOMEM, SQLITE_INTERRUPT, SQLITE_ABORT:
      return .unavailable("\(path): \(reason)")
    default: return .failed(reason)
    }
  }
}
