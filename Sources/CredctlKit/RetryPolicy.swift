import CredCore

/// Whether a request that may be made twice is made again: a daemon has ended, and the next one may
/// answer; or this user has as many requests at credd as it takes, and one may end in a moment.
///
/// Whole milliseconds: `Duration` would load 128-bit arithmetic.
public struct RetryPolicy: Sendable {
  public enum Step: Equatable, Sendable {
    /// After a pause, with what is left of the wait.
    case again(milliseconds: Int, Waiting)
    case giveUp(Failure)
  }

  /// The longest first pause of a user with too many requests; each is twice as long as the one before.
  static let firstPause = 50
  /// As often as hundreds of processes may ask without being a burden.
  static let longestPause = 500
  /// Added to a pause that credd has named: all that were refused have the same one.
  static let spread = 250

  /// How long the request goes on asking where there are too many requests.
  private let wait: Int
  /// How long it goes on in all.
  private let timeout: Int
  /// What is left of the wait.
  private var waiting: Waiting
  private var daemons = 1
  private var lastEnd: Failure?
  private var refusals = 0

  /// - Parameter seconds: until credctl gives up.
  public init(_ waiting: Waiting, seconds: Int) {
    self.waiting = waiting
    wait =
      waiting.waitsForConnection ? waiting.wait?.milliseconds ?? WaitLimits.defaultWait * 1000 : 0
    timeout = seconds * 1000
  }

  /// - Parameter milliseconds: since the first attempt began.
  public mutating func step(
    after failure: Failure, milliseconds: Int, _ random: inout some RandomNumberGenerator
  ) -> Step {
    // A daemon that was there a moment ago may come back: that is no absence.
    if failure.isAbsenceOfDaemon, let lastEnd { return .giveUp(lastEnd) }
    if failure.isEndOfDaemon { return askNextDaemon(failure, milliseconds) }
    guard failure.code == ProtocolErrorCode.tooManyRequests.rawValue else {
      return .giveUp(failure)
    }
    let pause = pause(failure.retryAfter, &random)
    let left = wait - milliseconds - pause
    guard left >= 0 else { return .giveUp(failure) }
    refusals += 1
    waiting.wait = Seconds(milliseconds: left)
    return .again(milliseconds: pause, waiting)
  }

  private mutating func askNextDaemon(_ failure: Failure, _ milliseconds: Int) -> Step {
    guard daemons < WaitLimits.daemonsAsked, milliseconds < timeout else {
      return .giveUp(failure)
    }
    daemons += 1
    lastEnd = failure
    return .again(milliseconds: 0, waiting)
  }

  /// - Parameter seconds: what credd has named.
  private func pause(_ seconds: Int?, _ random: inout some RandomNumberGenerator) -> Int {
    if let seconds, seconds > 0 {
      // Far beyond every wait, a number could be too large to multiply.
      return min(seconds, WaitLimits.longestWait + 1) * 1000 + Self.below(Self.spread, &random)
    }
    let longest = min(Self.firstPause << min(refusals, 8), Self.longestPause)
    return longest / 5 + Self.below(longest - longest / 5, &random)
  }

  private static func below(_ count: Int, _ random: inout some RandomNumberGenerator) -> Int {
    Int(random.next() % UInt64(count))
  }
}
