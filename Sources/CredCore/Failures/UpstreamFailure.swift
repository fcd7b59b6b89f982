/// Why a call to Cognito, STS or a backend failed, and what the session does about it.
///
/// Failures of replies come from `FailureTable`. A failure holds no secret.
public struct UpstreamFailure: Error, Sendable, Equatable {
  /// Whether an operator must act, which decides the level of the log message.
  public enum Severity: Sendable {
    /// Normal operation: an expired token, an unreachable network.
    case expected
    /// It lasts until an operator changes something.
    case operatorMustAct
  }

  /// What the failure says about calls of other users to the same upstream endpoint.
  public enum Evidence: UInt8, Sendable {
    /// Nothing: the upstream answered about this user or this request.
    case none
    /// The upstream endpoint may be unavailable; or it has trouble with this user alone.
    case likely
    /// No request reached the upstream endpoint, so no user could have caused the failure.
    case certain
  }

  public let upstream: Upstream
  /// The session's reaction.
  public let failureClass: FailureClass
  /// The error code for clients, if the session cannot recover.
  public let code: ProtocolErrorCode
  /// One line for the user whom the call was about: what happened and what to do, with the
  /// upstream's own words.
  public private(set) var message: String
  /// The same without the upstream's words, which may be about that user: for all others.
  public private(set) var summary: String
  public let severity: Severity
  /// Whether a backend refuses this host, for every user.
  public internal(set) var refusesHost = false
  /// Whether a backend finds the request itself wrong, which an IdentityId may have caused that
  /// Cognito no longer knows.
  public internal(set) var findsRequestWrong = false
  /// True if ``Admission`` prevented the call.
  public internal(set) var isWithheld = false
  /// True if AWS refused the developer credentials of a `type = cognito` backend.
  public internal(set) var isOfDeveloperKeys = false
  /// True if Cognito says that a token is from another issuer than its key in the logins map names.
  public internal(set) var isOfLoginsKey = false
  public internal(set) var evidence = Evidence.none
  /// Whether the request may have been carried out although no reply came.
  public internal(set) var isReplyLost = false
  /// What a sign-in at a user pool does about it.
  public internal(set) var remedy: PoolRemedy?
  /// Whether a secret that a user gave was wrong.
  public internal(set) var judgesSecret = false
  /// Whether a secret that a user gave was perhaps wrong: a web page came in place of the backend's word.
  public internal(set) var mayJudgeSecret = false
  /// The meaning of a 401 in a web page if a later try gets it too; nil for other failures.
  @Boxed public internal(set) var ifRepeated: UpstreamFailure? = nil
  /// The upstream's own name of the error, `[A-Za-z]{1,64}`.
  public internal(set) var reason: String?
  /// What was asked of whom, what came back and how long it took, for operators: without a query,
  /// a body or a secret.
  public internal(set) var detail: String?

  public init(
    upstream: Upstream, failureClass: FailureClass, code: ProtocolErrorCode, message: String,
    summary: String? = nil, severity: Severity
  ) {
    self.upstream = upstream
    self.failureClass = failureClass
    self.code = code
    self.message = message
    self.summary = summary ?? message
    self.severity = severity
  }

  /// - Parameters:
  ///   - fact: a status or the name of an error, which is about no user.
  ///   - said: the upstream's words.
  init(
    _ upstream: Upstream, _ row: FailureTable.Row, retryAfter: Duration? = nil,
    fact: String? = nil, said: String? = nil
  ) {
    let base = "\(upstream)\(row.message)"
    let details = [fact, said].compactMap(\.self).joined(separator: ": ")
    self.init(
      upstream: upstream,
      failureClass: row.failureClass.with(retryAfter: retryAfter ?? row.failureClass.retryAfter),
      code: row.code ?? upstream.unavailable,
      message: details.isEmpty ? base : "\(base) (\(details))",
      summary: fact.map { "\(base) (\($0))" } ?? base, severity: row.severity)
    evidence = row.evidence
    remedy = row.remedy
    judgesSecret = row.judgesSecret
    isOfLoginsKey = row.isOfLoginsKey
  }
}

extension UpstreamFailure {
  /// The same failure with what happened.
  ///
  /// - Parameters:
  ///   - request: what was asked of whom.
  ///   - answer: what came back; nil if nothing did.
  public func with(request: String, answer: String?, took time: Duration) -> UpstreamFailure {
    var failure = self
    let seconds = (max(time, .zero) / .milliseconds(100)).rounded() / 10
    failure.detail = "\(request): \(answer ?? "no answer"), after \(seconds) s"
    return failure
  }

