public import AuthCore

/// Who asks, and what a callback is decided by.
extension AuthStore {
  /// What a callback is decided by. Nil if no enrolled host has this proof. ``Vouching`` decides
  /// whether the proof is valid at this time.
  public func facts(
    of proof: HostProof, session: Ticket?, user: String, pool: String, now: Timestamp
  ) async throws -> CallbackFacts? {
    let values: [SQLValue] = [
      .text(user), .text(pool), .text(user), .text(session?.id ?? ""),
    ]
    let row = try await row(of: proof, Self.callback, values, now)
    guard let row else { return nil }
    var facts = CallbackFacts(host: try Self.enrolment(row))
    facts.user = try Self.user(row, from: 16)
    facts.identityID = row.optionalText(21)
    if let session, let hash = row.optionalText(23), session.matches(hash: hash) {
      facts.session = SignInSession(
        id: try row.text(22), hash: hash, host: try row.text(24), identifier: try row.text(25),
        provider: try row.text(26), created: Timestamp(milliseconds: try row.integer(27)),
        expires: Timestamp(milliseconds: try row.integer(28)))
    }
    return facts
  }

  /// The host alone.
  public func host(of proof: HostProof, now: Timestamp) async throws -> Enrolment? {
    try await row(of: proof, Self.alone, [], now).map(Self.enrolment)
  }

  /// The statements that find a host by either proof, with more columns of more tables.
  private struct Statements {
    let byCertificate: String
    let byTicket: String

    init(_ columns: String = "", _ tables: String = "") {
      byCertificate =
        "SELECT \(AuthStore.hostColumns)\(columns) FROM \(AuthStore.hostTables) \(tables) "
        + "WHERE h.name = ? AND (h.certificates_from IS NULL OR h.certificates_from <= ?)"
      byTicket =
        "SELECT \(AuthStore.hostColumns)\(columns), t.hash FROM host_tokens t "
        + "JOIN hosts h ON h.name = t.host \(AuthStore.groupOfHost) \(tables) "
        + "WHERE t.id = ? AND (t.expires IS NULL OR t.expires > ?)"
    }
  }

  private static let alone = Statements()
  private static let callback = Statements(
    """
    , u.identifier, u.kind, u.password, u.disabled, u.created, i.identity_id,
    s.id, s.hash, s.host, s.identifier, s.provider, s.created, s.expires
    """,
    """
    LEFT JOIN users u ON u.identifier = ?
    LEFT JOIN identities i ON i.pool = ? AND i.identifier = ?
    LEFT JOIN sessions s ON s.id = ?
    """)

  private func row(
    of proof: HostProof, _ statements: Statements, _ values: [SQLValue], _ now: Timestamp
  ) async throws -> SQLRow? {
    switch proof {
    case .certificate(let certificate):
      return try await database.read {
        try $0.run(
          statements.byCertificate,
          values + [.text(certificate.name), .integer(certificate.notBefore.milliseconds)]
        ).first
      }
    case .ticket(let ticket):
      let row = try await database.read {
        try $0.run(
          statements.byTicket, values + [.text(ticket.id), .integer(now.milliseconds)]
        ).first
      }
      guard let row, let hash = row.optionalText(row.values.count - 1), ticket.matches(hash: hash)
      else { return nil }
      return row
    }
  }

  /// Why a proof lets nobody in.
  public struct ProofFault: Sendable, Equatable {
    public enum Reason: String, Sendable {
      case unknown
      /// The id of a token with another secret.
      case wrong
      case revoked
      /// A second token has replaced this one, and the time in which both count is over.
      case replaced
      /// A certificate from before the host was enrolled anew.
      case outdated
      case expired
    }

    public let reason: Reason
    /// Whose it is, or was.
    public let host: String?

    public init(reason: Reason, host: String?) {
      self.reason = reason
      self.host = host
    }
  }

  /// What the audit says of a proof that was refused.
  public func fault(of proof: HostProof, now: Timestamp) async throws -> ProofFault {
    let columns = "SELECT h.name, h.revoked, h.expires"
    let row = try await database.read { connection in
      switch proof {
      case .certificate(let certificate):
        try connection.run(
          columns + ", h.certificates_from FROM hosts h WHERE h.name = ?", .text(certificate.name)
        ).first
      case .ticket(let ticket):
        try connection.run(
          columns + ", t.hash, t.expires FROM host_tokens t JOIN hosts h ON h.name = t.host "
            + "WHERE t.id = ?", .text(ticket.id)
        ).first
      }
    }
    guard let row else { return ProofFault(reason: .unknown, host: nil) }
    var reason = ProofFault.Reason.expired
    switch proof {
    case .ticket(let ticket):
      if let end = row.optionalInteger(4), end <= now.milliseconds { reason = .replaced }
      if row.optionalInteger(1) != nil { reason = .revoked }
      if !ticket.matches(hash: try row.text(3)) { reason = .wrong }
    case .certificate(let certificate):
      if let from = row.optionalInteger(3), certificate.notBefore.milliseconds < from {
        reason = .outdated
      }
      if row.optionalInteger(1) != nil { reason = .revoked }
    }
    return ProofFault(reason: reason, host: try row.text(0))
  }
}
