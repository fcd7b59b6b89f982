/// An `application/x-www-form-urlencoded` body, built in order.
struct FormBody: Undisclosed {
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
