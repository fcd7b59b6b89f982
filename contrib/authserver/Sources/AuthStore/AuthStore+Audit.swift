public import AuthCore

/// What is written to the audit with an act, in one transaction: both or neither.
public struct AuditTrail: Sendable, Equatable {
  public var chain: String
  public var note: AuditNote

  public init(chain: String, _ note: AuditNote) {
    self.chain = chain
    self.note = note
  }
}

extension AuthStore {
  /// Writes, and appends to the audit where that did something.
  ///
  /// - Parameters:
  ///   - trail: nil for what the audit need not know.
  ///   - hasActed: whether an outcome is one for the audit.
  func write<T: Sendable>(
    _ trail: AuditTrail?, where hasActed: @escaping @Sendable (T) -> Bool,
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await write(noting: { hasActed($0) ? trail : nil }, body)
  }

  /// The same where what is noted depends on what was done.
  func write<T: Sendable>(
    noting trail: @escaping @Sendable (T) -> AuditTrail?,
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    let lock = database.dialect.forUpdate
    return try await database.write { connection in
      let outcome = try body(connection)
      if let trail = trail(outcome) {
        _ = try Self.append([trail.note], to: trail.chain, lock: lock, connection)
      }
      return outcome
    }
  }

  /// The same for an act that says whether it did something.
  func write(
    _ trail: AuditTrail?, _ body: @escaping @Sendable (any SQLConnection) throws -> Bool
  ) async throws -> Bool {
    try await write(trail, where: { $0 }, body)
  }

  /// Appends to a chain. Its end is one row, which is locked meanwhile, so that a chain never forks.
  static func append(
    _ notes: [AuditNote], to chain: String, lock: String, _ connection: any SQLConnection
  ) throws -> AuditHead {
    try connection.run(
      "INSERT INTO audit_heads (chain, sequence, hash) VALUES (?, 0, '') ON CONFLICT DO NOTHING",
      .text(chain))
    let row = try connection.run(
      "SELECT sequence, hash FROM audit_heads WHERE chain = ?" + lock, .text(chain)
    ).first
    var head = AuditHead(
      chain: chain, sequence: try row?.integer(0) ?? 0, hash: try row?.text(1) ?? "")
    var entries: [AuditEntry] = []
    for note in notes {
      let entry = AuditEntry(note, after: head)
      head = AuditHead(chain: chain, sequence: entry.sequence, hash: entry.hash)
      entries.append(entry)
    }
    guard !entries.isEmpty else { return head }
    for start in stride(from: 0, to: entries.count, by: 32) {
      try insert(entries[start..<min(start + 32, entries.count)], connection)
    }
    try connection.run(
      "UPDATE audit_heads SET sequence = ?, hash = ? WHERE chain = ?", .integer(head.sequence),
      .text(head.hash), .text(chain))
    return head
  }

  private static func insert(
    _ entries: ArraySlice<AuditEntry>, _ connection: any SQLConnection
  ) throws {
    let rows = entries.map { _ in "(?, ?, ?, ?, ?, ?, ?)" }.joined(separator: ", ")
    try connection.run(
      "INSERT INTO audit (chain, sequence, time, event, detail, previous, hash) VALUES " + rows,
      entries.flatMap { entry -> [SQLValue] in
        [
          .text(entry.chain), .integer(entry.sequence), .integer(entry.time.milliseconds),
          .text(entry.event), .text(entry.detail), .text(entry.previous), .text(entry.hash),
        ]
      })
  }

  /// The ends of all chains, as they are recorded beside the entries.
  public func auditHeads() async throws -> [AuditHead] {
    let rows = try await database.read {
      try $0.run("SELECT chain, sequence, hash FROM audit_heads ORDER BY chain")
    }
    return try rows.map {
      AuditHead(chain: try $0.text(0), sequence: try $0.integer(1), hash: try $0.text(2))
    }
  }

  /// The recorded end of one chain; nil where it has none yet.
  public func auditHead(of chain: String) async throws -> AuditHead? {
    try await auditHeads().first { $0.chain == chain }
  }

  /// The latest entries, the earliest first.
  public func auditEntries(
    latest limit: Int, event: String? = nil
  ) async throws -> [AuditEntry] {
    let rows = try await database.read { connection in
      try connection.run(
        "SELECT chain, sequence, time, event, detail, previous, hash FROM audit "
          + (event == nil ? "" : "WHERE event = ? ")
          + "ORDER BY time DESC, chain DESC, sequence DESC LIMIT ?",
        (event.map { [.text($0)] } ?? []) + [.integer(Int64(limit))])
    }
    return try rows.map(Self.entry).reversed()
  }

  private static func entry(_ row: SQLRow) throws -> AuditEntry {
    AuditEntry(
      chain: try row.text(0), sequence: try row.integer(1),
      time: Timestamp(milliseconds: try row.integer(2)), event: try row.text(3),
      detail: try row.text(4), previous: try row.text(5), hash: try row.text(6))
  }

  /// Follows every chain from its start.
  ///
  /// - Parameter heads: ends of chains that the log has kept.
  /// - Returns: the ends, and what is wrong.
  public func verifyAudit(
    heads: [AuditHead]
  ) async throws -> (ends: [AuditHead], faults: [String]) {
    let recorded = try await auditHeads()
    let stored = try await database.read {
      try $0.run("SELECT DISTINCT chain FROM audit").map { try $0.text(0) }
    }
    let chains = Set(recorded.map(\.chain) + stored + heads.map(\.chain)).sorted()
    var ends: [AuditHead] = []
    var faults: [String] = []
    for chain in chains {
      let start = recorded.first { $0.chain == chain }
      var verifier = AuditVerifier(chain: chain, heads: heads + (start.map { [$0] } ?? []))
      try await follow(chain, &verifier)
      // Servers go on writing meanwhile. An entry and the chain's end are written together, so an end
      // that is read after the entries is never behind them.
      let end = try await auditHead(of: chain)
      verifier.finish(
        recorded: end ?? AuditHead(chain: chain, sequence: -1), isGrowing: end != start)
      ends.append(verifier.head)
      if let fault = verifier.fault { faults.append(fault) }
    }
    return (ends, faults)
  }

  private func follow(_ chain: String, _ verifier: inout AuditVerifier) async throws {
    var last: Int64 = 0
    while verifier.fault == nil {
      let after = last
      let page = try await database.read { connection in
        try connection.run(
          "SELECT chain, sequence, time, event, detail, previous, hash FROM audit "
            + "WHERE chain = ? AND sequence > ? ORDER BY sequence LIMIT 1000",
          .text(chain), .integer(after)
        ).map(Self.entry)
      }
      guard let end = page.last else { return }
      for entry in page { verifier.take(entry) }
      last = end.sequence
    }
  }
}
