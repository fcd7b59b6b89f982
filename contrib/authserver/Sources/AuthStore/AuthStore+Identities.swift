public import AuthCore

/// Which identity a user has in a pool, as Cognito has said.
public struct IdentityRecord: Sendable, Equatable {
  public var pool: String
  public var user: Identifier
  public var identityID: String

  public init(pool: String, user: Identifier, identityID: String) {
    self.pool = pool
    self.user = user
    self.identityID = identityID
  }
}

extension AuthStore {
  public func identities(of identifier: String) async throws -> [(pool: String, id: String)] {
    let rows = try await database.read { connection in
      try connection.run(
        "SELECT pool, identity_id FROM identities WHERE identifier = ? ORDER BY pool",
        .text(identifier))
    }
    return try rows.map { (pool: try $0.text(0), id: try $0.text(1)) }
  }

  public func forgetIdentity(
    of identifier: String, pool: String, trail: AuditTrail? = nil
  ) async throws {
    _ = try await write(trail) { connection in
      try connection.run(
        "DELETE FROM identities WHERE identifier = ? AND pool = ?", .text(identifier), .text(pool))
      return true
    }
  }

  /// Reserves a guest's identity for a user. Two hosts may claim the identity at the same moment,
  /// while Cognito shows no user on it to either of them.
  ///
  /// - Returns: false if it is reserved for another user.
  public func adopt(
    _ identityID: String, pool: String, for user: Identifier
  ) async throws -> Bool {
    try await database.write { connection in
      try connection.run(
        "INSERT INTO adoptions (pool, identity_id, identifier) VALUES (?, ?, ?) "
          + "ON CONFLICT DO NOTHING",
        .text(pool), .text(identityID), .text(user.text))
      let row = try connection.run(
        "SELECT identifier FROM adoptions WHERE pool = ? AND identity_id = ?", .text(pool),
        .text(identityID)
      ).first
      return row?.optionalText(0).map { $0.utf8.elementsEqual(user.text.utf8) } ?? false
    }
  }

  /// Keeps identities and writes to the audit, at once. When this returns, both are on disk.
  ///
  /// - Parameter end: the end of the chain after the caller's last entry; nil if it is not known.
  /// - Returns: the end of the chain.
  @discardableResult
  public func commit(
    _ identities: [IdentityRecord] = [], notes: [AuditNote], chain: String,
    after end: AuditHead? = nil, now: Timestamp
  ) async throws -> AuditHead {
    var known: AuditHead?
    if let end, identities.isEmpty, !notes.isEmpty {
      let (head, isDone) = try await append(notes, after: end)
      if isDone { return head }
      // Or it was done, and the answer was lost.
      known = head
    }
    let lock = database.dialect.forUpdate
    return try await database.write { [known] connection in
      // In one order everywhere, so that two servers do not wait for each other.
      for record in identities.sorted(by: { ($0.user.text, $0.pool) < ($1.user.text, $1.pool) }) {
        // An account has its row already, or was deleted meanwhile.
        if record.user.kind == .vouched { try Self.note(record.user, now, connection) }
        try connection.run(
          "INSERT INTO identities (pool, identifier, identity_id, updated) VALUES (?, ?, ?, ?) "
            + "ON CONFLICT (pool, identifier) DO UPDATE SET identity_id = excluded.identity_id, "
            + "updated = excluded.updated",
          .text(record.pool), .text(record.user.text), .text(record.identityID),
          .integer(now.milliseconds))
      }
      return try Self.append(notes, to: chain, unlessAt: known, lock: lock, connection)
    }
  }
}
