/// When credentials are renewed, handed out and withheld: pure functions of lifetimes and instants.
public enum RefreshPolicy {
  /// Half of the lifetime, as SPIRE renews: early enough to outlast an outage of the other half.
  static let share = 0.5
  /// Spreads sessions that were created together.
  static let jitter = 0.1
  /// Refresh at the latest with this much life left, where the lifetime allows: botocore and .NET
  /// run credential_process again and again below 15 min.
  static let reserve: Duration = .seconds(20 * 60)
  /// The reserve may bring a refresh forward to this share of the lifetime.
  static let leastShare = 0.25
  /// Below this, a caller waits a moment for better ones.
  static let freshness: Duration = .seconds(15 * 60)
  /// How long that moment is.
  public static let grace: Duration = .seconds(2)
  /// Credentials with less than this left are not handed out: a caller could not use them any more.
  static let lastCall: Duration = .seconds(60)
  /// The same for a token, which must still be good when Cognito reads it.
  static let tokenMargin: Duration = .seconds(60)
  /// A caller who is not content with what is at hand (`refresh`, `min_ttl`) gets at most one
  /// refresh in this time.
  static let demandInterval: Duration = .seconds(1)

  /// The instant at which credentials are renewed.
  ///
  /// - Parameter chance: uniform in `0..<1`.
  public static func refreshTime(
    received: Instant, lifetime: Duration, chance: Double
  ) -> Instant {
    let keepingReserve = lifetime - reserve
    // A short lifetime has no room for the reserve: it would be renewed without pause. Its half is
    // where callers begin to wait for better ones, so the jitter goes one way.
    guard keepingReserve >= lifetime * leastShare else {
      return received + lifetime * (share - share * jitter * (1 - chance))
    }
    let latest = min(lifetime * (share + share * jitter), keepingReserve)
    // Where the reserve comes before the half, it must not gather everyone at one instant.
    let earliest = max(latest * ((1 - jitter) / (1 + jitter)), lifetime * (leastShare - jitter / 2))
    return received + earliest + (latest - earliest) * chance
  }

  /// Until when they are handed out without a second thought: with more than 15 min left, or half
  /// of the lifetime where that is shorter.
  public static func freshUntil(expires: Instant, lifetime: Duration) -> Instant {
    expires - min(freshness, lifetime * 0.5)
  }

  /// Until when they are handed out where nothing better is to be had.
  public static func servableUntil(expires: Instant, lifetime: Duration) -> Instant {
    expires - min(lastCall, lifetime * 0.1)
  }

  /// Until when a token is exchanged again instead of asking the backend for another.
  public static func tokenUsableUntil(expires: Instant, lifetime: Duration) -> Instant {
    expires - min(tokenMargin, lifetime * 0.1)
  }
}

/// Growing pauses between attempts that fail: decorrelated jitter, from 1 s to 5 min.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog.
public struct BackOff: Sendable, Equatable {
  static let shortest: Duration = .seconds(1)
  static let longest: Duration = .seconds(5 * 60)
  /// After a failure that time alone will not heal.
  static let permanent: Duration = .seconds(5 * 60)
  /// The longest that a server is left alone because it asked for it: a mistaken `Retry-After`
  /// must not end a session.
  static let longestAsked: Duration = .seconds(60 * 60)
  /// However long the pause, somebody who asks in person starts an attempt after this long.
  static let longestForCallers: Duration = .seconds(5)

  /// Attempts that failed since the last success.
  public private(set) var failures = 0
  private(set) var previous = BackOff.shortest

  public init() {}

  /// As it was before a restart.
  init(failures: Int, previous: Duration) {
    self.failures = failures
    self.previous = min(max(previous, Self.shortest), Self.longest)
  }

  /// The pause after one more failure.
  ///
  /// - Parameter chance: uniform in `0..<1`.
  public mutating func failed(_ failureClass: FailureClass, chance: Double) -> Duration {
    failures += 1
    let spread = previous * 3 - Self.shortest
    previous = min(Self.longest, Self.shortest + spread * chance)
    let pause = failureClass.isTransient ? previous : Self.permanent
    guard let retryAfter = failureClass.retryAfter else { return pause }
    let asked = min(retryAfter, Self.longestAsked)
    // Everybody was told the same time; they need not all come back at it.
    return max(pause, asked + min(previous - Self.shortest, asked))
  }
}

/// The pause after an attempt that failed.
public struct Rest: Sendable, Equatable {
  /// What went wrong.
  public let failure: UpstreamFailure
  /// When the next attempt is made, if the session is still in use.
  public let until: Instant
  /// From when on a caller in person starts one earlier.
  public let callersFrom: Instant

  init(_ failure: UpstreamFailure, now: Instant, pause: Duration) {
    self.failure = failure
    self.until = now + pause
    // What the server asked for binds callers too.
    let asked = failure.failureClass.retryAfter.map { min($0, pause) } ?? .zero
    self.callersFrom = now + max(min(pause, BackOff.longestForCallers), asked)
  }

  /// The same when the next attempt is made, which may be earlier.
  func ended(_ now: Instant) -> Rest {
    Rest(failure, until: min(until, now), callersFrom: min(callersFrom, now))
  }

  /// As it was before a restart.
  init(_ failure: UpstreamFailure, until: Instant, callersFrom: Instant) {
    self.failure = failure
    self.until = until
    self.callersFrom = callersFrom
  }
}
