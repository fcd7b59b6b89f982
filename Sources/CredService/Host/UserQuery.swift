/// A user to look up.
package struct UserQuery: Hashable, Sendable {
  /// The key by which the user is looked up.
  package enum Key: Hashable, Sendable {
    case uid(UInt32)
    case name(String)

    /// Compares bytes: Swift takes composed and decomposed accents as equal, the host as two users.
    /// Equal bytes have equal hashes, so the hash is Swift's.
    package static func == (one: Self, other: Self) -> Bool {
      switch (one, other) {
      case (.uid(let one), .uid(let other)): one == other
      case (.name(let one), .name(let other)): one.utf8.elementsEqual(other.utf8)
      default: false
      }
    }
  }

  package var key: Key
  /// Also looks up the user's groups. This costs more, because directories search all groups.
  package var withGroups = false

  package init(_ key: Key, withGroups: Bool = false) {
    self.key = key
    self.withGroups = withGroups
  }
}

/// An entry of the user database.
package struct UserEntry: Equatable, Sendable {
  package var uid: UInt32
  package var name: String
  /// Empty unless the query asked for them.
  package var groups: [UInt32] = []
  /// Groups that the database listed for this user since the daemon's start, but no longer lists.
  package var withdrawn: Set<UInt32> = []

  package init(uid: UInt32, name: String, groups: [UInt32] = [], withdrawn: Set<UInt32> = []) {
    self.uid = uid
    self.name = name
    self.groups = groups
    self.withdrawn = withdrawn
  }
}

/// The user database's answer about a user.
package enum UserAnswer: Equatable, Sendable {
  case user(UserEntry)
  /// The host knows no such user.
  case nobody
  /// The user's name is not UTF-8, or is longer than names of logins are. Two different names must never
  /// be read as the same one, so credd does not read this name.
  case unreadableName
  /// The database did not answer, and has never answered this query.
  case unavailable

  /// Nil without a user.
  var name: String? { if case .user(let user) = self { user.name } else { nil } }
}
