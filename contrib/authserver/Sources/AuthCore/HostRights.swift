/// For whom a host may speak, and in which pools. An enrolment has rights, and its group has
/// rights.
public struct HostRights: Sendable, Equatable {
  /// For whom the host's word counts.
  public var vouches: Patterns
  /// Who may sign in on it.
  public var signsIn: Patterns
  /// Names of pools in the configuration.
  public var pools: [String]
  public var mayLink: Bool
  public var mayAdoptGuests: Bool

  /// Nobody, in no pool.
  public static let none = HostRights()

  public static let nobody = "for whom? --vouches USERS, --signs-in USERS, or both"

  public init(
    vouches: Patterns = .none, signsIn: Patterns = .none, pools: [String] = [],
    mayLink: Bool = false, mayAdoptGuests: Bool = false
  ) {
    self.vouches = vouches
    self.signsIn = signsIn
    self.pools = pools
    self.mayLink = mayLink
    self.mayAdoptGuests = mayAdoptGuests
  }

  /// What is missing: users without a pool, a pool without users, or a right over nobody mean
  /// nothing. Nil if nothing is missing.
  public var fault: String? {
    if self == .none { return nil }
    if vouches.isEmpty, signsIn.isEmpty { return Self.nobody }
    return pools.isEmpty ? "in which pool? --pool POOL" : nil
  }
}

/// Hosts that have rights in common.
public struct HostGroup: Sendable, Equatable {
  public var name: String
  public var rights: HostRights
  public var created: Timestamp

  public init(name: String, rights: HostRights, created: Timestamp) {
    self.name = name
    self.rights = rights
    self.created = created
  }
}

/// How long an enrolment is good, as `--expires` says it: `90d`, or `0` for no end.
public struct Lifetime: Sendable, Equatable {
  /// Nil for no end.
  private let length: Interval?

  /// Nil where it is not as 90d.
  public init?(_ text: String) {
    guard let interval = Interval(text) else { return nil }
    length = interval.milliseconds == 0 ? nil : interval
  }

  private init(length: Interval) { self.length = length }

  /// The lifetime of an enrolment if no other is asked for.
  public static let standard = Lifetime(length: .days(90))

  public func end(from now: Timestamp) -> Timestamp? { length.map { now + $0 } }
}
