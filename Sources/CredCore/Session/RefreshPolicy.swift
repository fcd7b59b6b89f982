/// When credentials are renewed, handed out and withheld: pure functions of lifetimes and instants.
public enum RefreshPolicy {
  /// Renewal at half of the lifetime, as in SPIRE: the other half is for an outage.
  static let share = 0.5
  /// Spreads sessions that were created together: ± 10 % of the time of renewal.
  static let spread = 0.1
  /// A refresh starts at the latest with this much lifetime left, if the lifetime allows that:
  /// botocore and .NET run credential_process again and again below 15 min.
  static let reserve: Duration = .seconds(20 * 60)
  /// The reserve may bring a refresh forward to this share of the lifetime.
  static let leastShare = 0.25
  /// If less lifetime is left, a caller waits a moment for fresher credentials.
  static let freshness: Duration = .seconds(15 * 60)
  /// How long a caller waits for fresher credentials.
  public static let grace: Duration = .seconds(2)
  /// How long a callback waits for a new ID token of the linked sign-in.
  public static let linkGrace: Duration = .seconds(3)
  /// After this time a backend's 401 in a web page is believed, if no try in between got another answer.
  static let pageDoubt: Duration = .seconds(60)
  /// How long the first such page counts.
  static let pageMemory: Duration = .seconds(900)
  /// Credentials with less than this left are not handed out: they would expire in use.
  static let lastCall: Duration = .seconds(60)
  /// A token with less than this left is not used: it must still be valid when Cognito reads it.
  static let tokenMargin: Duration = .seconds(60)

  /// The instant at which credentials are renewed.
  ///
  /// - Parameter jitter: uniform in `0..<1`.
  public static func refreshTime(
    received: Instant, lifetime: Duration, jitter: Double
  ) -> Instant {
    let keepingReserve = lifetime - reserve
    // A short lifetime has no room for the reserve: the credentials would be renewed without pause.
    // From half of the lifetime on, callers wait for fresher credentials, so jitter only makes the
    // renewal earlier.
    guard keepingReserve >= lifetime * leastShare else {
      return received + lifetime * (share - share * spread * (1 - jitter))
    }
    let latest = min(lifetime * (share + share * spread), keepingReserve)
    // If the reserve begins before half of the lifetime, the renewals of all sessions must still be
    // spread.
    let earliest = max(latest * ((1 - spread) / (1 + spread)), lifetime * (leastShare - spread / 2))
    return received + earliest + (latest - earliest) * jitter
  }

  /// Until when credentials are handed out without waiting: until 15 min are left, or half of the
  /// lifetime if that is shorter.
  public static func freshUntil(expires: Instant, lifetime: Duration) -> Instant {
    expires - min(freshness, lifetime * 0.5)
  }

  /// Until when credentials are handed out if no fresher ones come.
  public static func servableUntil(expires: Instant, lifetime: Duration) -> Instant {
    expires - min(lastCall, lifetime * 0.1)
  }

  /// Until when a token is exchanged again instead of asking the backend for another.
  public static func tokenUsableUntil(expires: Instant, lifetime: Duration) -> Instant {
    expires - min(tokenMargin, lifetime * 0.1)
  }
}

/// Growing pauses between refreshes that fail: decorrelated jitter, from 1 s to 5 min.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog.
public struct BackOff: Sendable, Equatable {
  static let shortest: Duration = .seconds(1)
  static let longest: Duration = .seconds(5 * 60)
  /// The pause after a failure that time alone does not heal.
  static let permanent: Duration = .seconds(5 * 60)
  /// After this time a new caller starts a refresh, however long the pause.
  static let longestForCallers: Duration = .seconds(5)

  /// Failures since the last success.
  public private(set) var failures = 0
  private(set) var previous = BackOff.shortest

  public init() {}

  /// Restores a stored pause.
  init(failures: Int, previous: Duration) {
    self.failures = failures
    self.previous = min(max(previous, Self.shortest), Self.longest)
  }

  /// The pause after one more failure.
  ///
  /// - Parameter jitter: uniform in `0..<1`.
  public mutating func failed(_ failureClass: FailureClass, jitter: Double) -> Duration {
    failures += 1
    let range = previous * 3 - Self.shortest
    previous = min(Self.longest, Self.shortest + range * jitter)
    let pause = failureClass.isTransient ? previous : Self.permanent
    guard let retryAfter = failureClass.retryAfter else { return pause }
    let asked = min(retryAfter, Limits.Upstream.longestRetryAfter)
    // The server told all clients the same time: jitter keeps them from coming back together.
    return max(pause, asked + min(previous - Self.shortest, asked))
  }
}

/// The pause after a refresh that failed.
public struct Pause: Sendable, Equatable {
  public let failure: UpstreamFailure
  /// When the next refresh starts if the session is in use.
  public let until: Instant
  /// From this time on, a new caller starts the next refresh earlier.
  public let callersFrom: Instant

  init(_ failure: UpstreamFailure, now: Instant, pause: Duration) {
    self.failure = failure
    self.until = now + pause
    // Callers obey the server's `Retry-After` too.
    let asked = failure.failureClass.retryAfter.map { min($0, pause) } ?? .zero
    self.callersFrom = now + max(min(pause, BackOff.longestForCallers), asked)
  }

  /// Restores a stored pause.
  init(_ failure: UpstreamFailure, until: Instant, callersFrom: Instant) {
    self.failure = failure
    self.until = until
    self.callersFrom = callersFrom
  }

  /// The pause, cut short because the next refresh starts now.
  func ended(_ now: Instant) -> Pause {
    Pause(failure, until: min(until, now), callersFrom: min(callersFrom, now))
  }
}

/// A renewal that failed, of a sign-in that has pauses of its own.
struct FailedRenewal: Sendable, Equatable {
  let backOff: BackOff
  let pause: Pause
  let at: Instant

  init(_ backOff: BackOff, _ pause: Pause, at time: Instant) {
    self.backOff = backOff
    self.pause = pause
    at = time
  }
}
