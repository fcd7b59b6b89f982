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
