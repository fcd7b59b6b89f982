/// RFC 3986 §2: everything but the unreserved characters becomes `%XX`. That is what SigV4 signs
/// and what every form decoder reads back; a space is `%20`, never `+`.
enum PercentEncoding {
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

  private static let upperHex = Array("0123456789ABCDEF".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-._~".utf8.contains(byte)
  }
}
