import CredCore

/// The second reading of written times: fields at fixed places, days counted year by year.
enum SecondTime {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]

  private static func isLeap(_ year: Int) -> Bool {
    year % 400 == 0 || year % 4 == 0 && year % 100 != 0
  }

  /// Seconds since 1970; nil for a date or time of day that does not exist.
  static func seconds(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
  ) -> Int? {
    let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (0...9999).contains(year), (1...12).contains(month),
      (1...lengths[month - 1]).contains(day), (0...23).contains(hour), (0...59).contains(minute),
      (0...60).contains(second)
    else { return nil }
    let length = { isLeap($0) ? 366 : 365 }
    let years =
      year >= 1970
      ? (1970..<year).reduce(0) { $0 + length($1) } : -(year..<1970).reduce(0) { $0 + length($1) }
    let days = years + lengths[..<(month - 1)].reduce(0, +) + day - 1
    return ((days * 24 + hour) * 60 + minute) * 60 + second
  }

  /// Decimal digits and nothing else.
  private static func number(_ text: some StringProtocol, digits: Int) -> Int? {
    SecondRules.isMade(String(text), of: SecondRules.digits, digits...digits)
      ? Int(String(text)) : nil
  }

  /// `HH:MM:SS`.
  private static func clock(_ text: some StringProtocol) -> [Int]? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      .compactMap { number($0, digits: 2) }
    return parts.count == 3 && text.utf8.count == 8 ? parts : nil
  }

  private static func month(_ text: some StringProtocol) -> Int? {
    months.firstIndex(of: String(text)).map { $0 + 1 }
  }

  /// The three forms of RFC 9110.
  static func httpDate(_ text: String) -> WallTime? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard let first = words.first else { return nil }
    let fields: (year: Int?, month: Int?, day: Int?, clock: [Int]?)?
    let short = weekdays.map { String($0.prefix(3)) }
    if words.count == 6, short.contains(where: { $0 + "," == first }), words[5] == "GMT" {
      fields = (
        number(words[3], digits: 4), month(words[2]), number(words[1], digits: 2), clock(words[4])
      )
    } else if words.count == 4, weekdays.contains(where: { $0 + "," == first }), words[3] == "GMT" {
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard date.count == 3, let year = number(date[2], digits: 2) else { return nil }
      fields = (
        year < 70 ? 2000 + year : 1900 + year, month(date[1]), number(date[0], digits: 2),
        clock(words[2])
      )
    } else if words.count == 5, short.contains(first) {
      fields = (
        number(words[4], digits: 4), month(words[1]), number(words[2], digits: 2), clock(words[3])
      )
    } else if words.count == 6, short.contains(first), words[2].isEmpty {
      fields = (
        number(words[5], digits: 4), month(words[1]), number(words[3], digits: 1), clock(words[4])
      )
    } else {
      fields = nil
    }
    guard let fields, let year = fields.year, let month = fields.month, let day = fields.day,
      let clock = fields.clock,
      let seconds = seconds(year, month, day, clock[0], clock[1], clock[2])
    else { return nil }
    return WallTime(milliseconds: Int64(seconds) * 1000)
  }

  /// `YYYY-MM-DD?HH:MM[:SS[.fraction]]` and a zone.
  static func iso8601(_ text: String) -> WallTime? {
    let characters = Array(text.unicodeScalars).map(String.init)
    guard characters.count >= 17 else { return nil }
    func field(_ range: Range<Int>) -> Int? {
      number(characters[range].joined(), digits: range.count)
    }
    let marks = [4, 7, 10, 13].map { characters[$0] }
    guard marks[0] == "-", marks[1] == "-", ["T", "t", " "].contains(marks[2]), marks[3] == ":",
      let year = field(0..<4), let month = field(5..<7), let day = field(8..<10),
      let hour = field(11..<13), let minute = field(14..<16)
    else { return nil }
    var rest = characters.dropFirst(16)
    var second = 0
    var fraction = ""
    if rest.first == ":" {
      guard let value = number(rest.dropFirst().prefix(2).joined(), digits: 2) else { return nil }
      second = value
      rest = rest.dropFirst(3)
      if rest.first == "." || rest.first == "," {
        fraction = rest.dropFirst().prefix { SecondRules.digits.contains($0) }.joined()
        guard !fraction.isEmpty else { return nil }
        rest = rest.dropFirst(1 + fraction.count)
      }
    }
    guard let offset = zone(rest.joined()),
      let seconds = seconds(year, month, day, hour, minute, second),
      let milliseconds = Int((fraction + "000").prefix(3))
    else { return nil }
    return WallTime(milliseconds: Int64((seconds - offset * 60) * 1000 + milliseconds))
  }

  /// Minutes east of Greenwich.
  private static func zone(_ text: String) -> Int? {
    if text == "Z" || text == "z" { return 0 }
    let sign = text.hasPrefix("-") ? -1 : 1
    guard text.hasPrefix("+") || text.hasPrefix("-") else { return nil }
    let digits = text.dropFirst()
    let parts =
      digits.count == 4 && !digits.contains(":")
      ? [digits.prefix(2), digits.suffix(2)]
      : digits.split(separator: ":", omittingEmptySubsequences: false)
    let values = parts.compactMap { number($0, digits: 2) }
    guard values.count == parts.count, (1...2).contains(values.count), values[0] <= 23,
      values.count == 1 || values[1] <= 59
    else { return nil }
    return sign * (values[0] * 60 + (values.count == 2 ? values[1] : 0))
  }

  /// Seconds, or a date counted from `now`.
  static func retryAfter(_ text: String, now: WallTime?) -> Duration? {
    if SecondRules.isMade(text, of: SecondRules.digits, 1...Int.max) {
      return .seconds(min(Int(text) ?? .max, 2_147_483_647))
    }
    guard let now, let until = httpDate(text) else { return nil }
    return .milliseconds(max(0, until.milliseconds - now.milliseconds))
  }
}
