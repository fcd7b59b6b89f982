extension WallTime {
  /// `Sun Nov 5 00:30:09 UTC 2023`: the TIMESTAMP of user pools, in English, with no zero or space
  /// before the day. The pool refuses a padded day like a wrong password.
  var userPoolTimestamp: String {
    let seconds = milliseconds.dividedDown(by: 1000)
    let time = CivilTime(secondsSince1970: seconds)
    let clock = [time.hour, time.minute, time.second].map(Self.twoDigits).joined(separator: ":")
    let year = Self.twoDigits(time.year / 100) + Self.twoDigits(time.year % 100)
    return "\(Self.weekday(of: seconds)) \(Self.months[time.month - 1]) \(time.day) \(clock) UTC "
      + year
  }

  private static func weekday(of seconds: Int64) -> String {
    // 1970 began on a Thursday.
    let days = Int(seconds.dividedDown(by: 86_400)) + 3
    return weekdays[days - 7 * days.dividedDown(by: 7)]
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
