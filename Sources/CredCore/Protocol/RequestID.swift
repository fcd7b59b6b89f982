/// What a client calls its request: a string or a number that comes back with the reply.
public struct RequestID: Sendable, Hashable {
  /// The value as JSON, ready to be put into a reply. A number is spelled as it came.
  public let json: [UInt8]

  public init(_ number: Int64) {
    json = Array(String(number).utf8)
  }

  public init(_ text: String) {
    var writer = JSONWriter()
    writer.string(text)
    json = writer.bytes
  }

  /// Nil for what is neither a string nor a number, or longer than `Limits.requestIDBytes`.
  init?(_ value: JSONValue) {
    var writer = JSONWriter()
    switch value {
    case .number(let digits) where digits.utf8.count <= Limits.requestIDBytes:
      writer.raw(Array(digits.utf8))
    case .string(let text) where text.count <= Limits.requestIDBytes:
      writer.string(text)
    default:
      return nil
    }
    json = writer.bytes
  }
}
