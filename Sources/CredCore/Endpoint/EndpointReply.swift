/// The statuses of the endpoint. A status tells an SDK whether to ask again: 4xx if waiting does
/// not help, and 503 only if a later request may succeed.
public enum EndpointStatus: Int, Sendable, CaseIterable {
  case ok = 200
  case badRequest = 400
  case unauthorized = 401
  case forbidden = 403
  case notFound = 404
  case methodNotAllowed = 405
  case tooManyRequests = 429
  case unavailable = 503

  /// The line that begins an answer.
  var line: String {
    let reason =
      switch self {
      case .ok: "OK"
      case .badRequest: "Bad Request"
      case .unauthorized: "Unauthorized"
      case .forbidden: "Forbidden"
      case .notFound: "Not Found"
      case .methodNotAllowed: "Method Not Allowed"
      case .tooManyRequests: "Too Many Requests"
      case .unavailable: "Service Unavailable"
      }
    return "HTTP/1.1 \(rawValue) \(reason)\r\n"
  }

  /// The status for the error with which a session's request ended.
  public init(_ error: ProtocolError) {
    self =
      switch error.kind {
      case .temporary: error.code == .tooManyRequests ? .tooManyRequests : .unavailable
      case .request, .denied, .signIn, .permanent: .forbidden
      }
  }
}

/// An answer of the endpoint, rendered once. It may hold credentials and is as secret as they are.
public struct EndpointReply: Sendable, Equatable, Redacted {
  public let status: EndpointStatus
  public let bytes: [UInt8]
  /// Whether the connection is closed after the answer.
  public let closes: Bool

  public var description: String { "<reply \(status.rawValue)>" }

  /// - Parameter omitsBody: whether the answer gives the body's length without the body, as for
  ///   HEAD.
  init(
    _ status: EndpointStatus, type: String = "application/json", body: [UInt8], closes: Bool,
    omitsBody: Bool = false
  ) {
    self.status = status
    self.closes = closes
    var head = status.line
    head += "Content-Type: \(type)\r\nContent-Length: \(body.count)\r\nCache-Control: no-store\r\n"
    if status == .methodNotAllowed { head += "Allow: GET\r\n" }
    if closes { head += "Connection: close\r\n" }
    head += "\r\n"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(head.utf8.count + body.count)
    bytes += head.utf8
    if !omitsBody { bytes += body }
    self.bytes = bytes
  }
}

extension EndpointReply {
  /// Credentials as the SDKs read them: `Token`, whole seconds, a flat object of strings.
  public static func credentials(_ credentials: Credentials, closes: Bool) -> EndpointReply {
    var writer = JSONWriter(capacity: 256 + credentials.sessionToken.count)
    writer.beginObject()
    writer.field("AccessKeyId", credentials.accessKeyID)
    writer.field("SecretAccessKey", credentials.secretAccessKey)
    writer.field("Token", credentials.sessionToken)
    writer.field("Expiration", credentials.expiration)
    writer.field("AccountId", credentials.accountID)
    writer.endObject()
    return EndpointReply(.ok, body: writer.bytes, closes: closes)
  }

  public static func metrics(_ text: [UInt8], closes: Bool) -> EndpointReply {
    EndpointReply(.ok, type: "text/plain; version=0.0.4; charset=utf-8", body: text, closes: closes)
  }

  public static func refusal(_ refusal: EndpointRefusal) -> EndpointReply {
    error(
      refusal.status, code: refusal.code, message: refusal.message, omitsBody: refusal == .head)
  }

  /// The answer to a request that the service refused. A caller that may not use a profile gets the
  /// same bytes, whether the profile exists or not.
  public static func error(_ error: ProtocolError) -> EndpointReply {
    guard error.code != .unknownProfile, error.code != .accessDenied else { return forbidden }
    return self.error(
      EndpointStatus(error), code: error.code.rawValue, message: error.message, omitsBody: false)
  }

  /// The answer to a request with a token that the sender owns, but that is for another profile. It
  /// does not depend on whether there are such profiles.
  public static func tokenOfOtherProfile(_ own: String, asked: String) -> EndpointReply {
    let refusal = EndpointRefusal.token
    return error(
      refusal.status, code: refusal.code,
      message:
        "this token is for profile '\(own)', not '\(asked)': name one profile in the URL and in "
        + "LoadCredential=, then restart the unit, or run credctl endpoint \(asked)",
      omitsBody: false)
  }

  /// The daemon has no valid configuration.
  public static let unconfigured = error(
    .unavailable, code: ProtocolErrorCode.internal.rawValue,
    message: "credd cannot start: its configuration is wrong", omitsBody: false)

  private static let forbidden = error(
    .forbidden, code: ProtocolErrorCode.accessDenied.rawValue,
    message: "this is not open to this user at the endpoint, or does not exist: see the profile's "
      + "allow_ keys, or metrics_users; the journal of credd has the reason", omitsBody: false)

  /// Writes both spellings of each key: Go and Java read one, JavaScript the other.
  private static func error(
    _ status: EndpointStatus, code: String, message: String, omitsBody: Bool
  ) -> EndpointReply {
    var writer = JSONWriter(capacity: 64 + 2 * message.utf8.count)
    writer.beginObject()
    writer.field("code", code)
    writer.field("message", message)
    writer.field("Code", code)
    writer.field("Message", message)
    writer.endObject()
    return EndpointReply(status, body: writer.bytes, closes: true, omitsBody: omitsBody)
  }
}
