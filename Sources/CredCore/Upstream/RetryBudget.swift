/// Keeps retries a share of what succeeds, so that an upstream in trouble is not pushed further.
///
/// A retry takes a credit and gives it back if it succeeds; first tries that succeed earn a fifth
/// of one. So an upstream that is well again takes any number of retries.
struct RetryBudget: Sendable {
  /// Failed retries that are always affordable after a quiet time.
  static let capacity = 20.0
  /// What a first try that succeeds earns.
  static let share = 0.2
  /// Time alone earns one too: a session that is alone with its upstream goes on trying.
  static let earnedEvery: Duration = .seconds(6)

  private var credit = capacity
  private var counted = Instant(nanoseconds: 0)

  /// Pays for a retry; nil if it is paid for, else how long until it can be.
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
