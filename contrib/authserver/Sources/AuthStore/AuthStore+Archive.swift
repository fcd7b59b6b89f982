public import AuthCore

extension AuthStore {
  /// Where each archived chain starts: at the last entry of it that is in an archive.
  public func auditStarts() async throws -> [AuditHead] {
    // A copy of an earlier version, which is only read, has no such table.
    guard try await version() >= Migrations.versionWithArchives else { return [] }
    let rows = try await database.read {
      try $0.run("SELECT chain, sequence, hash FROM audit_starts ORDER BY chain")
    }
    return try rows.map(Self.head)
  }

  /// Hands over the old entries: of each chain the entries before the first one that is not older
  /// than `time`.
  ///
  /// - Returns: where the chains start once these entries are gone.
  /// - Throws: if a chain is broken.
  public func oldEntries(
    before time: Timestamp, _ take: (AuditEntry) throws -> Void
  ) async throws -> [AuditHead] {
    let starts = try await auditStarts()
    var new: [AuditHead] = []
    for head in try await auditHeads() {
      let start = starts.first { $0.chain == head.chain } ?? AuditHead(chain: head.chain)
      var verifier = AuditVerifier(chain: head.chain, after: start, heads: [head])
      var isOld = true
      while isOld {
        let page = try await auditPage(of: head.chain, after: verifier.head.sequence)
        let old = page.prefix { $0.time < time }
        for entry in old {
          verifier.take(entry)
          if let fault = verifier.fault { throw StoreError.failed("the audit is broken: " + fault) }
          try take(entry)
        }
        isOld = !page.isEmpty && old.count == page.count
      }
      if verifier.head != start { new.append(verifier.head) }
    }
    return new
  }

  /// Lets chains start behind the entries that an archive holds now. `removeArchived` then removes
  /// these entries.
  ///
  /// - Returns: false if another archive was made meanwhile.
  public func startAudit(
    after new: [AuditHead], insteadOf old: [AuditHead], trail: AuditTrail
  ) async throws -> Bool {
    let dialect = database.dialect
    return try await write(trail) { connection in
      if dialect == .postgres {
        try connection.run("LOCK TABLE audit_starts IN SHARE ROW EXCLUSIVE MODE")
      }
      let rows = try connection.run("SELECT chain, sequence, hash FROM audit_starts ORDER BY chain")
      guard try rows.map(Self.head) == old else { return false }
      for head in new {
        try connection.run(
          "INSERT INTO audit_starts (chain, sequence, hash) VALUES (?, ?, ?) ON CONFLICT (chain) "
            + "DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash",
          .text(head.chain), .integer(head.sequence), .text(head.hash))
      }
      return true
    }
  }

  /// Removes the entries that an archive holds, in small pieces, so that nobody waits for it. If it
  /// breaks off, the next call goes on.
  ///
  /// - Returns: how many entries there were.
  @discardableResult
  public func removeArchived() async throws -> Int {
    var all = 0
    for start in try await auditStarts() {
      while let count = try await removePiece(of: start.chain) { all += count }
    }
    return all
  }

  /// Keeps the place up to which entries were removed. Without it, PostgreSQL would look for the
  /// first entry by reading all entries that were removed before it.
  ///
  /// - Returns: nil if no entry was left.
  private func removePiece(of chain: String) async throws -> Int? {
    let lock = database.dialect.forUpdate
    return try await database.write { connection in
      let row = try connection.run(
        "SELECT removed, sequence FROM audit_starts WHERE chain = ?" + lock, .text(chain)
      ).first
      guard let row, case let (removed, last) = (try row.integer(0), try row.integer(1)),
        removed < last
      else { return nil }
      let end = min(removed + 1000, last)
      let gone = try connection.run(
        Self.removal, .text(chain), .integer(removed), .integer(end))
      try connection.run(
        "UPDATE audit_starts SET removed = ? WHERE chain = ?", .integer(end), .text(chain))
      return gone.count
    }
  }

  static let removal =
    "DELETE FROM audit WHERE chain = ? AND sequence > ? AND sequence <= ? RETURNING sequence"
}
