public import AuthCore

/// An invitation to register one name, as an administrator sees it.
public struct Invitation: Sendable, Equatable {
  public var name: String
  public var created: Timestamp
  public var expires: Timestamp
  public var used: Timestamp?

  public func isOpen(at now: Timestamp) -> Bool { used == nil && now < expires }
}

extension AuthStore {
  public func invite(
    _ invitation: Ticket, name: String, expires: Timestamp, now: Timestamp,
    trail: AuditTrail? = nil
  ) async throws {
    _ = try await write(trail) { connection in
      try connection.run(
        "INSERT INTO invitations (id, hash, name, created, expires) VALUES (?, ?, ?, ?, ?)",
        .text(invitation.id), .text(invitation.hash), .text(name), .integer(now.milliseconds),
        .integer(expires.milliseconds))
      return true
    }
  }

  /// Whether an invitation is good for that name. It is asked before anything is spent on the name.
  public func isInvited(
    _ user: Identifier, by invitation: Ticket, now: Timestamp
  ) async throws -> Bool {
    try await database.read { connection in
      let rows = try connection.run(
        "SELECT hash FROM invitations WHERE id = ? AND name = ? AND used IS NULL AND expires > ?",
        .text(invitation.id), .text(user.name), .integer(now.milliseconds))
      return try rows.first.map { invitation.matches(hash: try $0.text(0)) } ?? false
    }
  }

  static func use(
    _ invitation: Ticket, for user: Identifier, _ now: Timestamp, _ connection: any SQLConnection
  ) throws -> Bool {
    let rows = try connection.run(
      "UPDATE invitations SET used = ?, used_by = ? WHERE id = ? AND hash = ? AND used IS NULL "
        + "AND expires > ? AND name = ? RETURNING id",
      .integer(now.milliseconds), .text(user.text), .text(invitation.id), .text(invitation.hash),
      .integer(now.milliseconds), .text(user.name))
    return !rows.isEmpty
  }

  /// All that were made, the latest first.
  public func invitations() async throws -> [Invitation] {
    let rows = try await database.read {
      try $0.run(
        "SELECT name, created, expires, used FROM invitations ORDER BY created DESC, id")
    }
    return try rows.map { row in
      Invitation(
        name: try row.text(0), created: Timestamp(milliseconds: try row.integer(1)),
        expires: Timestamp(milliseconds: try row.integer(2)),
        used: row.optionalInteger(3).map { Timestamp(milliseconds: $0) })
    }
  }

  /// Takes the open invitations for a name back.
  ///
  /// - Returns: false if there is none.
  public func revokeInvitations(
    for name: String, now: Timestamp, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail) { connection in
      let rows = try connection.run(
        "UPDATE invitations SET expires = ? WHERE name = ? AND used IS NULL AND expires > ? "
          + "RETURNING id",
        .integer(now.milliseconds), .text(name), .integer(now.milliseconds))
      return !rows.isEmpty
    }
  }
}
