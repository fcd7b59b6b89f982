import AuthCore

/// With shared names, a host must not speak for somebody who has registered here.
public struct CoveredAccount: Error, Equatable, Sendable {
  public let account: String
  public let host: String
}

extension AuthStore {
  /// Whoever registers a name, or lets a host speak for it, looks for the other within a transaction,
  /// and neither sees what the other one has not committed: one after the other.
  static func lockNames(_ dialect: SQLDialect, _ connection: any SQLConnection) throws {
    guard dialect == .postgres else { return }
    // A number of this program's own; the lock ends with the transaction.
    try connection.run("SELECT pg_advisory_xact_lock(7205759403792794)")
  }

  /// Looks at hosts as they are now, within the transaction that has changed them.
  ///
  /// - Parameter column: whose value is the name, of those hosts that are looked at.
  static func checkAccounts(
    _ column: String, _ name: String, _ dialect: SQLDialect, _ connection: any SQLConnection
  ) throws {
    try lockNames(dialect, connection)
    let hosts = try connection.run(
      "SELECT \(hostColumns) FROM \(hostTables) WHERE h.revoked IS NULL AND \(column) = ?",
      .text(name)
    ).map(enrolment)
    let accounts = try connection.run(
      "SELECT identifier FROM users WHERE kind = 'account' ORDER BY identifier")
    for account in try accounts.map({ try $0.text(0) }) {
      guard let name = (try? Identifier(account))?.name,
        let host = hosts.first(where: { $0.vouchesForOneLike(name) })
      else { continue }
      throw CoveredAccount(account: account, host: host.name)
    }
  }

  static func covering(
    _ user: Identifier, _ dialect: SQLDialect, _ connection: any SQLConnection
  ) throws -> String? {
    try lockNames(dialect, connection)
    return try connection.run("SELECT \(hostColumns) FROM \(hostTables) WHERE h.revoked IS NULL")
      .map(enrolment).first { $0.vouchesForOneLike(user.name) }?.name
  }
}
