/// How far this host's wall clock is off, by what AWS says the time is.
///
/// credd itself counts lifetimes by the server's clock and loses nothing. Clients compare an
/// `Expiration` with the local clock, and SigV4 refuses requests that are 5 min off, so a person must
/// know (field-notes 20).
public struct ClockSkew: Sendable, Equatable {
  /// What a person is told.
  public enum News: Sendable, Equatable {
    /// The clock is off: server's time less this host's.
    case off(Duration)
    /// It is right again.
    case right
  }

  /// HTTP's `Date` has whole seconds, and a reply may have been on its way for some.
  static let tolerance: Duration = .seconds(60)

  /// Server's time less this host's; zero where no server has said.
  public private(set) var skew: Duration = .zero
  private var told: Duration?

  public init() {}

  /// Whether the clock is off by more than a minute.
  public var isOff: Bool { abs(skew) > Self.tolerance }

  /// A server said what time it is.
  public mutating func noted(server: WallTime, local: WallTime) -> News? {
    skew = server - local
    return news()
  }

  /// Somebody set the clock; what is known of it moves along.
  ///
  /// - Parameter jump: the new time less the one that it would have been.
  public mutating func clockSet(by jump: Duration) -> News? {
    guard skew != .zero else { return nil }
    skew -= jump
    return news()
  }

  private mutating func news() -> News? {
    guard isOff else {
      defer { told = nil }
      return told == nil ? nil : .right
    }
    if let told, abs(skew - told) <= Self.tolerance { return nil }
    told = skew
    return .off(skew)
  }

  private func abs(_ duration: Duration) -> Duration {
    duration < .zero ? .zero - duration : duration
  }
}
