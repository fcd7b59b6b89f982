public import AuthCore

extension AuthStore {
  static let hostColumns =
    "h.name, h.vouches, h.signs_in, h.pools, h.may_link, h.may_adopt_guests, "
    + "h.expires, h.revoked, h.created, "
    + "g.name, g.vouches, g.signs_in, g.pools, g.may_link, g.may_adopt_guests, g.created"
  static let hostTables = "hosts h " + groupOfHost
  static let groupOfHost = "LEFT JOIN host_groups g ON g.name = h.host_group"

  static func enrolment(_ row: SQLRow) throws -> Enrolment {
    Enrolment(
      name: try row.text(0), rights: try rights(row, from: 1),
      group: row.optionalText(9) == nil ? nil : try group(row, from: 9),
      expires: row.optionalInteger(6).map { Timestamp(milliseconds: $0) },
      revoked: row.optionalInteger(7).map { Timestamp(milliseconds: $0) },
      created: Timestamp(milliseconds: try row.integer(8)))
  }

  static func rights(_ row: SQLRow, from column: Int) throws -> HostRights {
    HostRights(
      vouches: Patterns(stored: try row.text(column)),
      signsIn: Patterns(stored: try row.text(column + 1)),
      pools: try row.text(column + 2).split(separator: " ").map(String.init),
      mayLink: try row.integer(column + 3) != 0, mayAdoptGuests: try row.integer(column + 4) != 0)
  }

  /// In the order of ``rights(_:from:)``.
  static func values(_ rights: HostRights) -> [SQLValue] {
    [
      .text(rights.vouches.text), .text(rights.signsIn.text),
      .text(rights.pools.joined(separator: " ")), .flag(rights.mayLink),
      .flag(rights.mayAdoptGuests),
    ]
  }

  public func hosts() async throws -> [Enrolment] {
    try await database.read { connection in
      try connection.run("SELECT \(Self.hostColumns) FROM \(Self.hostTables) ORDER BY h.name")
        .map(Self.enrolment)
    }
  }

  /// Hosts with an enrolment that will end, the first to end first.
  ///
  /// - Parameter limit: how many hosts at most.
  public func ends(
    after now: Timestamp, before last: Timestamp, limit: Int = .max
  ) async throws -> [(name: String, end: Timestamp)] {
    let rows = try await database.read {
      try $0.run(
        "SELECT name, expires FROM hosts WHERE revoked IS NULL AND expires > ? AND expires <= ? "
          + "ORDER BY expires, name LIMIT ?",
        .integer(now.milliseconds), .integer(last.milliseconds), .integer(Int64(limit)))
    }
    return try rows.map {
      (name: try $0.text(0), end: Timestamp(milliseconds: try $0.integer(1)))
    }
  }

  /// Enrols a host. A revoked host may be enrolled anew under its name.
  ///
  /// - Parameter avoidsAccounts: throws ``CoveredAccount`` if the host would speak for an account.
  /// - Returns: whether the host was enrolled before.
  @discardableResult
  public func enrol(
    _ host: Enrolment, token: Ticket?, avoidsAccounts: Bool = false, trail: AuditTrail? = nil
  ) async throws -> Bool {
    let dialect = database.dialect
    return try await write(noting: { _ in trail }) { connection in
      let values =
        Self.values(host.rights) + [
          .optional(host.group?.name), .optional(host.expires?.milliseconds),
          .integer(host.created.milliseconds), .text(host.name),
        ]
      // If a token was stolen before the host was revoked, the audit still knows it as this host's.
      try connection.run(
        """
        UPDATE host_tokens SET expires = created WHERE host IN
          (SELECT name FROM hosts WHERE name = ? AND revoked IS NOT NULL)
        """, .text(host.name))
      let again = try connection.run(
        """
        UPDATE hosts SET vouches = ?, signs_in = ?, pools = ?, may_link = ?, may_adopt_guests = ?,
          host_group = ?, expires = ?, created = ?, revoked = NULL, certificates_from = ?
          WHERE name = ? AND revoked IS NOT NULL RETURNING name
        """,
        // A certificate that was stolen before this does not count any more. Certificates have
        // times in whole seconds.
        values.dropLast() + [
          .integer(host.created.milliseconds / 1000 * 1000), .text(host.name),
        ])
      if again.isEmpty {
        try connection.run(
          """
          INSERT INTO hosts (vouches, signs_in, pools, may_link, may_adopt_guests, host_group,
            expires, created, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          """, values)
      }
      if avoidsAccounts { try Self.checkAccounts("h.name", host.name, dialect, connection) }
      if let token { try Self.add(token, to: host.name, host.created, connection) }
      return !again.isEmpty
    }
  }

