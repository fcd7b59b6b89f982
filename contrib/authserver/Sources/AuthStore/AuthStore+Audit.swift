public import AuthCore

/// What is written to the audit with an act, in one transaction: both are written, or neither.
public struct AuditTrail: Sendable, Equatable {
  public var chain: String
  public var note: AuditNote

  public init(chain: String, _ note: AuditNote) {
    self.chain = chain
    self.note = note
  }
}

extension AuthStore {
  /// Writes. If that has done something, appends to the audit too.
  ///
  /// - Parameters:
  ///   - trail: nil for what the audit need not know.
  ///   - isUrgent: on a full disk too.
  ///   - hasActed: whether an outcome belongs in the audit.
  func write<T: Sendable>(
    _ trail: AuditTrail?, isUrgent: Bool = false,
    where hasActed: @escaping @Sendable (T) -> Bool,
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await write(noting: { hasActed($0) ? trail : nil }, isUrgent: isUrgent, body)
  }

  /// Writes, and appends a note that depends on what was done.
  func write<T: Sendable>(
    noting trail: @escaping @Sendable (T) -> AuditTrail?, isUrgent: Bool = false,
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    let lock = database.dialect.forUpdate
    let write: @Sendable (any SQLConnection) throws -> T = { connection in
      let outcome = try body(connection)
      if let trail = trail(outcome) {
        _ = try Self.append([trail.note], to: trail.chain, lock: lock, connection)
      }
      return outcome
    }
    return isUrgent ? try await database.writeUrgently(write) : try await database.write(write)
  }

  /// Writes. If `body` says that it has done something, appends to the audit too.
  func write(
    _ trail: AuditTrail?, isUrgent: Bool = false,
    _ body: @escaping @Sendable (any SQLConnection) throws -> Bool
  ) async throws -> Bool {
    try await write(trail, isUrgent: isUrgent, where: { $0 }, body)
  }

  /// Entries of one statement.
  private static let entriesAtOnce = 32

  /// Appends to a chain. Its end is one row, which is locked meanwhile, so that a chain never forks.
  ///
  /// - Parameter known: the last entry of the notes, if they were written already and the answer was
  ///   lost.
  static func append(
    _ notes: [AuditNote], to chain: String, unlessAt known: AuditHead? = nil, lock: String,
    _ connection: any SQLConnection
  ) throws -> AuditHead {
    let start = try lockHead(of: chain, lock, connection)
    if let known, try holds(known, connection) { return start }
    let (entries, head) = chained(notes, after: start)
    guard !entries.isEmpty else { return head }
    for start in stride(from: 0, to: entries.count, by: entriesAtOnce) {
      try insert(entries[start..<min(start + entriesAtOnce, entries.count)], connection)
    }
    try connection.run(
      "UPDATE audit_heads SET sequence = ?, hash = ? WHERE chain = ?", .integer(head.sequence),
      .text(head.hash), .text(chain))
    return head
  }

  private static func holds(
    _ entry: AuditHead, _ connection: any SQLConnection
  ) throws -> Bool {
    try !connection.run(
      "SELECT 1 FROM audit WHERE chain = ? AND sequence = ? AND hash = ?", .text(entry.chain),
      .integer(entry.sequence), .text(entry.hash)
    ).isEmpty
  }

  private static func chained(
    _ notes: [AuditNote], after start: AuditHead
  ) -> (entries: [AuditEntry], head: AuditHead) {
    var head = start
    let entries = notes.map { note in
      let entry = AuditEntry(note, after: head)
      head = AuditHead(chain: head.chain, sequence: entry.sequence, hash: entry.hash)
      return entry
    }
    return (entries, head)
  }

  /// Appends to a chain by one statement, if the chain still ends at `start`. A transaction would wait
  /// for five answers of the database.
  ///
  /// - Returns: where the chain ends with these notes, and whether they are there.
  func append(
    _ notes: [AuditNote], after start: AuditHead
  ) async throws -> (head: AuditHead, isDone: Bool) {
    let (entries, head) = Self.chained(notes, after: start)
    guard (1...Self.entriesAtOnce).contains(entries.count) else { return (head, false) }
    let isDone = try await database.writeAlone { connection -> Bool in
      let values = entries.map { _ in "(CAST(? AS BIGINT), CAST(? AS BIGINT), ?, ?, ?, ?)" }
      let rows = try connection.run(
        "WITH moved AS (UPDATE audit_heads SET sequence = ?, hash = ? "
          + "WHERE chain = ? AND sequence = ? AND hash = ? RETURNING chain) "
          + "INSERT INTO audit (chain, sequence, time, event, detail, previous, hash) "
          + "SELECT moved.chain, entry.* FROM moved, (VALUES " + values.joined(separator: ", ")
          + ") AS entry RETURNING sequence",
        [
          .integer(head.sequence), .text(head.hash), .text(start.chain), .integer(start.sequence),
          .text(start.hash),
        ] + entries.flatMap { Self.values($0).dropFirst() })
      return !rows.isEmpty
    }
    return (head, isDone ?? false)
  }

