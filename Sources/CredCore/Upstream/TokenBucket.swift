/// Lets calls through at a rate, and a few at once after a quiet time.
///
/// Tokens are counted as time (the generic cell rate algorithm, ITU-T I.371): exact, and one number.
struct TokenBucket: Sendable {
  private let pause: Duration
  /// What a full bucket is ahead of the rate.
  private let allowance: Duration
  /// When the bucket will be full again.
  private var fullAt = Instant(nanoseconds: .min)

  init(_ rate: Rate) {
    pause = rate.pause
    allowance = rate.pause * (rate.burst - 1)
  }

  /// From when on there is a token.
  var nextToken: Instant { fullAt - allowance }

  /// Takes a token; false where there is none.
  mutating func take(_ now: Instant) -> Bool {
    guard nextToken <= now else { return false }
    fullAt = max(fullAt, now) + pause
    return true
  }
}