  /// A token ends with the enrolment. It gets another end only when another token takes its place.
  private static func add(
    _ token: Ticket, to host: String, _ now: Timestamp, _ connection: any SQLConnection
  ) throws {
    try connection.run(
      "INSERT INTO host_tokens (id, host, hash, created, expires) VALUES (?, ?, ?, ?, NULL)",
      .text(token.id), .text(host), .text(token.hash), .integer(now.milliseconds))
  }

  /// The row is locked.
  private static func enrolled(
    _ name: String, _ lock: String, _ connection: any SQLConnection
  ) throws -> Enrolment? {
    try connection.run(
      "SELECT \(hostColumns) FROM \(hostTables) WHERE h.name = ? AND h.revoked IS NULL" + lock,
      .text(name)
    ).first.map(enrolment)
  }

  /// Changes an enrolment. Its tokens stay.
  ///
  /// - Parameters:
  ///   - avoidsAccounts: as in ``enrol(_:token:avoidsAccounts:trail:)``.
  ///   - trail: the note of what was changed; nil if nothing was.
  /// - Returns: nil if no such host is enrolled.
  public func change(
    host name: String, avoidsAccounts: Bool = false,
    trail: @escaping @Sendable (Change<Enrolment>) -> AuditTrail? = { _ in nil },
    _ change: @escaping @Sendable (inout Enrolment) throws -> Void
  ) async throws -> Change<Enrolment>? {
    let dialect = database.dialect
    let lock = dialect.forUpdate(of: "h")
    return try await write(noting: { $0.flatMap(trail) }) { connection in
      guard let before = try Self.enrolled(name, lock, connection) else { return nil }
      var host = before
      try change(&host)
      try connection.run(
        """
        UPDATE hosts SET vouches = ?, signs_in = ?, pools = ?, may_link = ?, may_adopt_guests = ?,
          host_group = ?, expires = ? WHERE name = ?
        """,
        Self.values(host.rights) + [
          .optional(host.group?.name), .optional(host.expires?.milliseconds), .text(name),
        ])
      if avoidsAccounts { try Self.checkAccounts("h.name", name, dialect, connection) }
      return Change(before: before, after: host)
    }
  }

  /// Gives a second token. The earlier tokens live on until `overlap` is over. They live no longer
  /// than they would have without the second token, and no longer than the enrolment.
  ///
  /// - Parameter expires: the enrolment's new end, if one is asked for.
  /// - Returns: nil if no such host is enrolled.
  public func rotate(
    host name: String, token: Ticket, earlierUntil overlap: Timestamp, expires: Lifetime? = nil,
    now: Timestamp, trail: @escaping @Sendable (Rotation) -> AuditTrail? = { _ in nil }
  ) async throws -> Rotation? {
    let lock = database.dialect.forUpdate(of: "h")
    return try await write(noting: { $0.flatMap(trail) }) { connection in
      guard let host = try Self.enrolled(name, lock, connection) else { return nil }
      let end = host.renewedEnd(expires, at: now)
      let last = [overlap, host.expires, end].compactMap(\.self).min() ?? overlap
      try connection.run(
        "UPDATE host_tokens SET expires = ? WHERE host = ? AND (expires IS NULL OR expires > ?)",
        .integer(last.milliseconds), .text(name), .integer(last.milliseconds))
      let latest = try connection.run(
        "SELECT MAX(expires) FROM host_tokens WHERE host = ?", .text(name)
      ).first?.optionalInteger(0)
      try connection.run(
        "UPDATE hosts SET expires = ? WHERE name = ?", .optional(end?.milliseconds), .text(name))
      try Self.add(token, to: name, now, connection)
      return Rotation(
        earlierUntil: latest.map { Timestamp(milliseconds: $0) }, expiredBefore: host.expires,
        expires: end)
    }
  }

  /// Takes a host's tokens and sign-ins away.
  ///
  /// - Returns: false if no such host is enrolled.
  public func revoke(
    host name: String, now: Timestamp, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail, isUrgent: true) { connection in
      let rows = try connection.run(
        "UPDATE hosts SET revoked = ? WHERE name = ? AND revoked IS NULL RETURNING name",
        .integer(now.milliseconds), .text(name))
      // The rows of ended tokens stay for a while. By them the audit names the host of an ended
      // token.
      try connection.run(
        "UPDATE host_tokens SET expires = ? WHERE host = ? AND (expires IS NULL OR expires > ?)",
        .integer(now.milliseconds), .text(name), .integer(now.milliseconds))
      try connection.run("DELETE FROM sessions WHERE host = ?", .text(name))
      return !rows.isEmpty
    }
  }
}

/// What was, and what is.
public struct Change<Value: Sendable & Equatable>: Sendable, Equatable {
  public let before: Value
  public let after: Value
}

/// What a second token means for the first.
public struct Rotation: Sendable, Equatable {
  /// The latest end of the earlier tokens, which may be past; nil if there are none.
  public let earlierUntil: Timestamp?
  public let expiredBefore: Timestamp?
  /// The enrolment's end now.
  public let expires: Timestamp?
}
