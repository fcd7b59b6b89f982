/// What a server's clock showed, which goes on whatever this host's wall clock is set to.
public struct ServerTime: Sendable, Equatable {
  private let time: WallTime
  private let heard: Instant

  public init(_ time: WallTime, heard: Instant) {
    self.time = time
    self.heard = heard
  }

  /// What it shows now.
  public func at(_ now: Instant) -> WallTime { time + (now - heard) }
}

/// The difference between this host's wall clock and AWS's clock.
///
/// credd counts lifetimes by the server's clock, so a wrong local clock costs it nothing. Clients
/// compare an `Expiration` with the local clock, and AWS refuses a SigV4 signature whose time is 5
/// min off. So the daemon reports a clock that is off.
public struct ClockSkew: Sendable, Equatable {
  /// A change that the daemon logs.
  public enum Change: Sendable, Equatable {
    /// The clock is off: the server's time minus this host's.
    case off(Duration)
    /// The clock is right again.
    case right
  }

  /// A difference up to this is ignored: HTTP's `Date` has whole seconds, and a reply may take some
  /// seconds.
  static let tolerance: Duration = .seconds(60)

  /// The server's time minus this host's; zero until a server has replied.
  public private(set) var skew: Duration = .zero
  private var reported: Duration?

  public init() {}

  /// Whether the clock is off by more than a minute.
  public var isOff: Bool { abs(skew) > Self.tolerance }

  /// Compares the server's time in a reply with the local time.
  public mutating func compare(server: WallTime, local: WallTime) -> Change? {
    skew = server - local
    return change()
  }

  /// Takes that the local clock was set: the known difference changes by the same amount.
  ///
  /// - Parameter jump: the new time minus the time without the change.
  public mutating func clockSet(by jump: Duration) -> Change? {
    guard skew != .zero else { return nil }
    skew -= jump
    return change()
  }

  private mutating func change() -> Change? {
    guard isOff else {
      defer { reported = nil }
      return reported == nil ? nil : .right
    }
    if let reported, abs(skew - reported) <= Self.tolerance { return nil }
    reported = skew
    return .off(skew)
  }

  private func abs(_ duration: Duration) -> Duration {
    duration < .zero ? .zero - duration : duration
  }
}
