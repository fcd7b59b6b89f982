/// A point in civil time: what AWS means by `Expiration` and HTTP by `Date`.
///
/// Only for what is read from or shown to the outside. Whether something is still valid is decided
/// on ``Instant``.
public struct WallTime: Comparable, Hashable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public var milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// Saturates, because the number is a server's and may be anything; not-a-number is 1970.
  public init(secondsSince1970 seconds: Double) {
    self.milliseconds = Int64(nearest: seconds * 1000)
  }

  public static func < (lhs: WallTime, rhs: WallTime) -> Bool {
    lhs.milliseconds < rhs.milliseconds
  }

  /// Saturates instead of overflowing.
  public static func + (lhs: WallTime, rhs: Duration) -> WallTime {
    let (sum, overflow) = lhs.milliseconds.addingReportingOverflow(
      rhs.wholeNanoseconds / 1_000_000)
    return WallTime(milliseconds: overflow ? (rhs < .zero ? .min : .max) : sum)
  }

  public static func - (lhs: WallTime, rhs: WallTime) -> Duration {
    .milliseconds(lhs.milliseconds) - .milliseconds(rhs.milliseconds)
  }
}

extension Int64 {
  /// The number cut to a whole one and to what fits; not-a-number is 0.
  ///
  /// `rounded()` would be shorter, but needs libm, which a program without C imports does not link.
  init(saturating value: Double) {
    switch value {
    case -0x1p63..<0x1p63: self = Int64(value)
    case 0x1p63...: self = .max
    case ..<0: self = .min
    default: self = 0
    }
  }

  /// The nearest whole number, halves away from zero; saturates likewise.
  init(nearest value: Double) {
    self.init(saturating: value < 0 ? value - 0.5 : value + 0.5)
  }
}
