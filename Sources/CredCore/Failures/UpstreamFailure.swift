/// A failed call to Cognito, STS or a backend: the reason, and the session's reaction.
///
/// Failures of replies come from `FailureTable`. A failure contains no secret.
public struct UpstreamFailure: Error, Sendable, Equatable {
  /// Whether an operator must act, which decides the level of the log message.
  public enum Severity: Sendable {
    /// Normal operation: an expired token, an unreachable network.
    case expected
    /// The failure lasts until an operator changes something.
    case operatorMustAct
  }

  /// Whether the failure is evidence for calls of other users to the same upstream endpoint.
  public enum Evidence: UInt8, Sendable {
    /// No evidence: the upstream's answer concerns this user or this request.
    case none
    /// The upstream endpoint may be unavailable, or it has trouble only with this user.
    case likely
    /// No request reached the upstream endpoint, so no user could have caused the failure.
    case certain
  }

  public let upstream: Upstream
  /// The session's reaction.
  public let failureClass: FailureClass
  /// The error code for clients, if the session cannot recover.
  public let code: ProtocolErrorCode
  /// One line for the call's user: what happened and what to do, with the upstream's own text.
  public private(set) var message: String
  /// The line for all others, without the upstream's text, which may be about that user.
  public private(set) var summary: String
  public let severity: Severity
  /// Whether a backend refuses this host, for every user.
  public internal(set) var refusesHost = false
  /// Whether a backend says that the request itself is wrong. The cause may be an IdentityId that
  /// Cognito no longer knows.
  public internal(set) var findsRequestWrong = false
  /// True if ``Admission`` prevented the call.
  public internal(set) var isWithheld = false
  /// True if it did so because the upstream endpoint gives no answers.
  public internal(set) var isOutage = false
  /// What AWS refuses about a signature of credd's own.
  public internal(set) var signatureFault: SignatureFault?
  /// True if Cognito says that a token is from another issuer than its key in the logins map names.
  public internal(set) var isOfLoginsKey = false
  public internal(set) var evidence = Evidence.none
  /// Whether the request may have been carried out although no reply came.
  public internal(set) var isReplyLost = false
  /// The reaction of a sign-in at a user pool.
  public internal(set) var remedy: PoolRemedy?
  /// Whether it is trouble of a derived profile's source.
  public internal(set) var isOfSource = false
  /// Whether a secret that a user gave was wrong.
  public internal(set) var judgesSecret = false
  /// Whether a user's secret was perhaps wrong: a web page came in place of the backend's answer.
  public internal(set) var mayJudgeSecret = false
  /// The meaning of a 401 in a web page, if a later try gets the page too; nil for other failures.
  @Boxed public internal(set) var ifRepeated: UpstreamFailure? = nil
  /// The upstream's name for the error, `[A-Za-z]{1,64}`.
  public internal(set) var reason: String?
  /// The request, its server, the reply and its time, for operators. It contains no query, body or
  /// secret.
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
  ///   - fact: a status or the name of an error, which concerns no single user.
  ///   - said: the upstream's text.
  init(
    _ upstream: Upstream, _ row: FailureTable.Row, retryAfter: Duration? = nil,
    fact: String? = nil, said: String? = nil
  ) {
    let base = "\(upstream)\(row.message)"
    let others = "\(upstream)\(row.messageForOthers ?? row.message)"
    let details = [fact, said].compactMap(\.self).joined(separator: ": ")
    self.init(
      upstream: upstream,
      failureClass: row.failureClass.with(retryAfter: retryAfter ?? row.failureClass.retryAfter),
      code: row.code ?? upstream.unavailable,
      message: details.isEmpty ? base : "\(base) (\(details))",
      summary: fact.map { "\(others) (\($0))" } ?? others, severity: row.severity)
    evidence = row.evidence
    isReplyLost = row.isReplyLost
    remedy = row.remedy
    judgesSecret = row.judgesSecret
    isOfLoginsKey = row.isOfLoginsKey
    signatureFault = row.signatureFault
  }
}

/// What AWS refuses about a signature.
public enum SignatureFault: Sendable {
  /// The developer credentials: others may do.
  case keys
  /// Its time, which was this host's.
  case time
}

extension UpstreamFailure {
  /// This failure with details for operators.
  ///
  /// - Parameters:
  ///   - request: the request and its server.
  ///   - answer: the reply; nil if none came.
  public func with(request: String, answer: String?, took time: Duration) -> UpstreamFailure {
    var failure = self
    let seconds = (max(time, .zero) / .milliseconds(100)).rounded() / 10
    failure.detail = "\(request): \(answer ?? "no answer"), after \(seconds) s"
    return failure
  }

