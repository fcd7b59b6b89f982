public import AuthCore

extension AuthStore {
  static let hostColumns =
    "h.name, h.vouches, h.signs_in, h.pools, h.may_link, h.may_adopt_guests, "
    + "h.expires, h.revoked, h.created"

  /// Nil where no host that is enrolled has this proof. Its validity in time is for
  /// ``Vouching`` to decide.
  public func facts(
    of proof: HostProof, session: Ticket?, user: String, pool: String, now: Timestamp
  ) async throws -> CallbackFacts? {
    let rest = """
      , u.identifier, u.kind, u.password, u.disabled, u.created, i.identity_id,
        s.id, s.hash, s.host, s.identifier, s.provider, s.created, s.expires
      FROM hosts h
      LEFT JOIN users u ON u.identifier = ?
      LEFT JOIN identities i ON i.pool = ? AND i.identifier = ?
      LEFT JOIN sessions s ON s.id = ?
      """
    let values: [SQLValue] = [
      .text(user), .text(pool), .text(user), .text(session?.id ?? ""),
    ]
    let row = try await row(of: proof, columns: rest, values, now)
    guard let row else { return nil }
    var facts = CallbackFacts(host: try Self.enrolment(row))
    facts.user = try Self.user(row, from: 9)
    facts.identityID = row.optionalText(14)
    if let session, let hash = row.optionalText(16), session.matches(hash: hash) {
      facts.session = SignInSession(
        id: try row.text(15), hash: hash, host: try row.text(17), identifier: try row.text(18),
        provider: try row.text(19), created: Timestamp(milliseconds: try row.integer(20)),
        expires: Timestamp(milliseconds: try row.integer(21)))
    }
    return facts
  }

  /// The host alone.
  public func host(of proof: HostProof, now: Timestamp) async throws -> Enrolment? {
    try await row(of: proof, columns: " FROM hosts h", [], now).map(Self.enrolment)
  }

  private func row(
    of proof: HostProof, columns rest: String, _ values: [SQLValue], _ now: Timestamp
  ) async throws -> SQLRow? {
    let select = "SELECT " + Self.hostColumns
    switch proof {
    case .certificate(let name):
      let sql = select + rest + " WHERE h.name = ?"
      return try await database.read { try $0.run(sql, values + [.text(name)]).first }
    case .ticket(let ticket):
      let sql =
        select + rest.replacing("FROM hosts h", with: ", t.hash FROM hosts h")
        + " JOIN host_tokens t ON t.host = h.name WHERE t.id = ? AND (t.expires IS NULL OR t.expires > ?)"
      let row = try await database.read {
        try $0.run(sql, values + [.text(ticket.id), .integer(now.milliseconds)]).first
      }
      guard let row, let hash = row.optionalText(row.values.count - 1), ticket.matches(hash: hash)
      else { return nil }
      return row
    }
  }

  static func enrolment(_ row: SQLRow) throws -> Enrolment {
    Enrolment(
      name: try row.text(0), vouches: try Patterns(row.text(1)), signsIn: try Patterns(row.text(2)),
      pools: try row.text(3).split(separator: " ").map(String.init),
      mayLink: try row.integer(4) != 0, mayAdoptGuests: try row.integer(5) != 0,
      expires: row.optionalInteger(6).map { Timestamp(milliseconds: $0) },
      revoked: row.optionalInteger(7).map { Timestamp(milliseconds: $0) },
      created: Timestamp(milliseconds: try row.integer(8)))
  }

  public func hosts() async throws -> [Enrolment] {
    try await database.read { connection in
      try connection.run("SELECT \(Self.hostColumns) FROM hosts h ORDER BY h.name")
        .map(Self.enrolment)
    }
  }

  /// Enrols a host. One that was revoked may be enrolled anew under its name.
  public func enrol(
    _ host: Enrolment, token: Ticket?, trail: AuditTrail? = nil
  ) async throws {
    _ = try await write(trail) { connection in
      try connection.run(
        "DELETE FROM host_tokens WHERE host IN (SELECT name FROM hosts WHERE name = ? AND revoked IS NOT NULL)",
        .text(host.name))
      try connection.run(
        "DELETE FROM hosts WHERE name = ? AND revoked IS NOT NULL", .text(host.name))
      try connection.run(
        """
        INSERT INTO hosts (name, vouches, signs_in, pools, may_link, may_adopt_guests, expires,
          revoked, created) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?)
        """,
        [
          .text(host.name), .text(host.vouches.text), .text(host.signsIn.text),
          .text(host.pools.joined(separator: " ")), .flag(host.mayLink), .flag(host.mayAdoptGuests),
          .optional(host.expires?.milliseconds), .integer(host.created.milliseconds),
        ])
      if let token { try Self.add(token, to: host, expires: host.expires, connection) }
      return true
    }
  }

  private static func add(
    _ token: Ticket, to host: Enrolment, expires: Timestamp?, _ connection: any SQLConnection
  ) throws {
    try connection.run(
      "INSERT INTO host_tokens (id, host, hash, created, expires) VALUES (?, ?, ?, ?, ?)",
      .text(token.id), .text(host.name), .text(token.hash), .integer(host.created.milliseconds),
      .optional(expires?.milliseconds))
  }

  /// Gives a second token; the earlier ones live on until `overlap` is over.
  ///
  /// - Returns: false where no such host is enrolled.
  public func rotate(
    host name: String, token: Ticket, earlierUntil overlap: Timestamp, expires: Timestamp?,
    now: Timestamp, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail) { connection in
      let rows = try connection.run(
        "SELECT \(Self.hostColumns) FROM hosts h WHERE h.name = ? AND h.revoked IS NULL",
        .text(name))
      guard var host = try rows.first.map(Self.enrolment) else { return false }
      try connection.run(
        "UPDATE host_tokens SET expires = ? WHERE host = ? AND (expires IS NULL OR expires > ?)",
        .integer(overlap.milliseconds), .text(name), .integer(overlap.milliseconds))
      try connection.run(
        "UPDATE hosts SET expires = ? WHERE name = ?", .optional(expires?.milliseconds), .text(name)
      )
      host.created = now
      try Self.add(token, to: host, expires: expires, connection)
      return true
    }
  }

  /// Takes a host's tokens and sign-ins away.
  ///
  /// - Returns: false where no such host is enrolled.
  public func revoke(
    host name: String, now: Timestamp, trail: AuditTrail? = nil
  ) async throws -> Bool {
    try await write(trail) { connection in
      let rows = try connection.run(
        "UPDATE hosts SET revoked = ? WHERE name = ? AND revoked IS NULL RETURNING name",
        .integer(now.milliseconds), .text(name))
      try connection.run("DELETE FROM host_tokens WHERE host = ?", .text(name))
      try connection.run("DELETE FROM sessions WHERE host = ?", .text(name))
      return !rows.isEmpty
    }
  }
}
