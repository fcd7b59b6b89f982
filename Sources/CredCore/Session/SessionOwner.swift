/// The person to whom a session belongs: the name that the host had for the uid when the session
/// began. If the uid has another name now, it belongs to another person.
public enum SessionOwner: Sendable {
  case named(String)
  /// The host had no name for the uid.
  case nameless
  /// Stored by a version that did not look up every name.
  case unknown

  /// - Parameter name: the uid's name; nil if the host has none.
  public init(name: String?) {
    self = name.map { .named($0) } ?? .nameless
  }

  public var name: String? {
    if case .named(let name) = self { name } else { nil }
  }
}

extension SessionOwner: Equatable {
  /// Compares bytes: Swift takes composed and decomposed accents as equal, the host as two users.
  public static func == (one: Self, other: Self) -> Bool {
    switch (one, other) {
    case (.named(let one), .named(let other)): one.utf8.elementsEqual(other.utf8)
    case (.nameless, .nameless), (.unknown, .unknown): true
    default: false
    }
  }
}

extension SessionOwner {
  /// How the uid's present owner relates to this owner.
  public enum Successor: Sendable, Equatable {
    case samePerson
    /// The stored session does not name its owner: the first user of the uid counts as the owner.
    case firstSeen
    case anotherPerson
    /// The host does not know the uid any more. The owner stays the same, because a user database
    /// that is incomplete for a moment must end no session.
    case nameless
  }

  public func successor(_ present: SessionOwner) -> Successor {
    switch (self, present) {
    case (.unknown, _): .firstSeen
    case (.named, .nameless): .nameless
    default: self == present ? .samePerson : .anotherPerson
    }
  }
}
