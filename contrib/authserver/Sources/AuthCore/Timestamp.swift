public import CredCore
public import FoundationEssentials

/// A point in time: milliseconds since 1970, as the database keeps it.
public struct Timestamp: Sendable, Hashable, Comparable {
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public init(_ date: Date) {
    milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
  }

  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }

  public static func + (time: Timestamp, interval: Interval) -> Timestamp {
    Timestamp(milliseconds: time.milliseconds + interval.milliseconds)
  }

  public static func - (later: Timestamp, earlier: Timestamp) -> Interval {
    Interval(milliseconds: later.milliseconds - earlier.milliseconds)
  }

  public init(_ time: WallTime) { milliseconds = time.milliseconds }

  public var wallTime: WallTime { WallTime(milliseconds: milliseconds) }

  /// `2026-01-02T03:04:05Z`.
  public var iso8601: String { wallTime.iso8601 }

  /// Reads ``iso8601``; nil for anything else.
  public init?(iso8601 text: String) {
    guard text.utf8.count == 20, text.utf8.last == UInt8(ascii: "Z"),
      text.utf8.dropFirst(10).first == UInt8(ascii: "T"), let time = WallTime(iso8601: text)
    else { return nil }
    self.init(time)
  }
}

/// A length of time.
public struct Interval: Sendable, Hashable, Comparable {
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public static func seconds(_ seconds: Int64) -> Interval {
    Interval(milliseconds: seconds * 1000)
  }
  public static func minutes(_ minutes: Int64) -> Interval { .seconds(minutes * 60) }
  public static func hours(_ hours: Int64) -> Interval { .minutes(hours * 60) }
  public static func days(_ days: Int64) -> Interval { .hours(days * 24) }

  public var seconds: Double { Double(milliseconds) / 1000 }
  /// Whole seconds, rounded up, at least one: for `Retry-After`.
  public var retryAfter: Int { max(1, Int((milliseconds + 999) / 1000)) }

  public static func < (left: Interval, right: Interval) -> Bool {
    left.milliseconds < right.milliseconds
  }

  public init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  /// `15m`, `1h30m`, `90d`, as credd reads durations, or a number of seconds; nil for anything else, and
  /// for parts of a second.
  public init?(_ text: String) {
    guard let duration = Duration(written: text), duration.components.attoseconds == 0 else {
      return nil
    }
    self = .seconds(duration.components.seconds)
  }
}
