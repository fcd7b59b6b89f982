public import CredCore

/// Reads the daemon's line. Whatever listens at the socket, only what has the shape of a good reply
/// gets to standard output.
public enum Reply {
  /// The reply as a value.
  ///
  /// - Throws: a ``Failure`` where the daemon refused, or where this is no reply to the verb.
  public static func check(
    _ line: [UInt8], has shape: ReplyShape, profile: String?
  ) throws(Failure) -> JSONValue {
    let reply: JSONValue
    do {
      reply = try JSONValue.parse(line)
    } catch {
      throw noReply("it is not JSON (byte \(error.offset): \(error.message))")
    }
    if let error = reply["Error"] {
      guard let refusal = Refusal(error) else { throw noReply("its Error has no code or message") }
      throw Failure(refusal, profile: profile)
    }
    guard !shape.isPlain || line.allSatisfy({ $0 == 0x0A || (0x20...0x7E).contains($0) }) else {
      throw noReply("it is not printable ASCII")
    }
    if let name = shape.firstFault(in: reply) {
      throw noReply("its \(name) is missing or wrong")
    }
    return reply
  }

  private static func noReply(_ why: String) -> Failure {
    Failure(
      .unavailable, "the reply is not one of credd's, \(why): check that credd listens there")
  }
}
