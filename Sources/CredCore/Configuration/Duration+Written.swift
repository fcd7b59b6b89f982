extension Duration {
  /// Units as people write them, the largest first.
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// Reads `90s`, `5m`, `1h30m`, `500ms`, or a bare number of seconds. Each unit occurs once, the
  /// larger first; nil for anything else.
  init?(written text: String) {
    var rest = Array(text.utf8)[...]
    var units = Duration.units[...]
    var milliseconds: Int64 = 0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix(while: \.isDigit)
      // Nine digits are 31 years in seconds, and no sum of them overflows.
      guard !digits.isEmpty, digits.count <= 9,
        let number = Int64(String(decoding: digits, as: UTF8.self))
      else { return nil }
      rest = rest[digits.endIndex...]
      let letters = rest.prefix { !$0.isDigit }
      rest = rest[letters.endIndex...]
      let isBare = letters.isEmpty && digits.startIndex == 0
      let name = isBare ? "s" : String(decoding: letters, as: UTF8.self)
      guard let unit = units.firstIndex(where: { $0.name == name }) else { return nil }
      milliseconds += number * units[unit].milliseconds
      units = units[(unit + 1)...]
    }
    self = .milliseconds(milliseconds)
  }

  /// The duration as `init(written:)` reads it, in whole milliseconds.
  var written: String {
    var rest = wholeNanoseconds / 1_000_000
    var text = ""
    for unit in Duration.units where rest >= unit.milliseconds {
      text += "\(rest / unit.milliseconds)\(unit.name)"
      rest %= unit.milliseconds
    }
    return text.isEmpty ? "0s" : text
  }
}
