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
  fileprivate func with(retryAfter delay: Duration?) -> FailureClass {
    switch self {
    case .transient: .transient(retryAfter: delay)
    case .throttled: .throttled(retryAfter: delay)
    default: self
    }
  }
}
