/// A point in civil time: AWS's `Expiration`, HTTP's `Date`.
///
/// For times that come from outside or are shown. Validity is decided by ``Instant``.
public struct WallTime: Comparable, Hashable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public var milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// Saturates, because a server may send any number; not-a-number is 1970.
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
  /// The number without its fraction, saturated; not-a-number is 0.
  ///
  /// `rounded()` needs libm, which a program without C imports does not link.
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

extension WallTime {
  /// The last second of the year 9999.
  private static let lastSecond: Int64 = 253_402_300_799
  /// The first second of the year 0.
  private static let firstSecond: Int64 = -62_167_219_200

  /// `YYYY-MM-DDTHH:MM:SSZ`, the one spelling that every AWS SDK reads.
  ///
  /// Fractions are cut off, so that a written expiration is never later than the real one. A time
  /// outside the years 0 to 9999 becomes the nearest time within them.
  public var iso8601: String {
    var text: [UInt8] = []
    text.reserveCapacity(20)
    appendISO8601(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends ``iso8601``.
  public func appendISO8601(to buffer: inout [UInt8]) {
    let seconds = milliseconds.dividedDown(by: 1000)
    let time = CivilTime(
      secondsSince1970: min(max(seconds, Self.firstSecond), Self.lastSecond))
    Self.appendTwoDigits(time.year / 100, to: &buffer)
    Self.appendTwoDigits(time.year % 100, then: "-", to: &buffer)
    Self.appendTwoDigits(time.month, then: "-", to: &buffer)
    Self.appendTwoDigits(time.day, then: "T", to: &buffer)
    Self.appendTwoDigits(time.hour, then: ":", to: &buffer)
    Self.appendTwoDigits(time.minute, then: ":", to: &buffer)
    Self.appendTwoDigits(time.second, then: "Z", to: &buffer)
  }

  private static func appendTwoDigits(
    _ value: Int, then separator: Unicode.Scalar? = nil, to buffer: inout [UInt8]
  ) {
    buffer.append(UInt8(ascii: "0") + UInt8(value / 10))
    buffer.append(UInt8(ascii: "0") + UInt8(value % 10))
    if let separator { buffer.append(UInt8(ascii: separator)) }
  }

  /// Reads `YYYY-MM-DDTHH:MM[:SS[.fraction]]` with a zone: `Z`, `+HH:MM`, `+HHMM` or `+HH`; a space
  /// may stand for the `T`. Returns nil for a time without a zone, because it is ambiguous.
  /// Fractions beyond milliseconds are cut off.
  public init?(iso8601 text: String) {
    var scanner = TimeScanner(text)
    guard let year = scanner.number(digits: 4), scanner.take("-"),
      let month = scanner.number(digits: 2), scanner.take("-"),
      let day = scanner.number(digits: 2), scanner.take(anyOf: "T", "t", " "),
      let hour = scanner.number(digits: 2), scanner.take(":"),
      let minute = scanner.number(digits: 2),
      let (second, fraction) = scanner.secondAndFraction(),
      let offset = scanner.zoneOffset(), scanner.isAtEnd
    else { return nil }
    let time = CivilTime(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    guard let seconds = time.secondsSince1970 else { return nil }
    self.init(milliseconds: (seconds - Int64(offset)) * 1000 + Int64(fraction))
  }
}

extension TimeScanner {
  /// `:SS` and a fraction in milliseconds; zeros if they are missing, nil if they are malformed.
  fileprivate mutating func secondAndFraction() -> (second: Int, milliseconds: Int)? {
    guard take(":") else { return (0, 0) }
    guard let second = number(digits: 2) else { return nil }
    guard take(anyOf: ".", ",") else { return (second, 0) }
    guard let digits = digits() else { return nil }
    let tenths = [100, 10, 1]
    let milliseconds = zip(digits.utf8, tenths).map { Int($0 - UInt8(ascii: "0")) * $1 }
    return (second, milliseconds.reduce(0, +))
  }

  /// Seconds east of UTC.
  fileprivate mutating func zoneOffset() -> Int? {
    if take(anyOf: "Z", "z") { return 0 }
    let isWest = take("-")
    guard isWest || take("+"), let hours = number(digits: 2), hours <= 23 else { return nil }
    let hasColon = take(":")
    let minutes = number(digits: 2)
    guard minutes != nil || !hasColon, minutes ?? 0 <= 59 else { return nil }
    let seconds = hours * 3600 + (minutes ?? 0) * 60
    return isWest ? -seconds : seconds
  }
}

/// A date and time of day in UTC by the proleptic Gregorian calendar, without leap seconds.
///
/// Days are counted in 400-year eras that start on 1 March: the leap day is then the last day of a
/// year, and every formula is exact for all dates.
struct CivilTime: Equatable {
  var year: Int
  /// 1 to 12.
  var month: Int
  /// 1 to 31.
  var day: Int
  var hour = 0
  var minute = 0
  /// 60 is a leap second and means second 0 of the next minute.
  var second = 0

  private static let daysFromMarch0000To1970 = 719_468
  private static let daysPerEra = 146_097

  /// Whole seconds since 1970; nil for a date or a time of day that does not exist.
  var secondsSince1970: Int64? {
    guard (0...9999).contains(year), (1...12).contains(month),
      (1...Self.days(inMonth: month, of: year)).contains(day),
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    return Int64(daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second)
  }

  private var daysSince1970: Int {
    let yearFromMarch = month > 2 ? year : year - 1
    let era = yearFromMarch.dividedDown(by: 400)
    let yearOfEra = yearFromMarch - era * 400
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * Self.daysPerEra + dayOfEra - Self.daysFromMarch0000To1970
  }

  private static func days(inMonth month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    switch month {
    case 2: return isLeap ? 29 : 28
    case 4, 6, 9, 11: return 30
    default: return 31
    }
  }
}

extension CivilTime {
  /// The civil time of a second, which may lie before 1970.
  init(secondsSince1970 seconds: Int64) {
    let days = Int(seconds).dividedDown(by: 86_400)
    let secondOfDay = Int(seconds) - days * 86_400
    let shifted = days + Self.daysFromMarch0000To1970
    let era = shifted.dividedDown(by: Self.daysPerEra)
    let dayOfEra = shifted - era * Self.daysPerEra
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    self.month = (monthFromMarch + 2) % 12 + 1
    self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    self.year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    self.hour = secondOfDay / 3600
    self.minute = secondOfDay / 60 % 60
    self.second = secondOfDay % 60
  }
}

extension BinaryInteger {
  /// The quotient rounded down, where `/` rounds towards zero.
  func dividedDown(by divisor: Self) -> Self {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}

extension JSONValue {
  /// A time in seconds, perhaps with a fraction: a NumericDate (RFC 7519), or a date of AWS's JSON
  /// protocols. Nil if the number cannot be a time.
  var plausibleTime: WallTime? { double.flatMap { WallTime(plausibleSecondsSince1970: $0) } }
}

extension WallTime {
  /// Reads seconds from 2001 to 2286, which are the numbers of ten digits. Returns nil for
  /// milliseconds in place of seconds, zero, infinity and NaN.
  init?(plausibleSecondsSince1970 seconds: Double) {
    guard seconds >= 1e9, seconds < 1e10 else { return nil }
    self.init(secondsSince1970: seconds)
  }
}
