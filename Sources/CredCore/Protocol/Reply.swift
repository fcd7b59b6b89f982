/// One reply line, rendered once and sent to each client that asks for it.
///
/// It may contain credentials and is as secret as they are, so it has no description.
public struct RenderedReply: Sendable, Equatable, Redacted {
  /// A JSON object and a newline.
  public let bytes: [UInt8]

  /// Renders `{"Version":1,…}` and a newline. The version is that of the credential_process format;
  /// every reply begins with it.
  ///
  /// - Parameter capacity: bytes to reserve. A reply with secrets is then never copied.
  init(capacity: Int = 256, _ members: (inout JSONWriter) -> Void) {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.field("Version", 1)
    members(&writer)
    writer.endObject()
    writer.endLine()
    bytes = writer.bytes
  }

  /// Appends the line, with the request's id as its last member.
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
  /// The reply to `get`: exactly the credential_process format, in its documented order.
  public static func credentials(_ credentials: Credentials) -> RenderedReply {
    RenderedReply(capacity: 256 + credentials.sessionToken.count) { writer in
      writer.field("AccessKeyId", credentials.accessKeyID)
      writer.field("SecretAccessKey", credentials.secretAccessKey)
      writer.field("SessionToken", credentials.sessionToken)
      writer.field("Expiration", credentials.expiration)
      writer.field("AccountId", credentials.accountID)
    }
  }

  /// The reply to `token`. It has no `Expiration` if the token has none.
  public static func token(_ token: DeveloperToken, of identityID: IdentityID) -> RenderedReply {
    RenderedReply(capacity: 256 + token.token.count) { writer in
      writer.field("IdentityId", identityID)
      writer.field("Token", token.token)
      writer.field("Expiration", token.expiration)
    }
  }

  /// The reply to `token` with a user pool's token.
  public static func token(_ token: HeldProviderToken, of identityID: IdentityID?) -> RenderedReply
  {
    RenderedReply(capacity: 256 + token.token.count) { writer in
      writer.field("IdentityId", identityID)
      writer.field("Token", token.token)
      writer.field("Expiration", token.expiration)
    }
  }

  /// The reply to `identity`, `login`, `respond`, `logout` and `clear`: the session's state.
  ///
  /// - Parameter logoutURL: the page that ends the browser's own session at a provider.
  public static func session(
    profile: String, state: ReportedState, identityID: IdentityID? = nil,
    signedIn: SignedIn? = nil, logoutURL: String? = nil, derived: DerivedReport? = nil
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("State", state.rawValue)
      writer.field("IdentityId", identityID)
      writer.append(signedIn)
      writer.append(derived)
      writer.field("LogoutUrl", logoutURL)
    }
  }

  /// The reply to `release`.
  ///
  /// - Parameter waiters: the number of waiting requests that were answered.
  public static func released(profile: String, waiters: Int) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("Released", Int64(waiters))
    }
  }

  /// The reply to `endpoint`.
  ///
  /// - Parameter networkNamespace: the cookie of the listener's namespace; nil if the kernel gives
  ///   none.
  public static func endpoint(
    url: String, token: Secret, networkNamespace: UInt64?
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Url", url)
      writer.field("Token", token)
      writer.field("NetworkNamespace", networkNamespace.flatMap { Int64(exactly: $0) })
    }
  }

  /// The reply to `metrics`: text in Prometheus' classic format.
  public static func metrics(_ text: [UInt8]) -> RenderedReply {
    RenderedReply(capacity: 2 * text.count) { writer in
      writer.field("Metrics", String(decoding: text, as: UTF8.self))
    }
  }

  /// The reply to `ping`.
  ///
  /// - Parameters:
  ///   - operations: what there is over a socket with a cap; nil for all.
  ///   - profiles: those that are open to the caller there.
  public static func ping(
    version: String, pid: Int32, operations: Set<String>? = nil, profiles: [String] = []
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Daemon") { writer in
        writer.field("Version", version)
        writer.field("Pid", Int64(pid))
      }
      writer.field("Protocol", Int64(ProtocolVersion.number))
      writer.field("Operations", ProtocolVersion.operations(among: operations))
      writer.field("Features", ProtocolVersion.features(of: operations))
      guard operations != nil else { return }
      writer.key("Profiles")
      writer.beginArray()
      for profile in profiles {
        writer.beginObject()
        writer.field("Profile", profile)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  public static func error(_ error: ProtocolError) -> RenderedReply {
    RenderedReply { writer in writer.field("Error", error) }
  }
}