  /// The end of a chain, locked so that nobody else appends meanwhile.
  private static func lockHead(
    of chain: String, _ lock: String, _ connection: any SQLConnection
  ) throws -> AuditHead {
    func end() throws -> AuditHead? {
      try connection.run(
        "SELECT chain, sequence, hash FROM audit_heads WHERE chain = ?" + lock, .text(chain)
      ).first.map(head)
    }
    // It is there but for the first entry.
    if let head = try end() { return head }
    try connection.run(
      "INSERT INTO audit_heads (chain, sequence, hash) VALUES (?, 0, '') ON CONFLICT DO NOTHING",
      .text(chain))
    return try end() ?? AuditHead(chain: chain)
  }

  private static func insert(
    _ entries: ArraySlice<AuditEntry>, _ connection: any SQLConnection
  ) throws {
    let rows = entries.map { _ in "(?, ?, ?, ?, ?, ?, ?)" }.joined(separator: ", ")
    try connection.run(
      "INSERT INTO audit (chain, sequence, time, event, detail, previous, hash) VALUES " + rows,
      entries.flatMap(values))
  }

  private static func values(_ entry: AuditEntry) -> [SQLValue] {
    [
      .text(entry.chain), .integer(entry.sequence), .integer(entry.time.milliseconds),
      .text(entry.event), .text(entry.detail), .text(entry.previous), .text(entry.hash),
    ]
  }

  /// The ends of all chains, as they are recorded beside the entries.
  public func auditHeads() async throws -> [AuditHead] {
    let rows = try await database.read {
      try $0.run("SELECT chain, sequence, hash FROM audit_heads ORDER BY chain")
    }
    return try rows.map(Self.head)
  }

  static func head(_ row: SQLRow) throws -> AuditHead {
    AuditHead(chain: try row.text(0), sequence: try row.integer(1), hash: try row.text(2))
  }

  /// The recorded end of one chain; nil if the chain has none yet.
  public func auditHead(of chain: String) async throws -> AuditHead? {
    try await auditHeads().first { $0.chain == chain }
  }
}

/// Which entries are asked for.
public struct AuditFilter: Sendable, Equatable {
  public var event: String?
  /// The enrolled host, and the user as `user list` shows it.
  public var host: String?
  public var user: String?
  public var since: Timestamp?
  /// Entries of this time and later are not shown.
  public var until: Timestamp?

  public init(event: String? = nil, host: String? = nil, user: String? = nil) {
    self.event = event
    self.host = host
    self.user = user
  }

  fileprivate var isWide: Bool { event == nil && host == nil && user == nil }

  /// What stands in the condition, and its values.
  fileprivate func condition(_ dialect: SQLDialect) -> (sql: String, values: [SQLValue]) {
    var sql = ""
    var values: [SQLValue] = []
    if let event {
      sql += " AND event = ?"
      values.append(.text(event))
    }
    // Of a merge, both users.
    for (names, value) in [(["host"], host), (["user", "source", "destination"], user)] {
      guard let value else { continue }
      sql +=
        " AND (" + names.map { _ in dialect.contains("detail") }.joined(separator: " OR ") + ")"
      values += names.map { .text(AuditNote.member($0, value)) }
    }
    return (sql, values)
  }
}

extension AuthStore {
  private static let auditColumns = "chain, sequence, time, event, detail, previous, hash"
  /// How many entries one statement looks at. PostgreSQL ends a statement that takes long.
  private static let auditPage = 20_000

  /// The latest entries that fit the filter, the earliest first.
  public func auditEntries(
    latest limit: Int, _ filter: AuditFilter = AuditFilter()
  ) async throws -> [AuditEntry] {
    let (condition, values) = filter.condition(database.dialect)
    let since = filter.since?.milliseconds ?? 0
    var end = filter.until?.milliseconds ?? .max
    var found: [AuditEntry] = []
    let page = filter.isWide ? min(limit, Self.auditPage) : Self.auditPage
    while found.count < limit {
      let (until, left) = (end, limit - found.count)
      let (start, rows) = try await database.read { connection in
        let start = try connection.run(
          "SELECT MIN(time) FROM (SELECT time FROM audit WHERE time < ? AND time >= ? "
            + "ORDER BY time DESC LIMIT ?) AS page",
          .integer(until), .integer(since), .integer(Int64(page))
        ).first?.optionalInteger(0)
        guard let start else { return (Int64?.none, [SQLRow]()) }
        return try (
          start,
          connection.run(
            "SELECT \(Self.auditColumns) FROM audit WHERE time < ? AND time >= ?" + condition
              + " ORDER BY time DESC, chain DESC, sequence DESC LIMIT ?",
            [.integer(until), .integer(start)] + values + [.integer(Int64(left))])
        )
      }
      guard let start else { break }
      found += try rows.map(Self.entry)
      end = start
    }
    return found.reversed()
  }

  private static func entry(_ row: SQLRow) throws -> AuditEntry {
    AuditEntry(
      chain: try row.text(0), sequence: try row.integer(1),
      time: Timestamp(milliseconds: try row.integer(2)), event: try row.text(3),
      detail: try row.text(4), previous: try row.text(5), hash: try row.text(6))
  }

  /// The next entries of a chain in their order; none after its end.
  public func auditPage(of chain: String, after sequence: Int64) async throws -> [AuditEntry] {
    try await database.read { connection in
      try connection.run(
        "SELECT \(Self.auditColumns) FROM audit WHERE chain = ? AND sequence > ? "
          + "ORDER BY sequence LIMIT 1000",
        .text(chain), .integer(sequence)
      ).map(Self.entry)
    }
  }
}
