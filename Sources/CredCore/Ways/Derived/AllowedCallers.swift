/// Whom a profile admits, as far as its text says it: who is in a group, or whose a unit is, only the host
/// knows.
struct AllowedCallers {
  let isEverybody: Bool
  let users: Set<String>
  let groups: Set<String>
  let units: Set<String>
  /// A caller's program must be in each of these lists.
  let programs: Set<[String]>

  /// - Parameter profiles: a profile and those above it, the nearest first.
  init(_ profiles: ArraySlice<ProfileSettings>) {
    var programs: Set<[String]> = []
    var rest = profiles
    // What AccessRule.inheriting does with the rules.
    while let next = rest.first {
      if !next.allowExecutables.isEmpty { programs.insert(next.allowExecutables) }
      guard !next.hasOwnLists, rest.count > 1 else { break }
      rest.removeFirst()
    }
    let rule = rest.first
    isEverybody =
      rule.map { !$0.hasOwnLists || $0.allowUsers.contains(AccessRule.everybody) } ?? true
    users = Set(rule?.allowUsers ?? [])
    groups = Set(rule?.allowGroups ?? [])
    units = Set(rule?.allowUnits ?? [])
    self.programs = programs
  }

  /// Whether another profile certainly admits all of them.
  func are(within other: AllowedCallers) -> Bool {
    guard other.programs.isSubset(of: programs) else { return false }
    if other.isEverybody { return true }
    return !isEverybody && users.isSubset(of: other.users) && groups.isSubset(of: other.groups)
      && units.isSubset(of: other.units)
  }

  /// Whether another profile may admit some of them.
  func mayMeet(_ other: AllowedCallers) -> Bool {
    if isEverybody || other.isEverybody { return true }
    guard hasUsersAlone && other.hasUsersAlone else { return true }
    return !users.isDisjoint(with: other.users)
  }

  private var hasUsersAlone: Bool { groups.isEmpty && units.isEmpty }

  /// The users and groups that another profile certainly does not admit, for a message.
  func others(than other: AllowedCallers) -> (key: String, words: String)? {
    // Somebody whom a group or a unit admits may be any user.
    guard !other.isEverybody, other.hasUsersAlone else { return nil }
    if isEverybody { return ("allow_users", "every user") }
    if let user = users.subtracting(other.users).min() {
      return ("allow_users", "user \(user.singleQuoted)")
    }
    return groups.min().map { ("allow_groups", "group \($0.singleQuoted)") }
  }
}

extension ProfileSettings {
  /// Whether it names users, groups or units by itself.
  var hasOwnLists: Bool { !allowUsers.isEmpty || !allowGroups.isEmpty || !allowUnits.isEmpty }
}
