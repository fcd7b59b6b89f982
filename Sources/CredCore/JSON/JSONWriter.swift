/// Appends compact JSON to a buffer: no white space, keys in the order of the calls.
///
/// The caller keeps brackets balanced and writes a key before each member's value.
public struct JSONWriter: Sendable, Redacted {
  public private(set) var bytes: [UInt8]
  private var needsComma = false

  /// - Parameter capacity: bytes to reserve. A text of known size is then never copied.
  public init(capacity: Int = 0) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  public mutating func beginObject() { begin(UInt8(ascii: "{")) }
  public mutating func endObject() { end(UInt8(ascii: "}")) }
  public mutating func beginArray() { begin(UInt8(ascii: "[")) }
  public mutating func endArray() { end(UInt8(ascii: "]")) }

  public mutating func key(_ key: String) {
    string(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func string(_ text: String) {
    beginValue()
    // A `String` is valid UTF-8, so only quotes, backslashes and controls are escaped.
    bytes.append(UInt8(ascii: "\""))
    // Most texts need no escape.
    if text.utf8.contains(where: Self.isEscaped) {
      for byte in text.utf8 { appendEscaped(byte) }
    } else {
      bytes.append(contentsOf: text.utf8)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Bytes that are not UTF-8 become U+FFFD, so that the text is always JSON.
  public mutating func string(_ secret: Secret) {
    beginValue()
    let content = secret.bytes
    bytes.append(UInt8(ascii: "\""))
    defer { bytes.append(UInt8(ascii: "\"")) }
    guard content.contains(where: { Self.isEscaped($0) || $0 >= 0x80 }) else {
      return bytes.append(contentsOf: content)
    }
    var index = 0
    while index < content.count {
      if content[index] < 0x80 {
        appendEscaped(content[index])
        index += 1
      } else if let length = UTF8Sequence.length(in: content, at: index) {
        bytes.append(contentsOf: content[index..<(index + length)])
        index += length
      } else {
        bytes.append(contentsOf: "\u{FFFD}".utf8)
        index += 1
      }
    }
  }

  public mutating func integer(_ value: Int64) { raw(Array(String(value).utf8)) }
  public mutating func bool(_ value: Bool) { raw(Array((value ? "true" : "false").utf8)) }

  /// Appends a value that is already JSON.
  public mutating func raw(_ json: [UInt8]) {
    beginValue()
    bytes.append(contentsOf: json)
  }

  /// Appends the newline that ends a line of the protocol.
  public mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
  }
}

extension JSONWriter {
  private mutating func begin(_ bracket: UInt8) {
    beginValue()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func beginValue() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case 0x00..<0x20, 0x7F:
      bytes.append(contentsOf: #"\u00"#.utf8)
      bytes.append(Hex.digits[Int(byte >> 4)])
      bytes.append(Hex.digits[Int(byte & 15)])
    default:
      bytes.append(byte)
    }
  }
}

/// The members of replies. A member whose value is nil is omitted.
extension JSONWriter {
  mutating func field(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  mutating func field(_ name: String, _ value: Secret) {
    key(name)
    string(value)
  }

  mutating func field(_ name: String, _ value: Int64?) {
    guard let value else { return }
    key(name)
    integer(value)
  }

  mutating func field(_ name: String, _ value: IdentityID?) {
    field(name, value?.description)
  }

  mutating func field(_ name: String, _ value: WallTime?) {
    field(name, value?.iso8601)
  }

  mutating func field(_ name: String, _ values: [String]) {
    key(name)
    beginArray()
    for value in values { string(value) }
    endArray()
  }

  mutating func field(_ name: String, object members: (inout JSONWriter) -> Void) {
    key(name)
    beginObject()
    members(&self)
    endObject()
  }

  /// `"Error":{"Code":…,"Message":…,"RetryAfter":…,"Kind":…,"Reason":…,"Handle":…}`.
  mutating func field(_ name: String, _ error: ProtocolError) {
    field(name) { writer in
      writer.field("Code", error.code.rawValue)
      writer.field("Message", error.message)
      writer.field("RetryAfter", error.retryAfter?.secondsRoundedUp)
      writer.field("Kind", error.kind.rawValue)
      writer.field("Reason", error.reason)
      writer.field("Handle", error.handle?.text)
    }
  }
}

extension Duration {
  /// Whole seconds, rounded up, never negative.
  fileprivate var secondsRoundedUp: Int64 {
    let (seconds, attoseconds) = components
    return max(0, attoseconds > 0 ? seconds + 1 : seconds)
  }
}

extension JSONWriter {
  /// `"Logins":{…}`; nothing if there are none, because an empty map means a guest to Cognito.
  mutating func logins(_ logins: LoginsMap) {
    guard !logins.isEmpty else { return }
    key("Logins")
    beginObject()
    for login in logins.logins { field(login.provider, login.token) }
    endObject()
  }
}
