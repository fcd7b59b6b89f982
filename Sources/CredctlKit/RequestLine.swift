public import CredCore

/// One request of the line protocol.
public struct RequestLine: Sendable {
  var writer = JSONWriter(capacity: 256)

  public init(operation: String, profile: String? = nil) {
    writer.beginObject()
    writer.key("op")
    writer.string(operation)
    if let profile { add("profile", profile) }
  }

  public mutating func add(_ key: String, _ value: String) {
    writer.key(key)
    writer.string(value)
  }

  public mutating func add(_ key: String, _ value: Secret) {
    writer.key(key)
    writer.string(value)
  }

  /// An object of provider → token.
  public mutating func add(_ key: String, _ logins: [(provider: String, token: Secret)]) {
    writer.key(key)
    writer.beginObject()
    for login in logins {
      writer.key(login.provider)
      writer.string(login.token)
    }
    writer.endObject()
  }

  public mutating func add(_ key: String, _ values: [String]) {
    writer.key(key)
    writer.beginArray()
    for value in values { writer.string(value) }
    writer.endArray()
  }

  public mutating func add(_ key: String, _ value: Bool) {
    writer.key(key)
    writer.bool(value)
  }

  public mutating func add(_ key: String, _ value: Int) {
    writer.key(key)
    writer.integer(Int64(value))
  }

  public mutating func add(_ key: String, _ value: Seconds) {
    writer.key(key)
    writer.raw(value.json)
  }

  /// The line with its newline.
  public consuming func finished() -> [UInt8] {
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }
}
