/// So many calls in a time, `25/s` or `90/m`: never more than that for long.
public struct Rate: Sendable, Hashable {
  /// What a rate may be counted by.
  public enum Unit: String, Sendable, CaseIterable {
    case second = "s"
    case minute = "m"

    public var duration: Duration { self == .second ? .seconds(1) : .seconds(60) }
  }

  /// The most calls that may be written.
  static let most = 10_000

  /// Calls in one unit, from 1 to 10,000.
  public let count: Int
  public let unit: Unit

  public static func perSecond(_ count: Int) -> Rate { Rate(count, per: .second) }
  public static func perMinute(_ count: Int) -> Rate { Rate(count, per: .minute) }

  private init(_ count: Int, per unit: Unit) {
    self.count = min(max(count, 1), Self.most)
    self.unit = unit
  }

  /// Reads what ``written`` gives; nil for anything else.
  public init?(written text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let unit = Unit(rawValue: String(parts[1])),
      !parts[0].isEmpty, parts[0].utf8.allSatisfy(\.isDigit), let count = Int(parts[0]),
      (1...Self.most).contains(count)
    else { return nil }
    self.init(count, per: unit)
  }

  public var written: String { "\(count)/\(unit.rawValue)" }

  /// The time from one call to the next at this rate.
  public var pause: Duration { unit.duration / count }

  /// How many calls it allows in a time.
  public func calls(in time: Duration) -> Double {
    time.inSeconds / unit.duration.inSeconds * Double(count)
  }

  /// Calls that may be made at once after a quiet time: a fifth of a second's, so that not even
  /// the first second exceeds a quota by much.
  var burst: Int { max(1, Int(calls(in: .milliseconds(200)))) }
}

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
