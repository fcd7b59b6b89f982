public import AuthCore

extension AuthStore {
  private static let userColumns = "identifier, kind, password, disabled, created"

  static func user(_ row: SQLRow, from column: Int = 0) throws -> UserRecord? {
    guard let identifier = row.optionalText(column) else { return nil }
    return UserRecord(
      identifier: identifier,
      kind: Identifier.Kind(rawValue: try row.text(column + 1)) ?? .vouched,
      password: row.optionalText(column + 2), isDisabled: try row.integer(column + 3) != 0,
      created: Timestamp(milliseconds: try row.integer(column + 4)))
  }

  public func user(_ identifier: String) async throws -> UserRecord? {
    try await database.read { connection in
      try connection.run(
        "SELECT \(Self.userColumns) FROM users WHERE identifier = ?", .text(identifier)
      ).first.flatMap { try Self.user($0) }
    }
  }

  /// Finds a registered user by name, whatever its case. A user with exactly this name comes first.
  public func user(matching identifier: Identifier) async throws -> UserRecord? {
    try await database.read { connection in
      let users = try connection.run(
        "SELECT \(Self.userColumns) FROM users WHERE identifier = ? OR unique_key = ?",
        .text(identifier.text), .text(identifier.uniqueKey)
      ).compactMap { try Self.user($0) }.filter { $0.kind == identifier.kind }
      return users.first { $0.identifier.utf8.elementsEqual(identifier.text.utf8) } ?? users.first
    }
  }

  public func users() async throws -> [UserRecord] {
    try await database.read { connection in
      try connection.run("SELECT \(Self.userColumns) FROM users ORDER BY identifier")
        .compactMap { try Self.user($0) }
    }
  }

  /// What stands in the way of a registration.
  public enum Registration: Sendable, Equatable {
    case done
    case nameTaken
    /// Used, too old, or for another name.
    case invitationUnknown
    /// A host vouches for that name, and names are shared.
    case nameCovered(host: String)
  }

  /// - Parameters:
  ///   - invitation: is used up by this.
  ///   - avoidsEnrolments: `shared_names = yes`.
  public func register(
    _ user: Identifier, password: String, invitation: Ticket?, avoidsEnrolments: Bool,
    now: Timestamp, trail: AuditTrail? = nil
  ) async throws -> Registration {
    let dialect = database.dialect
    do {
      return try await write(trail, where: { $0 == .done }) { connection in
        if avoidsEnrolments, let host = try Self.covering(user, dialect, connection) {
          return .nameCovered(host: host)
        }
        if let invitation, try !Self.use(invitation, for: user, now, connection) {
          return .invitationUnknown
        }
        try connection.run(
          "INSERT INTO users (identifier, unique_key, kind, password, disabled, created) "
            + "VALUES (?, ?, ?, ?, 0, ?)",
          .text(user.text), .text(user.uniqueKey), .text(user.kind.rawValue), .text(password),
          .integer(now.milliseconds))
        return .done
      }
    } catch StoreError.conflict {
      return .nameTaken
    }
  }

  /// Ends the user's sign-ins too. False if there is no such user.
  public func setPassword(
    _ password: String, of identifier: String, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail) { connection in
      let rows = try connection.run(
        "UPDATE users SET password = ? WHERE identifier = ? AND kind <> 'vouched' RETURNING kind",
        .text(password), .text(identifier))
      try Self.endSessions(of: identifier, connection)
      return !rows.isEmpty
    }
  }

  /// Renews a hash. False if the password was changed meanwhile.
  public func replacePassword(
    _ old: String, by new: String, of identifier: String
  ) async throws -> Bool {
    try await database.write { connection in
      let rows = try connection.run(
        "UPDATE users SET password = ? WHERE identifier = ? AND password = ? RETURNING identifier",
        .text(new), .text(identifier), .text(old))
      return !rows.isEmpty
    }
  }

  /// Disabling ends the user's sign-ins too. False if there is no such user.
  public func setDisabled(
    _ isDisabled: Bool, _ identifier: String, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail, isUrgent: isDisabled) { connection in
      let rows = try connection.run(
        "UPDATE users SET disabled = ? WHERE identifier = ? RETURNING kind", .flag(isDisabled),
        .text(identifier))
      if isDisabled { try Self.endSessions(of: identifier, connection) }
      return !rows.isEmpty
    }
  }

  /// Makes a vouched user known before its first callback, so that it can be disabled.
  public func note(vouched user: Identifier, now: Timestamp) async throws {
    try await database.write { try Self.note(user, now, $0) }
  }

  static func note(
    _ user: Identifier, _ now: Timestamp, _ connection: any SQLConnection
  ) throws {
    try connection.run(
      "INSERT INTO users (identifier, unique_key, kind, password, disabled, created) "
        + "VALUES (?, ?, ?, NULL, 0, ?) ON CONFLICT DO NOTHING",
      .text(user.text), .text(user.uniqueKey), .text(user.kind.rawValue),
      .integer(now.milliseconds))
  }

  /// Forgets a user's password, devices and sign-ins. The audit keeps its entries.
  ///
  /// The name stays taken, and the user is refused, because Cognito still has the identity of the
  /// name: the next person who registered the name would get this identity. Names that hosts vouch
  /// for stay taken too, because people may register them once `shared_names` is set.
  ///
  /// - Parameter freesName: whether the name may be registered again.
  /// - Returns: false if there is no such user.
  public func delete(
    user identifier: String, freesName: Bool = false, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail) { connection in
      try Self.endSessions(of: identifier, connection)
      try connection.run("DELETE FROM sample_devices WHERE identifier = ?", .text(identifier))
      try connection.run("DELETE FROM identities WHERE identifier = ?", .text(identifier))
      if !freesName {
        let rows = try connection.run(
          "UPDATE users SET password = NULL, disabled = 1 WHERE identifier = ? "
            + "RETURNING identifier", .text(identifier))
        return !rows.isEmpty
      }
      let rows = try connection.run(
        "DELETE FROM users WHERE identifier = ? RETURNING identifier", .text(identifier))
      return !rows.isEmpty
    }
  }
}
