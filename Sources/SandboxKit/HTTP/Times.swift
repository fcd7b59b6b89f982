public import FoundationEssentials

extension Date {
  /// Whole seconds since 1970, rounded down, as token claims count.
  var epochSeconds: Int { Int(timeIntervalSince1970.rounded(.down)) }

  /// `2015-09-22T18:08:03Z`.
  var iso8601Text: String { formatted(.iso8601) }

  /// Reads `2015-09-22T18:08:03Z` and nothing else.
  init?(iso8601Text text: String) {
    guard text.utf8.count == 20, let date = try? Date(text, strategy: .iso8601) else { return nil }
    self = date
  }

  /// Reads `20150922T180803Z`, the basic form of Signature Version 4.
  init?(basicISO8601Text text: String) {
    let characters = Array(text)
    guard characters.count == 16, characters.allSatisfy(\.isASCII) else { return nil }
    func part(_ range: Range<Int>) -> String { String(characters[range]) }
    self.init(
      iso8601Text: "\(part(0..<4))-\(part(4..<6))-\(part(6..<11)):\(part(11..<13)):\(part(13..<16))"
    )
  }

  /// `20150922T180803Z`.
  var basicISO8601Text: String { iso8601Text.filter { $0 != "-" && $0 != ":" } }

  /// The HTTP `Date` field (RFC 9110, IMF-fixdate).
  public var httpText: String {
    let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let text = Array(iso8601Text)
    guard text.count == 20, let month = Int(String(text[5..<7])), (1...12).contains(month) else {
      return iso8601Text
    }
    let weekday = ((epochSeconds / 86_400) % 7 + 7) % 7
    return "\(days[weekday]), \(String(text[8..<10])) \(months[month - 1]) "
      + "\(String(text[0..<4])) \(String(text[11..<19])) GMT"
  }
}