  /// The same failure of a request that was made a second time. Where tokens end after a reply was
  /// lost, that is the likely cause: the lost one had their successors.
  public func following(_ first: UpstreamFailure?) -> UpstreamFailure {
    guard failureClass == .signInRequired, first?.isReplyLost ?? false else { return self }
    var failure = self
    let cause = "; the reply to the request before was lost, and the next refresh token with it"
    failure.message += cause
    failure.summary += cause
    return failure
  }

  /// The error for clients. It has a retry time only if a later retry may succeed without a
  /// person's action.
  public var protocolError: ProtocolError {
    let pause = failureClass.retryAfter ?? .seconds(1)
    var error = ProtocolError(code, message, retryAfter: failureClass.isTransient ? pause : nil)
    if summary != message { error.messageForOthers = summary }
    error.reason = reason
    error.mayJudgeSecret = mayJudgeSecret
    // Such codes are temporary, or speak of the user, as a rule; here an operator must act first.
    let isPermanent = [.permanentConfiguration, .poolMisconfigured].contains(failureClass)
    switch error.kind {
    case .denied where isPermanent, .temporary where !failureClass.isTransient:
      error.kind = .permanent
    default: break
    }
    return error
  }
}

extension Upstream {
  /// The error code of an upstream that cannot be used now.
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

/// A session's reaction to a failed upstream call. None is final: even the last ones are retried
/// after a long back-off, because an operator may have removed the cause.
public enum FailureClass: Sendable, Hashable {
  /// Back off with jitter and try again, not before the server's `Retry-After`.
  case transient(retryAfter: Duration?)
  /// Like `transient`; in addition, the rate of calls was too high.
  case throttled(retryAfter: Duration?)
  /// Ask the backend for a new token, once; if that one fails too, back off.
  case newTokenOnce
  /// Drop the IdentityId, then ask the backend for a new token, once.
  case dropIdentityThenNewToken
  /// Ask the backend again without an IdentityId.
  case retryWithoutIdentity
  /// Drop the IdentityId and get a new one, once; if that one fails too, the pool is wrong.
  case newIdentity
  /// The user must sign in.
  case signInRequired
  /// A sign-in was refused: wrong user name or password.
  case signInFailed
  /// The backend knows the user and refuses.
  case refusedByBackend
  /// The backend does not know the user.
  case unknownUser
  /// The login is linked to another identity.
  case conflict
  /// The identity pool, its roles or their trust must be changed.
  case poolMisconfigured
  /// credd's configuration, or the backend, must be changed.
  case permanentConfiguration

  /// Whether a later retry may succeed without a person's action.
  public var isTransient: Bool {
    switch self {
    case .transient, .throttled: true
    default: false
    }
  }

  /// The pause that the server asked for.
  public var retryAfter: Duration? {
    switch self {
    case .transient(let delay), .throttled(let delay): delay
    default: nil
    }
  }
}

/// The service that credd called.
public enum Upstream: Sendable, Hashable, CustomStringConvertible {
  case cognitoIdentity
  case sts
  /// With the name of its section in the configuration.
  case backend(String)

  public var description: String {
    switch self {
    case .cognitoIdentity: "Cognito"
    case .sts: "STS"
    case .backend(let name): "backend '\(name)'"
    }
  }
}

extension UpstreamFailure {
  /// No reply arrived.
  public static func transport(_ failure: TransportFailure, from upstream: Upstream) -> Self {
    var lost = Self(upstream, FailureTable.transport(failure), fact: failure.reason)
    lost.isReplyLost = [.timeout, .reset, .tooLarge, .malformed].contains(failure.kind)
    return lost
  }

  /// A request was not sent, because Cognito or HTTP does not allow it.
  public static func notSent(_ input: InvalidInput, to upstream: Upstream) -> Self {
    Self(upstream, FailureTable.notSent, said: input.description)
  }

  /// A request was not sent, because a file that the configuration names could not be read in time.
  public static func overdueFile(_ file: InvalidInput, to upstream: Upstream) -> Self {
    Self(upstream, FailureTable.fileOverdue, said: file.description)
  }

  /// A successful reply lacks something, or has an impossible value.
  static func malformed(_ input: InvalidInput, from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.malformedReply, said: input.description)
  }

