extension WallTime {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let longWeekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]

  /// Reads an HTTP date (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete
  /// forms `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
  ///
  /// The name of the day must be one, but need not fit the date. A year of two digits is 1970 to
  /// 2069.
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
