/// Admits calls at a rate, and a burst after a quiet time.
///
/// Tokens are counted as time (the generic cell rate algorithm, ITU-T I.371). That is exact and
/// needs only one number.
public struct TokenBucket: Sendable {
  private let pause: Duration
  /// How much time a full bucket is ahead of the rate.
  private let allowance: Duration
  /// When the bucket will be full again.
  private var fullAt = Instant(nanoseconds: .min)

  public init(_ rate: Rate) {
    pause = rate.pause
    allowance = rate.pause * (rate.burst - 1)
  }

  /// When the next token comes.
  var nextToken: Instant { fullAt - allowance }

  /// Takes a token. Returns false if there is none.
  mutating func take(_ now: Instant) -> Bool {
    guard nextToken <= now else { return false }
    fullAt = max(fullAt, now) + pause
    return true
  }
}

/// Limits retries to a share of the calls that succeed, so that retries do not add to an overload.
///
/// A retry takes a credit, and gives it back if it succeeds. A first try that succeeds earns a
/// fifth of a credit. So if an upstream works again, any number of retries is possible.
struct RetryBudget: Sendable {
  /// The most failed retries after a quiet time.
  static let capacity = 20.0
  /// The credit for a first try that succeeds.
  static let share = 0.2
  /// Time earns credits too, so that the only session of an upstream keeps trying.
  static let earnedEvery: Duration = .seconds(6)

  private var credit = capacity
  private var counted = Instant(nanoseconds: 0)

  /// Takes a credit for a retry.
  ///
  /// - Returns: nil if there was a credit; else the time until there is one.
  mutating func retry(_ now: Instant) -> Duration? {
    earn((now - counted).inSeconds / Self.earnedEvery.inSeconds)
    counted = now
    guard credit >= 1 else { return Self.earnedEvery * (1 - credit) }
    credit -= 1
    return nil
  }

  mutating func succeeded(wasRetry: Bool) {
    earn(wasRetry ? 1 : Self.share)
  }

  private mutating func earn(_ amount: Double) {
    credit = min(Self.capacity, credit + max(amount, 0))
  }
}