  /// The reply is for another pool than the request.
  static func wrongPool(from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.wrongPool)
  }

  /// An unsuccessful reply of Cognito or STS.
  ///
  /// - Parameter error: the error in the reply; nil if it has none.
  static func aws(
    _ reply: HTTPReply, _ error: RemoteError?, from upstream: Upstream, table: [FailureTable.Row]
  ) -> Self {
    let rows = table + FailureTable.anyService
    let known = error.flatMap { rows.first(where: $0.fits) }
    let row = known ?? awsRow(reply, named: error != nil)
    let name = row.reason ?? error?.name
    var failure = Self(
      upstream, row, retryAfter: reply.retryAfter, fact: name,
      said: row.withholdsText ? nil : error?.message)
    failure.reason = name.flatMap { Self.reason($0) }
    return failure
  }

  /// An unsuccessful reply to a token callback.
  ///
  /// - Parameters:
  ///   - row: what the status means; nil for its usual meaning.
  ///   - said: the backend's explanation.
  static func backend(
    _ reply: HTTPReply, from upstream: Upstream, _ row: FailureTable.Row? = nil, said: String?
  ) -> Self {
    let meaning = row ?? FailureTable.backend(status: reply.status)
    var failure = backend(reply, meaning, from: upstream, said: said)
    // 401 is about the host's or the user's authentication.
    failure.findsRequestWrong =
      failure.failureClass == .permanentConfiguration && reply.status != 401
      && !failure.refusesHost
    failure.reason = reason(of: reply)
    return failure
  }

  /// An unsuccessful reply to a sign-in. Its text is left out, because it may repeat the password.
  static func signIn(_ reply: HTTPReply, from upstream: Upstream) -> Self {
    let meaning = FailureTable.signIn(status: reply.status)
    var failure = backend(reply, meaning, from: upstream, said: nil)
    failure.mayJudgeSecret = !reply.refusesHost && reply.mayBeAFormsRefusal
    return failure
  }

  /// - Parameter meaning: what the reply's status means if it is the backend's own.
  private static func backend(
    _ reply: HTTPReply, _ meaning: FailureTable.Row, from upstream: Upstream, said: String?
  ) -> Self {
    func failure(_ row: FailureTable.Row) -> Self {
      var failure = Self(
        upstream, row, retryAfter: reply.retryAfter, fact: "status \(reply.status)", said: said)
      failure.refusesHost = row.refusesHost
      return failure
    }
    guard !reply.refusesHost else { return failure(FailureTable.hostNotAuthorized) }
    guard let page = FailureTable.webPage(reply) else { return failure(meaning) }
    var unsure = failure(page)
    if reply.status == 401 { unsure.ifRepeated = failure(meaning) }
    return unsure
  }

  private static func reason(of reply: HTTPReply) -> String? {
    guard let name = reply.errorCode, !reply.sent.occur(in: name.utf8) else { return nil }
    return reason(name)
  }

  /// The name as `Reason` has it; nil if it cannot be one.
  private static func reason(_ name: String) -> String? {
    (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { $0.isLetterOrDigit && !$0.isDigit }
      ? name : nil
  }

  /// An unsuccessful reply to a sign-up.
  static func signUp(_ reply: HTTPReply, from upstream: Upstream, said: String?) -> Self {
    let row = FailureTable.signUp(status: reply.status)
    var failure = backend(reply, row, from: upstream, said: said)
    failure.reason = reason(of: reply)
    return failure
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
  /// The token has expired already, for example because the backend caches tokens.
  static let tokenExpired = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .newTokenOnce, code: .tokenRejected,
    message: "the backend gave a token that has expired already; "
      + "it must fetch a new one, or this host's clock is wrong",
    severity: .operatorMustAct)

  /// A session is in a state in which its profile has no such call. The checks of stored sessions keep
  /// this from happening; if it happens, it costs one sign-in and not the daemon.
  public static func unfitSession(of upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInRequired, code: .signInRequired,
      message: "the session does not fit its profile; sign in again", severity: .operatorMustAct)
  }

  /// The new credentials have expired already. As a success they would be refreshed at once, again
  /// and again.
  static let credentialsExpired = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .transient(retryAfter: nil),
    code: .cognitoUnavailable,
    message: "the credentials that came have expired already; is this host's clock right?",
    severity: .operatorMustAct)
}

extension HTTPReply {
  /// Whether a form's server may answer a wrong password so: by the form again, by a page, or by the way
  /// to one. A server that is at fault itself does not.
  fileprivate var mayBeAFormsRefusal: Bool {
    switch status {
    case 300..<400: true
    case 407, 429, 500...: false
    default: isWebPage
    }
  }
}
