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

/// Hexadecimal digits, written in lower case, because SigV4 and the sample server sign that form.
public enum Hex {
  public static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }

  /// The bytes; nil for an odd length or a character that is no digit. Either case is read.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text {
      guard let value = value(of: character) else { return nil }
      if let upper = high {
        bytes.append(upper << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }

  static let digits = Array("0123456789abcdef".utf8)

  /// The value of a digit in either case; nil for any other byte.
  static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// RFC 3986 §2: each byte becomes `%XX` unless it is an unreserved character. SigV4 signs this
/// spelling and every form decoder reads it; a space is `%20`, never `+`.
public enum PercentEncoding {
  static func encode(_ text: String) -> String {
    var bytes: [UInt8] = []
    append(text.utf8, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  static func append(_ bytes: some Sequence<UInt8>, to buffer: inout [UInt8]) {
    for byte in bytes {
      if isUnreserved(byte) {
        buffer.append(byte)
      } else {
        buffer.append(UInt8(ascii: "%"))
        buffer.append(upperHex[Int(byte >> 4)])
        buffer.append(upperHex[Int(byte & 15)])
      }
    }
  }

  /// The bytes of a value in a form (`application/x-www-form-urlencoded`), where `+` is a space; nil
  /// if a `%` has no two digits after it.
  public static func decodeForm(_ text: some Sequence<UInt8>) -> [UInt8]? {
    decode(text, isForm: true)
  }

  /// The bytes of a text; nil if a `%` has no two digits after it.
  ///
  /// - Parameter isForm: whether `+` is a space.
  public static func decode(_ text: some Sequence<UInt8>, isForm: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = iterator.next().flatMap(Hex.value(of:)),
          let low = iterator.next().flatMap(Hex.value(of:))
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  private static let upperHex = Array("0123456789ABCDEF".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-._~".utf8.contains(byte)
  }
}

/// An `application/x-www-form-urlencoded` body, built in order.
struct FormBody: Redacted {
  static let contentType = "application/x-www-form-urlencoded; charset=utf-8"

  private(set) var bytes: [UInt8] = []

  mutating func append(_ name: String, _ value: String) {
    append(name, bytes: Array(value.utf8))
  }

  mutating func append(_ name: String, _ value: Secret) {
    append(name, bytes: value.bytes)
  }

  private mutating func append(_ name: String, bytes value: [UInt8]) {
    if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
    PercentEncoding.append(name.utf8, to: &bytes)
    bytes.append(UInt8(ascii: "="))
    PercentEncoding.append(value, to: &bytes)
  }
}
