/// One response line, rendered once and sent as often as it is asked for.
///
/// It may hold credentials and is as secret as they are, so it has no description.
public struct RenderedReply: Sendable, Equatable, Undisclosed {
  /// A JSON object and a newline.
  public let bytes: [UInt8]

  /// Renders `{"Version":1,…}` and a newline. The version is that of the credential_process format
  /// and leads every reply.
  ///
  /// - Parameter capacity: bytes to reserve, so that a reply with secrets is never copied.
  init(capacity: Int = 256, _ members: (inout JSONWriter) -> Void) {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.field("Version", 1)
    members(&writer)
    writer.endObject()
    writer.endLine()
    bytes = writer.bytes
  }

  /// Appends the line; with the id of the request it answers as its last member.
  public func append(to buffer: inout [UInt8], id: RequestID? = nil) {
    guard let id else {
      buffer.append(contentsOf: bytes)
      return
    }
    buffer.append(contentsOf: bytes.dropLast(2))
    buffer.append(contentsOf: #","Id":"#.utf8)
    buffer.append(contentsOf: id.json)
    buffer.append(contentsOf: "}\n".utf8)
  }

  public var description: String { "<reply>" }
}
