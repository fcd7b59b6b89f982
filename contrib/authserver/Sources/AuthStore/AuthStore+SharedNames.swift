import AuthCore

/// With shared names, a host must not speak for somebody who has registered here.
public struct CoveredAccount: Error, Equatable, Sendable {
  public let account: String
  public let host: String
}

extension AuthStore {
  /// Lets only one transaction at a time change names. A transaction that registers a name looks
  /// for a host that speaks for it, and the other way round. Neither transaction sees what the
  /// other has not committed.
  static func lockNames(_ dialect: SQLDialect, _ connection: any SQLConnection) throws {
    guard dialect == .postgres else { return }
    // A number that only this program uses. The lock ends with the transaction.
    try connection.run("SELECT pg_advisory_xact_lock(7205759403792794)")
  }

  /// Looks at hosts as they are now, within the transaction that has changed them.
  ///
  /// - Parameters:
  ///   - column: the column by which the hosts are chosen.
  ///   - name: its value in the chosen hosts.
  static func checkAccounts(
    _ column: String, _ name: String, _ dialect: SQLDialect, _ connection: any SQLConnection
  ) throws {
    try lockNames(dialect, connection)
    let hosts = try connection.run(
      "SELECT \(hostColumns) FROM \(hostTables) WHERE h.revoked IS NULL AND \(column) = ?",
      .text(name)
    ).map(enrolment)
    // Hosts of a group have its patterns in common.
    var seen: Set<String> = []
    for host in hosts {
      for word in host.allRights.flatMap(\.vouches.words)
      where word.utf8.contains(UInt8(ascii: "{")) || seen.insert(word).inserted {
        for account in try accounts(near: word, of: host.name, dialect, connection) {
          guard let name = (try? Identifier(account))?.name, host.vouchesForOneLike(name) else {
            continue
          }
          throw CoveredAccount(account: account, host: host.name)
        }
      }
    }
  }

  /// The accounts that a pattern may cover. The indexes find them. Until this transaction ends, no
  /// other transaction can register a name, or enrol a host.
  private static func accounts(
    near word: String, of host: String, _ dialect: SQLDialect, _ connection: any SQLConnection
  ) throws -> [String] {
    let (plain, folded, isWhole) = Patterns.beginning(of: word, host: host)
    let prefix = Identifier.Kind.account.prefix
    // Names with shared names, and those from before.
    let values = [prefix + folded, plain, prefix + plain].flatMap { start -> [SQLValue] in
      // No name has this noncharacter, and no name with this beginning comes after it.
      isWhole ? [.text(start)] : [.text(start), .text(start + "\u{10FFFF}")]
    }
    return try connection.run(accountsNear(isWhole: isWhole, dialect), values)
      .map { try $0.text(0) }
  }

  /// The statement that finds these accounts: by a whole name, or by how names begin.
  static func accountsNear(isWhole: Bool, _ dialect: SQLDialect) -> String {
    let conditions = ["unique_key", "identifier", "identifier"].map { column in
      guard !isWhole else { return "\(column) = ?" }
      let column = dialect.bytewise(column)
      return "\(column) >= ? AND \(column) < ?"
    }
    return "SELECT identifier FROM users WHERE kind = 'account' AND "
      + "(\(conditions.joined(separator: " OR ")))"
  }

  /// The host with an enrolment that covers a name. A revoked host counts too, because Cognito
  /// still has an identity for the name.
  static func covering(
    _ user: Identifier, _ dialect: SQLDialect, _ connection: any SQLConnection
  ) throws -> String? {
    try lockNames(dialect, connection)
    let rows = try connection.run(
      "SELECT h.name, h.vouches, g.vouches FROM \(hostTables)")
    let name = ComparedName(user.name, folded: true)
    // Most hosts have the same patterns as others.
    var known: [String: (patterns: Patterns, cover: Bool?)] = [:]
    for row in rows {
      let host = try row.text(0)
      for text in [row.optionalText(1), row.optionalText(2)].compactMap(\.self) {
        if known[text] == nil {
          let patterns = Patterns(stored: text)
          let cover = text.utf8.contains(UInt8(ascii: "{")) ? nil : patterns.cover(name, host: "")
          known[text] = (patterns, cover)
        }
        guard let (patterns, cover) = known[text] else { continue }
        if cover ?? patterns.cover(name, host: host) { return host }
      }
    }
    return nil
  }
}
