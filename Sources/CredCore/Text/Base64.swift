/// Base64 (RFC 4648 §4 and §5).
package enum Base64 {
  package enum Alphabet {
    /// `+` and `/`.
    case standard
    /// `-` and `_`, as in a JWT.
    case url
  }

  /// The bytes; nil if a character is not of the alphabet or the length is impossible. Padding may
  /// be missing; if it is there it must be right.
  package static func decode(_ text: some Sequence<UInt8>, _ alphabet: Alphabet) -> [UInt8]? {
    var output: [UInt8] = []
    var bits: UInt32 = 0
    var digits = 0
    var padding = 0
    for character in text {
      if character == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(of: character, alphabet) else { return nil }
      bits = bits << 6 | UInt32(value)
      digits += 1
      switch digits % 4 {
      case 2: output.append(UInt8(truncatingIfNeeded: bits >> 4))
      case 3: output.append(UInt8(truncatingIfNeeded: bits >> 2))
      case 0: output.append(UInt8(truncatingIfNeeded: bits))
      default: break  // the first six bits make no byte yet
      }
    }
    guard digits % 4 != 1, padding == 0 || (digits + padding) % 4 == 0, padding <= 2 else {
      return nil
    }
    return output
  }

  /// The text in the standard alphabet, padded.
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0...3 {
        text.append(
          digit <= group.count ? digits[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
      }
    }
    return text
  }

  /// The text in the URL alphabet, without padding, as in a JWT and in PKCE.
  package static func encodeURL(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(digitsForURL[Int(bits >> UInt32(count) & 63)])
      }
    }
    if count > 0 { text.append(digitsForURL[Int(bits << UInt32(6 - count) & 63)]) }
    return text
  }

  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static let digitsForURL = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func value(of character: UInt8, _ alphabet: Alphabet) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+") where alphabet == .standard: 62
    case UInt8(ascii: "/") where alphabet == .standard: 63
    case UInt8(ascii: "-") where alphabet == .url: 62
    case UInt8(ascii: "_") where alphabet == .url: 63
    default: nil
    }
  }
}
