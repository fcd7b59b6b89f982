/// A point in time on the host's monotonic clock, which also counts suspended time
/// (CLOCK_BOOTTIME).
///
/// Every deadline and every validity check in credd uses this clock. The clock never jumps, and it
/// runs while a laptop sleeps, so that credentials may have expired when the laptop wakes up. The
/// core never reads a clock: callers pass instants.
public struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since boot.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  public static func seconds(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(saturating: seconds * 1e9))
  }

  /// Later than every instant that can occur (292 years after boot).
  public static let distantFuture = Instant(nanoseconds: .max)

  public static func < (lhs: Instant, rhs: Instant) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// Saturates instead of overflowing: `distantFuture` plus a duration is `distantFuture`.
  public static func + (lhs: Instant, rhs: Duration) -> Instant {
    let (sum, overflow) = lhs.nanoseconds.addingReportingOverflow(rhs.wholeNanoseconds)
    return Instant(nanoseconds: overflow ? (rhs < .zero ? .min : .max) : sum)
  }

  public static func - (lhs: Instant, rhs: Duration) -> Instant {
    lhs + (.zero - rhs)
  }

  /// Saturates too: the time from the distant past to `distantFuture` is 292 years.
  public static func - (lhs: Instant, rhs: Instant) -> Duration {
    let (difference, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
    return .nanoseconds(overflow ? (lhs < rhs ? .min : .max) : difference)
  }
}

extension Duration {
  /// Whole nanoseconds, saturated to the range of `Int64`.
  public var wholeNanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }

  /// Seconds, with their fraction.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  public static func * (lhs: Duration, rhs: Double) -> Duration {
    .nanoseconds(Int64(saturating: Double(lhs.wholeNanoseconds) * rhs))
  }
}

extension Duration {
  /// Units as people write them, the largest first.
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// Reads `90s`, `5m`, `1h30m`, `500ms`, `30d`, or a bare number of seconds. Each unit occurs at
  /// most once, larger units first. Returns nil for anything else.
  public init?(written text: String) {
    var rest = Array(text.utf8)[...]
    var units = Duration.units[...]
    var milliseconds: Int64 = 0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix(while: \.isDigit)
      // Nine digits are 31 years in seconds. Even as days, no sum of such numbers overflows.
      guard !digits.isEmpty, digits.count <= 9,
        let number = Int64(String(decoding: digits, as: UTF8.self))
      else { return nil }
      rest = rest[digits.endIndex...]
      let letters = rest.prefix { !$0.isDigit }
      rest = rest[letters.endIndex...]
      let isBare = letters.isEmpty && digits.startIndex == 0
      let name = isBare ? "s" : String(decoding: letters, as: UTF8.self)
      guard let unit = units.firstIndex(where: { $0.name == name }) else { return nil }
      milliseconds += number * units[unit].milliseconds
      units = units[(unit + 1)...]
    }
    self = .milliseconds(milliseconds)
  }

  /// The duration in the form that `init(written:)` reads, in whole milliseconds.
  var written: String {
    var rest = wholeNanoseconds / 1_000_000
    var text = ""
    // One day is written as 24h, longer times in days.
    for unit in Duration.units
    where rest >= (unit.name == "d" ? 2 * unit.milliseconds : unit.milliseconds) {
      text += "\(rest / unit.milliseconds)\(unit.name)"
      rest %= unit.milliseconds
    }
    return text.isEmpty ? "0s" : text
  }
}
