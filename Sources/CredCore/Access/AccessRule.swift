/// Who may use a profile. Everyone with a uid of this host, where no list is given; else whoever
/// stands on one of them. `allow_executables` narrows that, whoever else is admitted.
public struct AccessRule: Sendable, Equatable {
  /// Names, or uids in digits.
  public let users: [String]
  /// Already looked up: a group that does not exist admits nobody.
  public let groups: Set<UInt32>
  /// Units with `*`, `?` and `[…]`.
  public let units: [GlobPattern]
  /// The caller's program must be one of these, where there are any.
  public let executables: [ExecutableRule]
  /// Who may ask in the name of others: names, or uids in digits.
  public let impersonators: [String]
  /// Whether no list was given at all, not even one whose groups do not exist.
  public let isOpen: Bool
  /// Whether nobody is excluded for who they are.
  private let hasNoLists: Bool

  /// - Parameter groupID: the id of a group by its name.
  public init(_ profile: ProfileSettings, groupID: (String) -> UInt32?) {
    users = profile.allowUsers
    groups = Set(profile.allowGroups.compactMap { Self.id($0) ?? groupID($0) })
    units = profile.allowUnits.map(GlobPattern.init)
    executables = ExecutableRule.list(profile.allowExecutables)
    impersonators = profile.impersonate
    hasNoLists =
      profile.allowUsers.isEmpty && profile.allowGroups.isEmpty && profile.allowUnits.isEmpty
    isOpen = hasNoLists && executables.isEmpty
  }

  /// Whether the decision depends on the caller's name, which may take time to find out.
  public var needsUserName: Bool { users.contains { Self.id($0) == nil } }
  /// Whether it depends on the caller's unit.
  public var needsUnit: Bool { !units.isEmpty }
  /// Whether it depends on the caller's groups, which change while connections live.
  public var needsGroups: Bool { !groups.isEmpty }
  /// Whether it depends on the caller's program.
  public var needsExecutable: Bool { !executables.isEmpty }
  /// Whether it depends on what the program's file holds.
  public var needsDigest: Bool { executables.contains { !$0.digests.isEmpty } }
  /// Whether it depends on the caller's name who may act for others.
  public var needsImpersonatorName: Bool { impersonators.contains { Self.id($0) == nil } }

  public func allows(_ caller: Caller) -> Bool { admits(caller) && allowsExecutable(of: caller) }

  /// Whether a caller may ask in the name of another user. What the caller may have in their own
  /// name is another matter.
  public func allows(_ caller: Caller, for other: Caller) -> Bool {
    allowsImpersonation(by: caller) && admits(other)
  }

  /// Whether a caller may act for anybody at all.
  public func allowsImpersonation(by caller: Caller) -> Bool {
    impersonators.contains { Self.means($0, caller) } && allowsExecutable(of: caller)
  }

  private func allowsExecutable(of caller: Caller) -> Bool {
    guard needsExecutable else { return true }
    guard let executable = caller.executable else { return false }
    return executables.contains { $0.allows(executable) }
  }

  /// Whether the user, groups or unit are admitted.
  private func admits(_ caller: Caller) -> Bool {
    if users.contains(where: { Self.means($0, caller) }) { return true }
    // A uid that means anybody is admitted by its name alone: a list that does not name it was
    // not written with the users of containers in mind.
    guard !caller.isUnmapped else { return false }
    if hasNoLists { return true }
    if caller.groups.contains(where: groups.contains) { return true }
    guard let unit = caller.unit else { return false }
    return units.contains { $0.matches(unit) }
  }

  /// Digits are an id, even where somebody has them for a name.
  private static func id(_ entry: String) -> UInt32? {
    entry.utf8.allSatisfy { $0.isDigit } ? UInt32(entry) : nil
  }

  /// Bytes are compared: to Swift, accents composed and decomposed are equal; to the host, they
  /// are two users.
  private static func means(_ entry: String, _ caller: Caller) -> Bool {
    if let uid = id(entry) { return uid == caller.uid }
    return caller.userName?.utf8.elementsEqual(entry.utf8) ?? false
  }
}

/// A word of `allow_executables` with the digests that follow it.
public struct ExecutableRule: Sendable, Equatable {
  /// Before a digest, in the configuration.
  static let digestPrefix = "sha256:"

  /// An absolute path with `*`, `?` and `[…]`.
  let path: GlobPattern
  /// One of these is the file's; any file will do where there is none.
  let digests: Set<String>

  /// - Parameter words: paths, each followed by its digests; the reader has checked them.
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

/// Who asks, as the kernel and the host's user database know it.
public struct Caller: Sendable, Equatable {
  public var uid: UInt32
  /// Primary and supplementary groups.
  public var groups: [UInt32]
  /// Nil for a uid without a name, and where nobody had to know it.
  public var userName: String?
  /// The systemd unit of the calling process; nil where it has none or it could not be told.
  public var unit: String?
  /// The file that the calling process runs; nil where it could not be told.
  public var executable: Executable?
  /// Whether the uid is what the kernel says for those it has no number for here (user_namespaces
  /// (7)): anybody of any namespace.
  public var isUnmapped: Bool

  public init(
    uid: UInt32, groups: [UInt32] = [], userName: String? = nil, unit: String? = nil,
    executable: Executable? = nil, isUnmapped: Bool = false
  ) {
    self.uid = uid
    self.groups = groups
    self.userName = userName
    self.unit = unit
    self.executable = executable
    self.isUnmapped = isUnmapped
  }

  /// A program, as the kernel knows it.
  public struct Executable: Sendable, Equatable {
    /// Absolute, without symbolic links.
    public var path: String
    /// Of its content, 64 lower-case hexadecimal digits; nil where nobody had to know it.
    public var sha256: String?

    public init(path: String, sha256: String? = nil) {
      self.path = path
      self.sha256 = sha256
    }
  }
}
