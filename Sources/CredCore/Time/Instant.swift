/// A point on the host's monotonic clock that also counts suspended time (CLOCK_BOOTTIME).
///
/// Every deadline and every validity check in credd uses this clock: it never jumps, and a laptop
/// that slept wakes up with its credentials rightly expired. The core never reads a clock; it is
/// handed instants.
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

  /// Saturates instead of overflowing, so that `distantFuture + anything` stays there.
  public static func + (lhs: Instant, rhs: Duration) -> Instant {
    let (sum, overflow) = lhs.nanoseconds.addingReportingOverflow(rhs.wholeNanoseconds)
    return Instant(nanoseconds: overflow ? (rhs < .zero ? .min : .max) : sum)
  }

  public static func - (lhs: Instant, rhs: Duration) -> Instant {
    lhs + (.zero - rhs)
  }

  public static func - (lhs: Instant, rhs: Instant) -> Duration {
    .nanoseconds(lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds).partialValue)
  }
}

extension Duration {
  /// The duration in whole nanoseconds, saturated to what an `Int64` holds.
  public var wholeNanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }

  /// The duration in seconds, with its fraction.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  public static func * (lhs: Duration, rhs: Double) -> Duration {
    .nanoseconds(Int64(saturating: Double(lhs.wholeNanoseconds) * rhs))
  }
}
