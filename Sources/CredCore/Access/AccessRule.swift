/// Decides which callers may use a profile. Without lists, every uid of this host may. With lists,
/// the users, groups and units on them may. `allow_executables` narrows that further.
public struct AccessRule: Sendable, Hashable {
  /// In a list of users: every user is meant.
  public static let everybody = "*"
  /// Names, or uids in digits.
  public private(set) var users: [String]
  /// The ids of the groups. A group that does not exist has no id, and admits no user.
  public private(set) var groups: Set<UInt32>
  /// Patterns of units, with `*`, `?` and `[…]`.
  public private(set) var units: [GlobPattern]
  /// The caller's program must be in each of these lists.
  public private(set) var executables: [[ExecutableRule]]
  /// Users that may ask on behalf of others: names, or uids in digits.
  public let impersonators: [String]
  /// Whether the profile has no list at all, not even one of groups that do not exist.
  public var isOpen: Bool { hasNoLists && executables.isEmpty }
  /// Whether there is no list of users, groups or units.
  private var hasNoLists: Bool
  /// Whether the profile names users, groups or units by itself, be it everybody.
  private let hasOwnLists: Bool

  /// - Parameter groupID: finds a group's id by its name.
  public init(_ profile: ProfileSettings, groupID: (String) -> UInt32?) {
    users = profile.allowUsers.filter { $0 != Self.everybody }
    groups = Set(profile.allowGroups.compactMap { Self.id($0) ?? groupID($0) })
    units = profile.allowUnits.map(GlobPattern.init)
    let list = ExecutableRule.list(profile.allowExecutables)
    executables = list.isEmpty ? [] : [list]
    impersonators = profile.impersonate
    hasOwnLists =
      !profile.allowUsers.isEmpty || !profile.allowGroups.isEmpty || !profile.allowUnits.isEmpty
    hasNoLists = profile.allowUsers.contains(Self.everybody) || !hasOwnLists
  }

  /// The rule of a derived profile. If the profile has lists, they alone count. If it has none, all
  /// lists of the source count, and the profile's programs narrow them further. Who may act for
  /// others is never inherited.
  func inheriting(from source: AccessRule?) -> AccessRule {
    guard let source, !hasOwnLists else { return self }
    var rule = self
    rule.users = source.users
    rule.groups = source.groups
    rule.units = source.units
    rule.hasNoLists = source.hasNoLists
    rule.executables = source.executables + executables
    return rule
  }

  /// Whether the rule depends on the caller's unit.
  public var needsUnit: Bool { !units.isEmpty }
  /// Whether the rule depends on the caller's groups, which may change during a connection.
  public var needsGroups: Bool { !groups.isEmpty }
  /// Whether the rule depends on the caller's program.
  public var needsExecutable: Bool { !executables.isEmpty }
  /// The paths of programs for which the rule depends on the content of the file.
  public var digestPaths: [GlobPattern] {
    executables.joined().filter { !$0.digests.isEmpty }.map(\.path)
  }

  public func allows(_ caller: Caller) -> Bool { admits(caller) && allowsExecutable(of: caller) }

  /// Whether a caller may ask on behalf of another user. The caller itself need not be admitted for
  /// that.
  public func allows(_ caller: Caller, for other: Caller) -> Bool {
    allowsImpersonation(by: caller) && admits(other)
  }

  /// Whether a caller may ask on behalf of others.
  public func allowsImpersonation(by caller: Caller) -> Bool {
    impersonators.contains { Self.means($0, caller) } && allowsExecutable(of: caller)
  }

  /// Whether a user may be admitted, as far as that is known without a process. A unit or a program
  /// of the user may be admitted later.
  public func mayAdmit(_ user: Caller) -> Bool {
    admits(user) || needsUnit && !user.isUnmapped
  }

  /// Whether the list of users names the caller, not only everybody.
  public func names(_ caller: Caller) -> Bool { Self.names(caller, in: users) }

  /// Whether a list of names, or uids in digits, has the caller.
  public static func names(_ caller: Caller, in list: [String]) -> Bool {
    list.contains { means($0, caller) }
  }

  /// Which keys refuse a caller whom ``allows(_:)`` does not admit.
  public func refusal(of caller: Caller) -> String {
    if admits(caller) { return "allow_executables does not name its program" }
    if caller.isUnmapped { return "the kernel has no uid for it on this host" }
    let keys = [
      users.isEmpty ? nil : "allow_users", groups.isEmpty ? nil : "allow_groups",
      units.isEmpty ? nil : "allow_units",
    ].compactMap(\.self)
    guard !keys.isEmpty else { return "allow_groups names no group of this host" }
    return keys.joined(separator: ", ") + (keys.count > 1 ? " do" : " does") + " not name it"
  }

  /// Which key refuses a caller that may not ask on behalf of others.
  public func refusalOfImpersonation(by caller: Caller) -> String {
    Self.names(caller, in: impersonators)
      ? "allow_executables does not name its program" : "impersonate does not name it"
  }

  private func allowsExecutable(of caller: Caller) -> Bool {
    guard needsExecutable else { return true }
    guard let executable = caller.executable else { return false }
    return executables.allSatisfy { $0.contains { $0.allows(executable) } }
  }

  /// Whether the user, groups or unit are admitted.
  private func admits(_ caller: Caller) -> Bool {
    if users.contains(where: { Self.means($0, caller) }) { return true }
    // The overflow uid stands for any user of any namespace. It is admitted only if the list of
    // users names it.
    guard !caller.isUnmapped else { return false }
    if hasNoLists { return true }
    if caller.groups.contains(where: groups.contains) { return true }
    guard let unit = caller.unit else { return false }
    return units.contains { $0.matches(unit) }
  }

  /// Digits are an id, even if some user has these digits as the name.
  private static func id(_ entry: String) -> UInt32? {
    entry.utf8.allSatisfy { $0.isDigit } ? UInt32(entry) : nil
  }

  /// Compares bytes: Swift takes composed and decomposed accents as equal, the host as two users.
  private static func means(_ entry: String, _ caller: Caller) -> Bool {
    if let uid = id(entry) { return uid == caller.uid }
    return caller.userName?.utf8.elementsEqual(entry.utf8) ?? false
  }
}

/// A path of `allow_executables` with the digests that follow it.
public struct ExecutableRule: Sendable, Hashable {
  /// The prefix of a digest in the configuration.
  static let digestPrefix = "sha256:"

  /// An absolute path with `*`, `?` and `[…]`.
  let path: GlobPattern
  /// The file's digest must be one of these; empty for any file.
  let digests: Set<String>

  /// - Parameter words: paths, each followed by its digests. The reader has checked them.
  static func list(_ words: [String]) -> [ExecutableRule] {
    var rules: [(path: String, digests: Set<String>)] = []
    for word in words {
      if word.hasPrefix(digestPrefix), !rules.isEmpty {
        rules[rules.count - 1].digests.insert(
          String(word.dropFirst(digestPrefix.count)).lowercased())
      } else {
        rules.append((word, []))
      }
    }
    return rules.map { ExecutableRule(path: GlobPattern($0.path), digests: $0.digests) }
  }

  func allows(_ executable: Caller.Executable) -> Bool {
    guard path.matches(executable.path) else { return false }
    return digests.isEmpty || executable.sha256.map(digests.contains) ?? false
  }
}