/// An error in a reply.
public struct ProtocolError: Error, Equatable, Sendable {
  public var code: ProtocolErrorCode
  /// One line that says what to do, without a secret. It may quote the client's request, so it is
  /// sent to that client and not logged.
  public var message: String
  /// The time after which a new request may succeed; sent in whole seconds, rounded up.
  public var retryAfter: Duration?
  public var kind: ProtocolErrorKind
  /// The upstream's name for the error, `[A-Za-z]{1,64}`.
  public var reason: String?
  /// The challenge that may be answered again.
  public var handle: ChallengeHandle?
  /// Whether a password was perhaps refused. Then it counts as wrong, but clients are not told.
  public var mayJudgeSecret = false
  /// Whether the trouble is of a derived profile's source. What it names is not for everybody: see
  /// ``toldElsewhere``.
  public var isOfSource = false
  /// The message for a client that is not the user whom the error concerns; nil if every client
  /// gets ``message``.
  public var messageForOthers: String?

  public init(_ code: ProtocolErrorCode, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
    kind = code.kind
  }

  /// This error, without an upstream's text about another user.
  public var forOthers: ProtocolError {
    var error = self
    if let messageForOthers { error.message = messageForOthers }
    return error
  }

  /// A line is over the limit. The daemon closes the connection after this reply, because the start
  /// of the next request is unknown.
  public static let requestTooLarge = ProtocolError(
    .requestTooLarge, "a request line must not be longer than \(Limits.Line.bytes) bytes")

  /// The answer to everybody at a socket with a cap that has no section, or is not passed as one.
  public static let closedSocket = ProtocolError(
    .accessDenied, "credd serves nothing at this socket: its journal says why")

  /// Over a socket with a cap, the trouble of a source that the socket does not have.
  public static let toldElsewhere =
    "the profile's source gave nothing: outside of this socket credd says why"

  /// What a user does about a `SignInRequired` over a socket with a cap.
  public static let signInElsewhere = "sign in outside of this socket"
}

/// The error codes of replies. Scripts depend on the spelling.
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
  /// The backend refuses to make or to change the account.
  case accountRefused = "AccountRefused"
  /// The account is not confirmed yet.
  case confirmationRequired = "ConfirmationRequired"
  /// The user must set a new password, with a code.
  case passwordResetRequired = "PasswordResetRequired"
  /// The handle of a challenge is not the caller's, has ended or is too old.
  case unknownChallenge = "UnknownChallenge"
  /// The endpoint is off: credd serves no HTTP clients.
  case endpointOff = "EndpointOff"
  case timeout = "Timeout"
  case tooManyRequests = "TooManyRequests"
  case shuttingDown = "ShuttingDown"
  case `internal` = "Internal"
}

/// The kinds of errors, for clients that do not know the code.
public enum ProtocolErrorKind: String, Sendable, Hashable, CaseIterable {
  /// The request is wrong.
  case request
  /// The user may not do this.
  case denied
  /// The user must sign in.
  case signIn
  /// The same request may succeed later.
  case temporary
  /// Nothing changes until an operator acts.
  case permanent
}

extension ProtocolErrorCode {
  /// The kind of most errors of this code.
  public var kind: ProtocolErrorKind {
    switch self {
    case .invalidRequest, .requestTooLarge, .unknownOperation, .unknownProfile: .request
    case .accessDenied, .backendRejected, .accountRefused: .denied
    case .signInRequired, .signInFailed, .tokenRejected, .confirmationRequired,
      .passwordResetRequired, .unknownChallenge:
      .signIn
    case .backendUnavailable, .cognitoUnavailable, .throttled, .timeout, .tooManyRequests,
      .shuttingDown:
      .temporary
    case .identityConflict, .poolMisconfigured, .endpointOff, .internal: .permanent
    }
  }
}
