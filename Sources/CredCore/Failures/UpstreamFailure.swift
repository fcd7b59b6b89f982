/// Why a call to Cognito, to STS or to a backend gave nothing, and what follows from it.
///
/// The core makes them from `FailureTable` alone. Holds no secret.
public struct UpstreamFailure: Error, Sendable, Equatable {
  /// Who has to do something about it, and so at which level it is logged.
  public enum Severity: Sendable {
    /// Part of normal life: an expired token, a network that is away.
    case expected
    /// Stays until a person changes something.
    case operatorMustAct
  }

  public let upstream: Upstream
  /// What the session does about it.
  public let failureClass: FailureClass
  /// What a client of the line protocol is told, where the session can do nothing more.
  public let code: ProtocolErrorCode
  /// One line for a person: what happened and what to do.
  public let message: String
  public let severity: Severity
  /// No call was made: ``Admission`` held it back.
  public internal(set) var isWithheld = false

  public init(
    upstream: Upstream, failureClass: FailureClass, code: ProtocolErrorCode, message: String,
    severity: Severity
  ) {
    self.upstream = upstream
    self.failureClass = failureClass
    self.code = code
    self.message = message
    self.severity = severity
  }

  init(_ upstream: Upstream, _ row: FailureTable.Row, retryAfter: Duration?, said: String?) {
    let detail = said.map { " (\($0))" } ?? ""
    self.init(
      upstream: upstream, failureClass: row.failureClass.with(retryAfter: retryAfter),
      code: row.code ?? upstream.unavailable, message: "\(upstream)\(row.message)\(detail)",
      severity: row.severity)
  }
}

extension UpstreamFailure {
  /// What a client is told: with a time where time alone may heal it, and none where a person must
  /// act first.
  public var protocolError: ProtocolError {
    let pause = failureClass.retryAfter ?? .seconds(1)
    return ProtocolError(code, message, retryAfter: failureClass.isTransient ? pause : nil)
  }
}

extension Upstream {
  /// The code for "it cannot be used now".
  var unavailable: ProtocolErrorCode {
    switch self {
    case .cognitoIdentity, .sts: .cognitoUnavailable
    case .backend: .backendUnavailable
    }
  }
}

extension FailureClass {
  /// The same class with another delay; unchanged if the class has none.
  func with(retryAfter delay: Duration?) -> FailureClass {
    switch self {
    case .transient: .transient(retryAfter: delay)
    case .throttled: .throttled(retryAfter: delay)
    default: self
    }
  }
}

/// What a session does about a failure of an upstream call. None of them is final: even the last
/// ones are tried again after a long back-off, because an operator may have mended the cause.
public enum FailureClass: Sendable, Hashable {
  /// Back off with jitter and try again; no sooner than what the server asked for.
  case transient(retryAfter: Duration?)
  /// The same, and the rate limit has been too generous.
  case throttled(retryAfter: Duration?)
  /// Ask the backend for a new token, once; if it happens again with that one, back off.
  case newTokenOnce
  /// Forget the IdentityId, then ask the backend for a new token, once.
  case dropIdentityThenNewToken
  /// Ask the backend again, without telling it an IdentityId.
  case retryWithoutIdentity
  /// Forget the IdentityId and get a new one, once; if it happens again, the pool is wrong.
  case newIdentity
  /// Only the user can go on: sign in, again.
  case signInRequired
  /// A sign-in was refused: wrong user name or password.
  case signInFailed
  /// The backend knows the user and says no.
  case refusedByBackend
  /// The backend does not know the user.
  case unknownUser
  /// The login is linked to another identity.
  case conflict
  /// The identity pool, its roles or their trust must be changed.
  case poolMisconfigured
  /// credd's configuration, or the backend, must be changed.
  case permanentConfiguration

  /// Whether time alone may heal it.
  public var isTransient: Bool {
    switch self {
    case .transient, .throttled: true
    default: false
    }
  }

  /// How long the server asked to be left alone.
  public var retryAfter: Duration? {
    switch self {
    case .transient(let delay), .throttled(let delay): delay
    default: nil
    }
  }
}

/// Whom credd called.
public enum Upstream: Sendable, Hashable, CustomStringConvertible {
  case cognitoIdentity
  case sts
  /// By the name of its section in the configuration.
  case backend(String)

