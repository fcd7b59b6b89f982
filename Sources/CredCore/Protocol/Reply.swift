/// One response line, rendered once and sent as often as it is asked for.
///
/// It may hold credentials and is as secret as they are, so it has no description.
public struct RenderedReply: Sendable, Equatable, Redacted {
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

extension RenderedReply {
  /// The answer to `get`: exactly the credential_process format, in its documented order.
  public static func credentials(_ credentials: Credentials) -> RenderedReply {
    RenderedReply(capacity: 256 + credentials.sessionToken.count) { writer in
      writer.field("AccessKeyId", credentials.accessKeyID)
      writer.field("SecretAccessKey", credentials.secretAccessKey)
      writer.field("SessionToken", credentials.sessionToken)
      writer.field("Expiration", credentials.expiration)
      writer.field("AccountId", credentials.accountID)
    }
  }

  /// The answer to `token`. `Expiration` is missing where the token does not say.
  public static func token(_ token: DeveloperToken, of identityID: IdentityID) -> RenderedReply {
    RenderedReply(capacity: 256 + token.token.count) { writer in
      writer.field("IdentityId", identityID)
      writer.field("Token", token.token)
      writer.field("Expiration", token.expiration)
    }
  }

  /// The answer to `identity`, `login`, `logout` and `clear`: how the session stands now.
  public static func session(
    profile: String, state: ReportedState, identityID: IdentityID? = nil
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("State", state.rawValue)
      writer.field("IdentityId", identityID)
    }
  }

  /// The answer to `release`.
  ///
  /// - Parameter waiters: how many callers were let go.
  public static func released(profile: String, waiters: Int) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("Released", Int64(waiters))
    }
  }

  /// The answer to `ping`.
  public static func ping(version: String, pid: Int32) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Daemon") { writer in
        writer.field("Version", version)
        writer.field("Pid", Int64(pid))
      }
    }
  }

  public static func error(_ error: ProtocolError) -> RenderedReply {
    RenderedReply { writer in writer.field("Error", error) }
  }
}

/// An error as a client is told it.
public struct ProtocolError: Error, Equatable, Sendable {
  public var code: ProtocolErrorCode
  /// One line that says what to do, without a secret. It may quote what the client itself sent, so
  /// it goes to that client and not into a log.
  public var message: String
  /// When asking again may help; told in whole seconds, rounded up.
  public var retryAfter: Duration?

  public init(_ code: ProtocolErrorCode, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// For a line over the limit. The connection is closed after it, since nobody knows where the
  /// next request starts.
  public static let requestTooLarge = ProtocolError(
    .requestTooLarge, "a request line must not be longer than \(Limits.Line.bytes) bytes")
}

/// Every error code that a reply can carry; scripts rely on the spelling.
public enum ProtocolErrorCode: String, Sendable, Hashable, CaseIterable {
  case invalidRequest = "InvalidRequest"
  case requestTooLarge = "RequestTooLarge"
  case unknownOperation = "UnknownOperation"
  case unknownProfile = "UnknownProfile"
  case accessDenied = "AccessDenied"
  case signInRequired = "SignInRequired"
  case signInFailed = "SignInFailed"
  case backendRejected = "BackendRejected"
  case backendUnavailable = "BackendUnavailable"
  case tokenRejected = "TokenRejected"
  case throttled = "Throttled"
  case cognitoUnavailable = "CognitoUnavailable"
  case identityConflict = "IdentityConflict"
  case poolMisconfigured = "PoolMisconfigured"
  case timeout = "Timeout"
  case tooManyRequests = "TooManyRequests"
  case shuttingDown = "ShuttingDown"
  case `internal` = "Internal"
}
