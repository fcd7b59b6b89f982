import AuthCore
import CPostgres
import Glibc

/// One connection to PostgreSQL. Its calls block, each with a deadline.
///
/// Unchecked, because libpq's handle is a pointer. Only the thread that took the connection out of
/// the pool uses it, until the connection is back. The pool's lock stands between two such threads.
@safe final class PostgresConnection: SQLConnection, @unchecked Sendable {
  private let handle: OpaquePointer
  private let time: Duration
  /// Prepared statements by their text. The value is the name of the statement at PostgreSQL.
  /// Behind a pooler, it is the text with parameters as PostgreSQL writes them.
  private var known: [String: String] = [:]
  /// Whether a pooler, such as PgBouncer, gives each transaction another session of PostgreSQL.
  /// Then no session keeps a statement or a setting for the next transaction.
  private(set) var isPooled = false
  /// Whether PostgreSQL may have changed something in the last use.
  private(set) var hasBegun = false
  /// PostgreSQL refuses to write: it has become a stand-by, or its disk is full.
  private(set) var isReadOnly = false
  let made = ContinuousClock.now

  /// PostgreSQL's limits: for a statement, for a lock, and for a program that went away in the
  /// middle of a transaction. PostgreSQL gives up before this program does.
  private static let limits = [
    ("statement_timeout", 4000), ("lock_timeout", 3000),
    ("idle_in_transaction_session_timeout", 15000),
  ]

  /// - Parameters:
  ///   - time: how long an answer may take.
  ///   - isReading: whether any of the URL's hosts will do. If not, the first host that can be
  ///     written is used.
  init(url: String, time: Interval, isReading: Bool) throws {
    self.time = .milliseconds(time.milliseconds)
    let options = Self.limits.map { "-c \($0)=\($1)" }.joined(separator: " ")
    // From here on `deinit` closes it, even if this throws.
    let attributes = isReading ? "any" : "read-write"
    var opened = try unsafe Self.connect(
      url, options + " -c client_min_messages=warning", attributes)
    if unsafe PQstatus(opened) != CONNECTION_OK,
      unsafe Self.line(PQerrorMessage(opened)).contains("startup parameter")
    {
      // PgBouncer takes no options, unless it is told to ignore them.
      unsafe PQfinish(opened)
      unsafe opened = try Self.connect(url, "", attributes)
    }
    unsafe handle = opened
    guard unsafe PQstatus(handle) == CONNECTION_OK, unsafe PQsetnonblocking(handle, 1) == 0 else {
      throw StoreError.unavailable(reason)
    }
    // libpq would print notices on stderr, where each line must be an object of the log.
    unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
    // A pooler gives the session another number.
    isPooled = true
    let process = try run("SELECT pg_backend_pid()").first?.integer(0)
    isPooled = unsafe process != Int64(PQbackendPID(handle))
    known = [:]
  }

  private static func connect(
    _ url: String, _ options: String, _ attributes: String
  ) throws -> OpaquePointer {
    // The URL overrides the keywords before `dbname`. A connection that has fallen silent is found
    // while it waits in the pool.
    let keywords = [
      "target_session_attrs", "keepalives_idle", "keepalives_interval", "keepalives_count",
      "dbname", "connect_timeout", "application_name", "options", "tcp_user_timeout",
      "client_encoding",
    ]
    let values = [
      attributes, "30", "10", "3", url, "4", "credd-authserver", options, "5000", "UTF8",
    ]
    let made = unsafe withConstants(keywords) { keywords in
      unsafe withConstants(values) { values in unsafe PQconnectdbParams(keywords, values, 1) }
    }
    guard let made = unsafe made else { throw StoreError.unavailable("out of memory") }
    return unsafe made
  }

  deinit { unsafe PQfinish(handle) }

  /// Ready for another statement.
  var isUsable: Bool {
    unsafe !isReadOnly && PQstatus(handle) == CONNECTION_OK
      && PQtransactionStatus(handle) == PQTRANS_IDLE
  }

  /// PostgreSQL has closed it.
  var isBroken: Bool { unsafe PQstatus(handle) != CONNECTION_OK }

  func read<T>(_ body: (any SQLConnection) throws -> T) throws -> T {
    hasBegun = false
    return try body(self)
  }

  func transaction<T>(_ body: (any SQLConnection) throws -> T) throws -> T {
    hasBegun = false
    try begin()
    hasBegun = true
    do {
      let result = try body(self)
      _ = try run("COMMIT", [])
      return result
    } catch {
      // A connection that still waits for an answer is not used again.
      if unsafe PQtransactionStatus(handle) == PQTRANS_INERROR
        || PQtransactionStatus(handle) == PQTRANS_INTRANS
      {
        _ = try? run("ROLLBACK", [])
      }
      throw error
    }
  }

  private func begin() throws {
    let limits = isPooled ? Self.limits.map { "; SET LOCAL \($0) = \($1)" }.joined() : ""
    let result = try unsafe answer(PQsendQuery(handle, "BEGIN" + limits))
    defer { unsafe PQclear(result) }
    try unsafe check(result)
  }