  public var description: String {
    switch self {
    case .cognitoIdentity: "Cognito"
    case .sts: "STS"
    case .backend(let name): "backend \(name)"
    }
  }
}

/// Why no answer arrived, or none that could be taken for one.
public enum TransportFailure: Error, Sendable, Hashable, CaseIterable {
  /// The host name could not be resolved.
  case nameResolution
  /// No connection: refused, unreachable, or the proxy said no.
  case connect
  /// The TLS handshake failed, without a doubt about who is at the other end.
  case tls
  /// The certificate is not one that credd may trust for that host.
  case certificate
  /// The deadline passed.
  case timeout
  /// The connection broke before the answer was whole.
  case reset
  /// More bytes than the upstream's limit in ``Limits``.
  case tooLarge
  /// Not HTTP.
  case malformed
  /// The library that speaks HTTP and TLS cannot be loaded on this host.
  case noLibrary
}

extension UpstreamFailure {
  /// No answer arrived.
  public static func transport(_ failure: TransportFailure, from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.transport(failure), retryAfter: nil, said: nil)
  }

  /// A request that was not sent, because Cognito or HTTP does not allow it.
  public static func notSent(_ input: InvalidInput, to upstream: Upstream) -> Self {
    Self(upstream, FailureTable.notSent, retryAfter: nil, said: input.description)
  }

  /// A success that is none: what is missing or absurd in it.
  static func malformed(_ input: InvalidInput, from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.malformedReply, retryAfter: nil, said: input.description)
  }

  /// An answer for another pool than the one asked for.
  static func wrongPool(from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.wrongPool, retryAfter: nil, said: nil)
  }

  /// An answer of Cognito or STS that is not a success.
  ///
  /// - Parameter error: its name without namespace and its message, where the answer had them.
  static func aws(
    _ reply: HTTPReply, _ error: RemoteError?, from upstream: Upstream, table: [FailureTable.Row]
  ) -> Self {
    let rows = table + FailureTable.anyService
    let known = error.flatMap { rows.first(where: $0.fits) }
    let row = known ?? awsRow(reply, named: error != nil)
    return Self(upstream, row, retryAfter: reply.retryAfter, said: error?.description)
  }

  /// An answer of a backend to a token callback that is not a success.
  static func backend(_ reply: HTTPReply, from upstream: Upstream, said: String?) -> Self {
    let row =
      reply.looksLikeHTML && reply.isSuccess
      ? FailureTable.html : FailureTable.backend(status: reply.status)
    return Self(
      upstream, row, retryAfter: reply.retryAfter,
      said: "status \(reply.status)\(said.map { ": \($0)" } ?? "")")
  }

  /// An answer of a backend to a sign-in that is not a success. What it says is left out: it may
  /// well repeat the password.
  static func signIn(_ reply: HTTPReply, from upstream: Upstream) -> Self {
    let row =
      reply.looksLikeHTML && reply.isSuccess
      ? FailureTable.html : FailureTable.signIn(status: reply.status)
    return Self(
      upstream, row, retryAfter: reply.retryAfter, said: "status \(reply.status)")
  }

  private static func awsRow(_ reply: HTTPReply, named: Bool) -> FailureTable.Row {
    switch reply.status {
    case 300..<400: FailureTable.redirect
    case 407: FailureTable.proxyRefuses
    case 429: FailureTable.throttledByStatus
    case 511: FailureTable.html  // Network Authentication Required, RFC 6585 §6
    case 500...: FailureTable.serverFault
    case _ where reply.looksLikeHTML: FailureTable.html
    case 400..<500 where named: FailureTable.unknownRefusal
    default: FailureTable.malformedReply
    }
  }
}

extension UpstreamFailure {
  /// A backend that keeps tokens for later may hand out one that is no good any more.
  static let tokenIsOver = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .newTokenOnce, code: .tokenRejected,
    message: "the backend gave a token that has expired already; "
      + "it must fetch a new one, or this host's clock is wrong",
    severity: .operatorMustAct)

  /// A success that would be asked for again at once, without end.
  static let credentialsAreOver = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .transient(retryAfter: nil),
    code: .cognitoUnavailable,
    message: "the credentials that came have expired already; is this host's clock right?",
    severity: .operatorMustAct)
}
