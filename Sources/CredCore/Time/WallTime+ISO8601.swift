extension WallTime {
  /// The last second that four digits of a year can name.
  private static let lastSecond: Int64 = 253_402_300_799
  /// The first second of the year 0.
  private static let firstSecond: Int64 = -62_167_219_200

  /// `YYYY-MM-DDTHH:MM:SSZ`, the one spelling that every AWS SDK reads.
  ///
  /// Fractions are cut off, so that an expiration is never written later than it is. Years outside
  /// 0 to 9999 become the nearest time inside.
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

  /// Reads `YYYY-MM-DDTHH:MM[:SS[.fraction]]` with a zone: `Z`, `+HH:MM`, `+HHMM` or `+HH`; also
  /// with a space for the `T`. A time without a zone is nil, because it could mean anything.
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
  /// `:SS` and a fraction in milliseconds; zeros where there are none, nil where they are broken.
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
