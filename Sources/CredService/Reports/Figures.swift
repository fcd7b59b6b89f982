import CredCore

/// The numbers that the service counts for its metrics. Labels are names from the configuration and
/// from closed lists, so their number is bounded. Nothing counts cached answers: see
/// ``cachedAnswers``.
final class Figures {
  struct Answer: Hashable {
    let operation: String
    let isHTTP: Bool
    /// An error's code, or `ok`.
    let code: String
  }

  struct Refresh: Hashable {
    let profile: String
    let result: String
  }

  struct SignIn: Hashable {
    let profile: String
    let means: String
    let result: String
  }

  struct Call: Hashable {
    let upstream: String
    let operation: String
    let result: String
  }

  struct CallName: Hashable {
    let upstream: String
    let operation: String
  }

  static let success = "ok"

  private(set) var answers: [Answer: Int] = [:]
  private(set) var refreshes: [Refresh: Int] = [:]
  private(set) var signIns: [SignIn: Int] = [:]
  private(set) var calls: [Call: Int] = [:]
  private(set) var durations: [CallName: DurationHistogram] = [:]
  /// Whether each upstream works: false if its last call failed by the upstream's own fault.
  private(set) var works: [String: Bool] = [:]
  /// All requests, of lines and HTTP.
  private(set) var requests = 0
  /// Lines that were parsed.
  private(set) var parsedLines = 0
  /// HTTP requests that got a cached answer.
  private(set) var cachedHTTP = 0
  /// HTTP requests that were decided anew.
  private(set) var decidedHTTP = 0
  /// Calls of sessions: to backends, and for credentials.
  private(set) var backendCalls = 0
  private(set) var exchanges = 0

  private(set) var limitHits: [HitLimit: Int] = [:]

  // MARK: Requests

  func requestCame() { requests += 1 }

  func lineParsed() { parsedLines += 1 }

  func httpAnsweredAgain() { cachedHTTP += 1 }

  func httpDecided() { decidedHTTP += 1 }

  func hit(_ limit: HitLimit) { limitHits[limit, default: 0] += 1 }

  func answered(_ operation: String, isHTTP: Bool, _ code: String = success) {
    answers[Answer(operation: operation, isHTTP: isHTTP, code: code), default: 0] += 1
  }

  // MARK: Sessions

  func count(_ announcement: Announcement, _ session: Session) {
    switch announcement {
    case .refreshed: refreshed(session.key.profile)
    case .degraded(let failure), .failed(let failure):
      refreshed(session.key.profile, failure.code.rawValue)
    case .state, .identityChanged, .expiring, .signInFailed: break
    }
  }

  /// For `status`: a call of a session begins.
  func began(_ call: UpstreamCall) {
    switch call {
    case .tokenCallback, .renewProviderTokens: backendCalls += 1
    case .getCredentials, .assumeRole, .derive: exchanges += 1
    case .signIn, .readTokenFile, .getID, .getOpenIDToken, .renewSource: break
    }
  }

  /// A step of a sign-in is sent.
  func signInStepSent() { backendCalls += 1 }

  private func refreshed(_ profile: String, _ result: String = success) {
    refreshes[Refresh(profile: profile, result: result), default: 0] += 1
  }

  func signedIn(_ profile: String, by means: String, _ result: String = success) {
    signIns[SignIn(profile: profile, means: means, result: result), default: 0] += 1
  }

  func called(
    _ upstream: String, _ operation: String, _ failure: UpstreamFailure?, in time: Duration
  ) {
    called(
      upstream, operation, failure?.code,
      isUpstreamsFault: failure?.failureClass.isTransient ?? false, in: time)
  }

  /// Counts a request that does not belong to a session's call.
  func ended(_ request: EndedRequest) {
    called(
      request.upstream.label, request.operation, request.code,
      isUpstreamsFault: request.isUpstreamsFault, in: request.duration)
  }

  private func called(
    _ upstream: String, _ operation: String, _ code: ProtocolErrorCode?, isUpstreamsFault: Bool,
    in time: Duration
  ) {
    let result = code?.rawValue ?? Self.success
    calls[Call(upstream: upstream, operation: operation, result: result), default: 0] += 1
    durations[
      CallName(upstream: upstream, operation: operation), default: DurationHistogram()
    ].add(time)
    works[upstream] = !isUpstreamsFault
  }

  /// Lines of the socket that got a cached answer.
  var cachedAnswers: Int { requests - parsedLines - cachedHTTP - decidedHTTP }
}

extension Upstream {
  /// The name in metrics.
  var label: String {
    switch self {
    case .cognitoIdentity: "cognito"
    case .sts: "sts"
    case .backend(let name): name
    }
  }
}

extension PoolRequest {
  /// The name in metrics.
  var label: String {
    switch self {
    case .initiate: "login"
    case .respond: "respond"
    case .associateSoftwareToken, .verifySoftwareToken: AccountAction.totp.rawValue
    case .confirmDevice, .rememberDevice: AccountAction.rememberDevice.rawValue
    }
  }
}

extension UpstreamCall {
  /// The upstream of the call and the call's name, for metrics; nil for a file.
  func labels(in profile: Profile) -> (upstream: String, operation: String)? {
    let backend = profile.backend?.name ?? "backend"
    return switch self {
    case .signIn: (backend, "login")
    case .tokenCallback: (backend, "token")
    case .readTokenFile: nil
    case .renewProviderTokens(let session, _):
      (profile.giving(session).backend?.name ?? backend, "renew")
    case .getID: (Upstream.cognitoIdentity.label, "GetId")
    case .getOpenIDToken: (Upstream.cognitoIdentity.label, "GetOpenIdToken")
    case .getCredentials: (Upstream.cognitoIdentity.label, "GetCredentialsForIdentity")
    case .assumeRole: (Upstream.sts.label, "AssumeRoleWithWebIdentity")
    // The source counts the calls that it makes.
    case .renewSource: nil
    case .derive: profile.operationOfSource.map { (Upstream.sts.label, $0) }
    }
  }
}
