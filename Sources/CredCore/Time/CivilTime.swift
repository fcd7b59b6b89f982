/// A date and time of day in UTC by the proleptic Gregorian calendar, without leap seconds.
///
/// Days are counted in 400-year eras that start on 1 March, which puts the leap day at the end of
/// the year and makes every formula exact for all dates.
struct CivilTime: Equatable {
  var year: Int
  /// 1 to 12.
  var month: Int
  /// 1 to 31.
  var day: Int
  var hour = 0
  var minute = 0
  /// 60 is taken for a leap second and means the same as second 0 of the next minute.
  var second = 0

  private static let daysFromMarch0000To1970 = 719_468
  private static let daysPerEra = 146_097

  /// Whole seconds since 1970; nil for a date or time that no calendar and clock has.
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
  /// The civil time of a second, before 1970 too.
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
