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
