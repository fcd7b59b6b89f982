internal import CredCore

/// What a good reply to a verb holds, so that nothing else is ever taken for one.
public struct ReplyShape: Sendable {
  /// Members that must be non-empty strings.
  var texts: [String] = []
  var objects: [String] = []
  var arrays: [String] = []
  /// Nothing but printable ASCII stands in the whole line: it goes to standard output as it is, which
  /// may be a terminal.
  var isPlain = false

  /// The `credential_process` format.
  public static let credentials = ReplyShape(
    texts: ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"], isPlain: true)
  public static let token = ReplyShape(texts: ["IdentityId", "Token"])
  /// `identity`, `login`, `logout`, `clear`.
  public static let session = ReplyShape(texts: ["Profile", "State"])
  public static let status = ReplyShape(objects: ["Daemon"], arrays: ["Sessions"])
  public static let daemon = ReplyShape(objects: ["Daemon"])
  /// A line of `watch`.
  public static let event = ReplyShape(texts: ["Event", "Profile"])
  public static let released = ReplyShape(texts: ["Profile"])

  /// The name of the first member that is missing or of another type.
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
