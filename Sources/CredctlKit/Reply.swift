public import CredCore

/// Checks the daemon's line. Another program may listen at the socket, so only a reply of the right
/// shape reaches standard output.
public enum Reply {
  /// The reply as a value.
  ///
  /// - Throws: a ``Failure`` if the daemon refused, or if the line is no reply to the request.
  public static func check(
    _ line: [UInt8], has shape: ReplyShape, profile: String?
  ) throws(Failure) -> JSONValue {
    let reply: JSONValue
    do {
      reply = try JSONValue.parse(line)
    } catch {
      throw noReply("it is not JSON (byte \(error.offset): \(error.message))")
    }
    // An event may report an error, which is no refusal.
    if let error = reply["Error"], !(shape.isEvent && reply["Event"] != nil) {
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

/// The members that a valid reply to a request has.
public struct ReplyShape: Sendable {
  /// Members that must be non-empty strings.
  var texts: [String] = []
  var objects: [String] = []
  var arrays: [String] = []
  /// Whether the whole line must be printable ASCII: credctl prints it unchanged, and standard
  /// output may be a terminal.
  var isPlain = false
  /// Whether the line may contain an `Error` beside its `Event`.
  var isEvent = false

  // Shapes are computed, because each run uses one shape once.

  /// The `credential_process` format.
  public static var credentials: ReplyShape {
    ReplyShape(
      texts: ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"], isPlain: true)
  }
  public static var token: ReplyShape { ReplyShape(texts: ["Token"]) }
  /// `account`.
  public static var account: ReplyShape { ReplyShape(texts: ["Profile"]) }
  /// `identity`, `login`, `logout`, `clear`.
  public static var session: ReplyShape { ReplyShape(texts: ["Profile", "State"]) }
  public static var status: ReplyShape { ReplyShape(objects: ["Daemon"], arrays: ["Sessions"]) }
  /// `status` with `profiles`.
  public static var profiles: ReplyShape { ReplyShape(arrays: ["Profiles"]) }
  public static var daemon: ReplyShape { ReplyShape(objects: ["Daemon"]) }
  /// A line of `watch`. A newer daemon may have events that belong to no profile.
  public static var event: ReplyShape { ReplyShape(texts: ["Event"], isEvent: true) }
  /// `endpoint`.
  public static var endpoint: ReplyShape { ReplyShape(texts: ["Url", "Token"], isPlain: true) }
  /// `metrics`.
  public static var metrics: ReplyShape { ReplyShape(texts: ["Metrics"]) }
  /// `check`.
  public static var check: ReplyShape { ReplyShape(arrays: ["Steps"]) }
  public static var released: ReplyShape { ReplyShape(texts: ["Profile"]) }

  /// The name of the first member that is missing or has another type.
  func firstFault(in reply: JSONValue) -> String? {
    guard reply["Version"]?.integer == 1 else { return "Version" }
    if let name = texts.first(where: { reply[$0]?.secret?.isEmpty != false }) { return name }
    if let name = objects.first(where: { !Self.isObject(reply[$0]) }) { return name }
    return arrays.first { !Self.isArray(reply[$0]) }
  }

  private static func isObject(_ value: JSONValue?) -> Bool {
    guard case .object = value else { return false }
    return true
  }

  private static func isArray(_ value: JSONValue?) -> Bool {
    guard case .array = value else { return false }
    return true
  }
}
