extension JSONParser {
  /// The number at the position, as written: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE][+-]?[0-9]+)?`.
  mutating func parseNumber() throws(JSONError) -> String {
    let start = position
    if current == UInt8(ascii: "-") { position += 1 }
    if current == UInt8(ascii: "0") {
      position += 1
      guard !isAtDigit else { throw error("a number must not start with 0", at: start) }
    } else {
      try skipDigits()
    }
    if current == UInt8(ascii: ".") {
      position += 1
      try skipDigits()
    }
    if let byte = current, byte | 0x20 == UInt8(ascii: "e") {
      position += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
      try skipDigits()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private var isAtDigit: Bool {
    guard let byte = current else { return false }
    return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// Steps over at least one digit.
  private mutating func skipDigits() throws(JSONError) {
    guard isAtDigit else { throw error("expected a digit") }
    while isAtDigit { position += 1 }
  }
}
