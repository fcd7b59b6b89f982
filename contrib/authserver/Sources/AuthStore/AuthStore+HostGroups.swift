public import AuthCore

/// Groups of hosts.
extension AuthStore {
  private static let groupColumns =
    "g.name, g.vouches, g.signs_in, g.pools, g.may_link, g.may_adopt_guests, g.created"

  static func group(_ row: SQLRow, from column: Int = 0) throws -> HostGroup {
    HostGroup(
      name: try row.text(column), rights: try rights(row, from: column + 1),
      created: Timestamp(milliseconds: try row.integer(column + 6)))
  }

  public func groups() async throws -> [HostGroup] {
    try await database.read { connection in
      try connection.run("SELECT \(Self.groupColumns) FROM host_groups g ORDER BY g.name")
        .map { try Self.group($0) }
    }
  }

  /// Throws ``StoreError/conflict`` if there is a group of that name.
  public func add(_ group: HostGroup, trail: AuditTrail? = nil) async throws {
    _ = try await write(trail) { connection in
      try connection.run(
        "INSERT INTO host_groups (name, vouches, signs_in, pools, may_link, may_adopt_guests, "
          + "created) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [.text(group.name)] + Self.values(group.rights) + [.integer(group.created.milliseconds)])
      return true
    }
  }

  /// Changes what the hosts of a group may do.
  ///
  /// - Parameters:
  ///   - avoidsAccounts: throws ``CoveredAccount`` if a host of the group would speak for an
  ///     account.
  ///   - trail: the note of what was changed; nil if nothing was.
  /// - Returns: nil if there is no such group.
  public func change(
    group name: String, avoidsAccounts: Bool = false,
    trail: @escaping @Sendable (Change<HostGroup>) -> AuditTrail? = { _ in nil },
    _ change: @escaping @Sendable (inout HostGroup) throws -> Void
  ) async throws -> Change<HostGroup>? {
    let dialect = database.dialect
    let lock = dialect.forUpdate
    return try await write(noting: { $0.flatMap(trail) }) { connection in
      let rows = try connection.run(
        "SELECT \(Self.groupColumns) FROM host_groups g WHERE g.name = ?" + lock, .text(name))
      guard let before = try rows.first.map({ try Self.group($0) }) else { return nil }
      var group = before
      try change(&group)
      try connection.run(
        "UPDATE host_groups SET vouches = ?, signs_in = ?, pools = ?, may_link = ?, "
          + "may_adopt_guests = ? WHERE name = ?", Self.values(group.rights) + [.text(name)])
      if avoidsAccounts { try Self.checkAccounts("g.name", name, dialect, connection) }
      return Change(before: before, after: group)
    }
  }

  /// What became of a group that was to be removed.
  public enum Removal: Sendable, Equatable {
    case done
    case unknown
    /// These are in it still.
    case hasHosts([String])
  }

  /// Removes a group without hosts. Revoked hosts do not count.
  public func remove(group name: String, trail: AuditTrail? = nil) async throws -> Removal {
    try await write(trail, where: { $0 == .done }) { connection in
      let hosts = try connection.run(
        "SELECT name FROM hosts WHERE host_group = ? AND revoked IS NULL ORDER BY name", .text(name)
      )
      guard hosts.isEmpty else { return .hasHosts(try hosts.map { try $0.text(0) }) }
      try connection.run("UPDATE hosts SET host_group = NULL WHERE host_group = ?", .text(name))
      let rows = try connection.run(
        "DELETE FROM host_groups WHERE name = ? RETURNING name", .text(name))
      return rows.isEmpty ? .unknown : .done
    }
  }
}
