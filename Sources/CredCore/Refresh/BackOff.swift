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
