/// Base64 decoding (RFC 4648 §4 and §5).
enum Base64 {
  enum Alphabet {
    /// `+` and `/`.
    case standard
    /// `-` and `_`, as in a JWT.
    case url
  }

  /// The bytes, or nil where the text has a foreign character or an impossible length. Padding may
  /// be missing; where present it must be right.
  static func decode(_ text: some Sequence<UInt8>, _ alphabet: Alphabet) -> [UInt8]? {
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