  /// This failure, of a request that was made a second time. If the first reply was lost and now
  /// the tokens are refused, the lost reply probably had the new tokens.
  public func following(_ first: UpstreamFailure?) -> UpstreamFailure {
    guard first?.isReplyLost ?? false else { return self }
    var failure = self
    failure.isReplyLost = true
    guard failureClass == .signInRequired else { return failure }
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
    error.isOfSource = isOfSource
    // As a rule, such codes are temporary or about the user. Here an operator must act first.
    let isPermanent = [.permanentConfiguration, .poolMisconfigured].contains(failureClass)
    // No sign-in helps where the backend gives tokens that are of no use.
    let isBackends = failureClass == .newTokenOnce && severity == .operatorMustAct
    switch error.kind {
    case .denied where isPermanent, .signIn where isBackends,
      .temporary where !failureClass.isTransient:
      error.kind = .permanent
    default: break
    }
    return error
  }
}

extension UpstreamFailure {
  /// No reply arrived.
  ///
  /// - Parameter server: the server that was called, for the message.
  public static func transport(
    _ failure: TransportFailure, from upstream: Upstream, at server: CalledServer? = nil
  ) -> Self {
    var lost = Self(upstream, FailureTable.transport(failure, at: server), fact: failure.fact)
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
  public static func malformed(_ input: InvalidInput, from upstream: Upstream) -> Self {
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
  ///   - row: the meaning of the status; nil for the usual one.
  ///   - said: the backend's explanation.
  static func backend(
    _ reply: HTTPReply, from upstream: Upstream, _ row: FailureTable.Row? = nil, said: String?
  ) -> Self {
    guard !FailureTable.missesPool(said) else {
      return backend(reply, FailureTable.backendMissesPool, from: upstream, said: said)
    }
    guard !FailureTable.isOfPath(reply, said) else {
      return Self(
        upstream, FailureTable.nothingAtPath, fact: "status \(reply.status)", said: said)
    }
    let meaning = row ?? FailureTable.backend(status: reply.status)
    var failure = backend(reply, meaning, from: upstream, said: said)
    // 401 concerns the authentication of the host or the user, not the request.
    failure.findsRequestWrong =
      failure.failureClass == .permanentConfiguration && reply.status != 401
      && !failure.refusesHost && failure.code == .backendRejected
    failure.reason = reason(of: reply)
    return failure
  }

  /// An unsuccessful reply to a sign-in. The reply's text is omitted, because it may repeat the
  /// password.
  static func signIn(_ reply: HTTPReply, from upstream: Upstream) -> Self {
    let meaning = FailureTable.signIn(status: reply.status)
    // A 400 may judge the password, whatever its text says of TLS.
    var failure = backend(reply, meaning, from: upstream, said: nil, isSignIn: true)
    failure.mayJudgeSecret = !reply.refusesHost && reply.mayBeAFormsRefusal
    return failure
  }

  /// - Parameter meaning: the meaning of the status, if the reply comes from the backend itself.
  private static func backend(
    _ reply: HTTPReply, _ meaning: FailureTable.Row, from upstream: Upstream, said: String?,
    isSignIn: Bool = false
  ) -> Self {
    func failure(_ row: FailureTable.Row) -> Self {
      var failure = Self(
        upstream, row, retryAfter: reply.retryAfter, fact: "status \(reply.status)", said: said)
      failure.refusesHost = row.refusesHost
      return failure
    }
    guard !reply.refusesHost else { return failure(FailureTable.hostNotAuthorized) }
    if !isSignIn, let row = FailureTable.wantsTLS(reply) { return failure(row) }
    guard let page = FailureTable.webPage(reply) else { return failure(meaning) }
    var unsure = failure(page)
    if reply.status == 401 { unsure.ifRepeated = failure(meaning) }
    return unsure
  }

  private static func reason(of reply: HTTPReply) -> String? {
    guard let name = reply.errorCode, !reply.sent.occur(in: name.utf8) else { return nil }
    return reason(name)
  }

  /// The name in the form of `Reason`; nil if that is not possible.
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
    case 502, 504: FailureTable.gatewayFault
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

  /// A session has a state in which its profile has no such call. The checks of stored sessions
  /// prevent this. If it still happens, it costs one sign-in, and the daemon goes on.
  public static func unfitSession(of upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInRequired, code: .signInRequired,
      message: "the session does not fit its profile; sign in again", severity: .operatorMustAct)
  }

  /// The new credentials have expired already. If they counted as a success, they would be
  /// refreshed at once, again and again.
  static let credentialsExpired = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .transient(retryAfter: nil),
    code: .cognitoUnavailable,
    message: "the credentials that came have expired already; is this host's clock right?",
    severity: .operatorMustAct)
}

extension HTTPReply {
  /// Whether a server with a login form may answer a wrong password like this: with the form again,
  /// another page, or a redirect to a page. A server that is at fault does not.
  fileprivate var mayBeAFormsRefusal: Bool {
    switch status {
    case 300..<400: true
    case 407, 429, 500...: false
    default: isWebPage
    }
  }
}
