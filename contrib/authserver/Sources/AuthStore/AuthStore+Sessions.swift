public import AuthCore

/// Sign-ins.
extension AuthStore {
  static func endSessions(
    of identifier: String, _ connection: any SQLConnection
  ) throws {
    try connection.run("DELETE FROM sessions WHERE identifier = ?", .text(identifier))
    try connection.run(
      "UPDATE sample_devices SET revoked = 1 WHERE identifier = ?", .text(identifier))
  }

  /// Opens a sign-in for a password that was found right on a host.
  ///
  /// The check took a moment. In it the password may have been changed, the user disabled or
  /// deleted, or the host revoked. Then the sign-in is too late.
  ///
  /// - Parameter password: what the server keeps of the password.
  /// - Returns: false if it is too late.
  public func open(
    _ session: SignInSession, on host: Enrolment, password: String, trail: AuditTrail? = nil
  ) async throws -> Bool {
    let lock = database.dialect.forUpdate
    return try await write(trail) { connection in
      let enrolled = try connection.run(
        "SELECT name FROM hosts WHERE name = ? AND revoked IS NULL AND created = ?" + lock,
        .text(host.name), .integer(host.created.milliseconds))
      guard !enrolled.isEmpty,
        try Self.isStill(password, of: session.identifier, lock, connection)
      else { return false }
      try connection.run(
        "INSERT INTO sessions (id, hash, host, identifier, provider, created, expires) "
          + "VALUES (?, ?, ?, ?, ?, ?, ?)",
        .text(session.id), .text(session.hash), .text(session.host), .text(session.identifier),
        .text(session.provider), .integer(session.created.milliseconds),
        .integer(session.expires.milliseconds))
      return true
    }
  }

  /// Whether this is what the server keeps of the user's password, and the user is not disabled.
  /// Locks the row.
  static func isStill(
    _ password: String, of identifier: String, _ lock: String, _ connection: any SQLConnection
  ) throws -> Bool {
    let user = try connection.run(
      "SELECT password, disabled FROM users WHERE identifier = ?" + lock, .text(identifier)
    ).first
    return try user.map { try $0.optionalText(0) == password && $0.integer(1) == 0 } ?? false
  }

  /// The sign-in; nil if the host has no such sign-in.
  public func close(
    session: Ticket, host: String, now: Timestamp
  ) async throws -> (identifier: String, provider: String)? {
    let row = try await database.write { connection in
      try connection.run(
        "DELETE FROM sessions WHERE id = ? AND hash = ? AND host = ? AND expires > ? "
          + "RETURNING identifier, provider",
        .text(session.id), .text(session.hash), .text(host), .integer(now.milliseconds)
      ).first
    }
    return try row.map { (identifier: try $0.text(0), provider: try $0.text(1)) }
  }
}
