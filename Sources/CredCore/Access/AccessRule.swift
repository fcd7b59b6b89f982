/// Who may use a profile. Everyone, where no list is given; else whoever stands on one of them.
public struct AccessRule: Sendable, Equatable {
  /// Names, or uids in digits.
  public let users: [String]
  /// Already looked up: a group that does not exist admits nobody.
  public let groups: Set<UInt32>
  /// Units with `*`, `?` and `[…]`.
  public let units: [GlobPattern]
  /// Whether any list was given at all, even one whose groups do not exist.
  public let isOpen: Bool

  /// - Parameter groupID: the id of a group by its name.
  public init(_ profile: ProfileSettings, groupID: (String) -> UInt32?) {
    users = profile.allowUsers
    groups = Set(profile.allowGroups.compactMap { Self.id($0) ?? groupID($0) })
    units = profile.allowUnits.map(GlobPattern.init)
    isOpen =
      profile.allowUsers.isEmpty && profile.allowGroups.isEmpty && profile.allowUnits.isEmpty
  }

  /// Whether the decision depends on the caller's name, which may take time to find out.
  public var needsUserName: Bool { users.contains { Self.id($0) == nil } }
  /// Whether it depends on the caller's unit.
  public var needsUnit: Bool { !units.isEmpty }

  public func allows(_ caller: Caller) -> Bool {
    if isOpen { return true }
    if users.contains(where: { Self.means($0, caller) }) { return true }
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
