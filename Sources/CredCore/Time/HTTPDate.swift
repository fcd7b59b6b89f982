extension WallTime {
  static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let longWeekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]

  /// Reads an HTTP date (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete
  /// forms `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
  ///
  /// The weekday must be a weekday's name, but need not fit the date. A year of two digits means
  /// 1970 to 2069.
  public init?(httpDate text: String) {
    var scanner = TimeScanner(text)
    let time: CivilTime?
    if scanner.name(of: Self.longWeekdays) != nil {
      time = Self.obsoleteDate(&scanner)
    } else if scanner.name(of: Self.weekdays) == nil {
      return nil
    } else if scanner.take(", ") {
      time = Self.fixedDate(&scanner)
    } else {
      time = Self.asctimeDate(&scanner)
    }
    guard scanner.isAtEnd, let seconds = time?.secondsSince1970 else { return nil }
    self.init(milliseconds: seconds * 1000)
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, which ``init(httpDate:)`` reads. Fractions are cut off.
  public var httpDate: String {
    let text = iso8601
    let (date, clock) = (text.prefix(10).split(separator: "-"), text.dropFirst(11).prefix(8))
    let month = Int(date[1]).map { Self.months[$0 - 1] } ?? ""
    // The first day of 1970 was a Thursday.
    let day = milliseconds.dividedDown(by: 86_400_000) + 3
    let weekday = Self.weekdays[Int(day - day.dividedDown(by: 7) * 7)]
    return "\(weekday), \(date[2]) \(month) \(date[0]) \(clock) GMT"
  }

  /// `06 Nov 1994 08:49:37 GMT`.
  private static func fixedDate(_ scanner: inout TimeScanner) -> CivilTime? {
    guard let day = scanner.number(digits: 2), scanner.take(" "),
      let month = scanner.name(of: months), scanner.take(" "),
      let year = scanner.number(digits: 4), scanner.take(" "),
      let clock = scanner.timeOfDay(), scanner.take(" GMT")
    else { return nil }
    return CivilTime(year: year, month: month + 1, day: day, clock)
  }

  /// `, 06-Nov-94 08:49:37 GMT`.
  private static func obsoleteDate(_ scanner: inout TimeScanner) -> CivilTime? {
    guard scanner.take(", "), let day = scanner.number(digits: 2), scanner.take("-"),
      let month = scanner.name(of: months), scanner.take("-"),
      let year = scanner.number(digits: 2), scanner.take(" "),
      let clock = scanner.timeOfDay(), scanner.take(" GMT")
    else { return nil }
    return CivilTime(year: year < 70 ? 2000 + year : 1900 + year, month: month + 1, day: day, clock)
  }

  /// ` Nov  6 08:49:37 1994`.
  private static func asctimeDate(_ scanner: inout TimeScanner) -> CivilTime? {
    guard scanner.take(" "), let month = scanner.name(of: months), scanner.take(" "),
      let day = scanner.take(" ") ? scanner.number(digits: 1) : scanner.number(digits: 2),
      scanner.take(" "), let clock = scanner.timeOfDay(), scanner.take(" "),
      let year = scanner.number(digits: 4)
    else { return nil }
    return CivilTime(year: year, month: month + 1, day: day, clock)
  }
}

extension TimeScanner {
  /// `HH:MM:SS`.
  fileprivate mutating func timeOfDay() -> (hour: Int, minute: Int, second: Int)? {
    guard let hour = number(digits: 2), take(":"), let minute = number(digits: 2), take(":"),
      let second = number(digits: 2)
    else { return nil }
    return (hour, minute, second)
  }
}

extension CivilTime {
  fileprivate init(
    year: Int, month: Int, day: Int, _ clock: (hour: Int, minute: Int, second: Int)
  ) {
    self.init(
      year: year, month: month, day: day, hour: clock.hour, minute: clock.minute,
      second: clock.second)
  }
}

/// Reads the fields of a written time, one after the other.
struct TimeScanner {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) {
    rest = Array(text.utf8)[...]
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Takes exactly `count` digits, or nothing.
  mutating func number(digits count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy(\.isDigit) else { return nil }
    rest = rest.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Takes all digits up to the next other character; nil if there is none.
  mutating func digits() -> String? {
    let digits = rest.prefix(while: \.isDigit)
    guard !digits.isEmpty else { return nil }
    rest = rest[digits.endIndex...]
    return String(decoding: digits, as: UTF8.self)
  }

  /// Takes the text if it is next.
  mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Takes the first of the texts that is next.
  mutating func take(anyOf texts: String...) -> Bool {
    for text in texts where take(text) { return true }
    return false
  }

  /// Takes one of the names and returns its index.
  mutating func name(of names: [String]) -> Int? {
    guard let index = names.firstIndex(where: { rest.starts(with: $0.utf8) }) else { return nil }
    rest = rest.dropFirst(names[index].utf8.count)
    return index
  }
}

extension Duration {
  /// Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP date, which counts from
  /// `now` (preferably the server's own `Date`). A date in the past is zero. Seconds saturate at
  /// 2³¹ - 1; the caller applies its own upper limit.
  public init?(retryAfter text: String, now: WallTime?) {
    var scanner = TimeScanner(text)
    if let digits = scanner.digits() {
      guard scanner.isAtEnd else { return nil }
      self = .seconds(Int32(digits) ?? .max)
    } else {
      guard let until = WallTime(httpDate: text), let now else { return nil }
      self = max(.zero, until - now)
    }
  }
}
