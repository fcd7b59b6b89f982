extension JSONParser {
  /// The string at the position, escapes undone. The position is at the opening quote.
  mutating func parseString() throws(JSONError) -> [UInt8] {
    let quote = position
    position += 1
    let start = position
    try skipPlainText(from: quote)
    guard bytes[position] != UInt8(ascii: "\"") else {
      position += 1
      return Array(bytes[start..<(position - 1)])
    }
    return try parseEscapedString(quote: quote, plain: start..<position)
  }

  /// Continues at the first backslash of a string.
  private mutating func parseEscapedString(
    quote: Int, plain: Range<Int>
  ) throws(JSONError) -> [UInt8] {
    var content = Array(bytes[plain])
    while bytes[position] == UInt8(ascii: "\\") {
      try parseEscape(into: &content)
      let start = position
      try skipPlainText(from: quote)
      content.append(contentsOf: bytes[start..<position])
    }
    position += 1
    return content
  }

  /// Moves the position to the next quote or backslash.
  private mutating func skipPlainText(from quote: Int) throws(JSONError) {
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        return
      case 0x00..<0x20:
        throw error("control character in a string")
      case 0x20..<0x80:
        position += 1
      default:
        guard let length = UTF8Sequence.length(in: bytes, at: position) else {
          throw error("invalid UTF-8")
        }
        position += length
      }
    }
    throw error("the string that starts at byte \(quote) has no end")
  }

  private mutating func parseEscape(into content: inout [UInt8]) throws(JSONError) {
    let backslash = position
    position += 1
    let escaped = current
    position += 1
    switch escaped {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
      content.append(bytes[position - 1])
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"):
      content.append(contentsOf: Character(try parseUnicodeEscape(backslash)).utf8)
    default: throw error("invalid escape", at: backslash)
    }
  }

  /// The scalar of `\uXXXX` or of a surrogate pair `\uD83D\uDE00`. The position is after the first
  /// `u`.
  private mutating func parseUnicodeEscape(
    _ backslash: Int
  ) throws(JSONError) -> Unicode.Scalar {
    let first = try parseHexadecimal(backslash)
    guard first != 0 else { throw error("NUL in a string", at: backslash) }
    if let scalar = Unicode.Scalar(first) { return scalar }
    let unpaired = error("unpaired surrogate", at: backslash)
    guard first < 0xDC00, bytes[position...].starts(with: #"\u"#.utf8) else { throw unpaired }
    let low = position
    position += 2
    let second = try parseHexadecimal(low)
    guard (0xDC00...0xDFFF).contains(second) else { throw unpaired }
    let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
    guard let scalar = Unicode.Scalar(value) else { throw unpaired }
    return scalar
  }

  private mutating func parseHexadecimal(_ backslash: Int) throws(JSONError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = current.flatMap(Hex.value) else {
        throw error("expected 4 hexadecimal digits after '\\u'", at: backslash)
      }
      value = value << 4 | UInt16(digit)
      position += 1
    }
    return value
  }
}