  func run(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
    let statement = try prepare(sql)
    let texts = values.map { value -> String? in
      switch value {
      case .text(let text): text
      case .integer(let number): String(number)
      case .null: nil
      }
    }
    // To PostgreSQL a text ends at a null byte, and no text has one.
    guard !texts.contains(where: { $0?.utf8.contains(0) ?? false }) else {
      throw StoreError.failed("a text holds a null byte")
    }
    let isSent = unsafe withConstants(texts) {
      let count = Int32(texts.count)
      return unsafe isPooled
        ? PQsendQueryParams(handle, statement, count, nil, $0, nil, nil, 0)
        : PQsendQueryPrepared(handle, statement, count, $0, nil, nil, 0)
    }
    let result = try unsafe answer(isSent)
    defer { unsafe PQclear(result) }
    try unsafe check(result)
    return unsafe Self.rows(result)
  }

  /// If the connection leads to PostgreSQL itself, a statement is parsed once on it.
  private func prepare(_ sql: String) throws -> String {
    if let statement = known[sql] { return statement }
    var text = ""
    var count = 0
    for character in sql {
      if character == "?" {
        count += 1
        text += "$\(count)"
      } else {
        text.append(character)
      }
    }
    guard !isPooled else {
      known[sql] = text
      return text
    }
    let name = "s\(known.count)"
    let result = try unsafe answer(PQsendPrepare(handle, name, text, Int32(count), nil))
    defer { unsafe PQclear(result) }
    try unsafe check(result)
    known[sql] = name
    return name
  }

  /// The answer to what was sent; the caller clears it.
  private func answer(_ isSent: Int32) throws -> OpaquePointer? {
    guard isSent == 1 else { throw StoreError.unavailable(reason) }
    let end = ContinuousClock.now + time
    let first = try unsafe nextResult(until: end)
    // Null says that there is no more, and makes the connection ready for the next statement.
    while let more = try? unsafe nextResult(until: end) { unsafe PQclear(more) }
    return unsafe first
  }

  private func nextResult(until end: ContinuousClock.Instant) throws -> OpaquePointer? {
    while true {
      let unsent = unsafe PQflush(handle)
      guard unsent >= 0 else { throw StoreError.unavailable(reason) }
      if unsent == 0, unsafe PQisBusy(handle) == 0 { return unsafe PQgetResult(handle) }
      let left = (end - ContinuousClock.now) / .milliseconds(1)
      guard left > 0 else { throw StoreError.unavailable("it does not answer") }
      var socket = pollfd(
        fd: unsafe PQsocket(handle), events: Int16(POLLIN | (unsent == 1 ? POLLOUT : 0)),
        revents: 0)
      _ = unsafe poll(&socket, 1, Int32(left.rounded(.up)))
      guard unsafe PQconsumeInput(handle) == 1 else { throw StoreError.unavailable(reason) }
    }
  }

  private func check(_ result: OpaquePointer?) throws {
    switch unsafe PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return
    default: break
    }
    let state = unsafe PQresultErrorField(result, Int32(UnicodeScalar("C").value))
      .map { unsafe String(cString: $0) }
    let reason = unsafe Self.line(PQresultErrorMessage(result))
    switch state {
    case "23505", "23503": throw StoreError.conflict
    case "40001", "40P01": throw StoreError.collided
    case "42501": throw StoreError.denied(reason)
    case "25006":
      isReadOnly = true
      throw StoreError.unavailable(reason)
    // Classes: connection, resources, operator's intervention, object in use or locked. No state at all:
    // the connection broke.
    case nil: throw StoreError.unavailable(reason)
    case .some(let state) where ["08", "53", "57", "55"].contains(state.prefix(2)):
      throw StoreError.unavailable(reason)
    default: throw StoreError.failed(reason)
    }
  }

  private static func rows(_ result: OpaquePointer?) -> [SQLRow] {
    let columns = unsafe PQnfields(result)
    // int8, int2, int4; all else is text.
    let numbers = (0..<columns).map { unsafe [20, 21, 23].contains(PQftype(result, $0)) }
    return unsafe (0..<PQntuples(result)).map { row in
      SQLRow(
        values: (0..<columns).map { column in
          guard unsafe PQgetisnull(result, row, column) == 0,
            let value = unsafe PQgetvalue(result, row, column)
          else { return .null }
          let text = unsafe String(cString: value)
          return numbers[Int(column)] ? Int64(text).map { .integer($0) } ?? .null : .text(text)
        })
    }
  }

  /// What libpq says of the last call.
  private var reason: String { unsafe Self.line(PQerrorMessage(handle)) }

  /// One line: libpq's own are several.
  private static func line(_ text: UnsafeMutablePointer<CChar>?) -> String {
    guard let text = unsafe text else { return "no reason" }
    return unsafe String(cString: text).split(separator: "\n").joined(separator: "; ")
  }
}

/// The texts in the form that libpq takes. libpq writes to none of them.
private func withConstants<R>(
  _ texts: [String?], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R
) -> R {
  unsafe withCStrings(texts) { pointers in
    unsafe body(UnsafeRawPointer(pointers).assumingMemoryBound(to: UnsafePointer<CChar>?.self))
  }
}
