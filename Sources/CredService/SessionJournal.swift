import CredCore
import Logging

/// What happens to sessions, told to their watchers and to the journal.
extension SessionService {
  /// Reports an event of a session to its user's watchers and to the log.
  func announce(_ announcement: Announcement, _ session: Session) {
    sendEvent(announcement, session)
    var log = log
    log[metadataKey: "profile"] = "\(session.key.profile)"
    log[metadataKey: "uid"] = "\(session.key.uid)"
    if let name = session.userName { log[metadataKey: "user"] = "\(name)" }
    switch announcement {
    case .state(let state):
      logState(state, session, log)
    case .identityChanged(let previous?, let current?):
      guard let repeats = admit(.identityChanged, session) else { return }
      var metadata = processMetadata(requester(of: session))
      if repeats > 0 { metadata["repeats"] = "\(repeats)" }
      metadata["previous"] = "\(previous)"
      metadata["identity"] = "\(current)"
      log.log(.identityChanged, .notice, "identity changed", metadata)
    case .identityChanged:
      break
    case .refreshed(let expiration):
      counters.refreshed(session.key.profile)
      guard let repeats = admit(.credentialsRefreshed, session) else { return }
      var metadata: Logger.Metadata = ["expiration": "\(expiration.iso8601)"]
      if repeats > 0 { metadata["repeats"] = "\(repeats)" }
      if let key = session.machine.credentials?.credentials.accessKeyID {
        metadata["access_key_id"] = "\(key)"
      }
      if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
      log.log(.credentialsRefreshed, .info, "credentials refreshed", metadata)
    case .expiring(let error):
      log.info("\(error.message)")
    case .degraded(let failure):
      counters.refreshed(session.key.profile, failure.code.rawValue)
      logRefreshFailure(
        "refresh failed; the credentials at hand go on serving", failure, session, log)
    case .failed(let failure):
      counters.refreshed(session.key.profile, failure.code.rawValue)
      logRefreshFailure("no credentials", failure, session, log)
    case .signInFailed(let failure):
      logSignInFailure(failure, session, log)
    }
  }

  /// What a client asks for has an entry of its own, by its request.
  private func logState(_ state: SignInState, _ session: Session, _ log: Logger) {
    let message: Logger.Message = "session is now \(state.reported)"
    let client = requester(of: session)
    guard session.signInAskers.isEmpty, !session.isBeingSignedOut else {
      return log.debug(message)
    }
    guard let repeats = admit(state.journalEvent, session) else { return }
    var metadata = processMetadata(client)
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    metadata["means"] = state.means.map { "\($0)" }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    log.log(state.journalEvent, .info, message, metadata)
  }

  /// How many equal entries of an account were left out since the last one; nil if this one is left
  /// out: the journal has no limit of its own for credd.
  private func admit(_ event: JournalEvent, _ session: Session) -> Int? {
    eventLimiter.admit(
      NoticeLimiter.Subject(
        event: event.rawValue, profile: session.key.profile, uid: accountNumber(of: session.key.uid)
      ),
      now: host.clock.now)
  }

  /// The first client whose request caused what happens to a session; nil if none did.
  private func requester(of session: Session) -> Client? {
    session.requester
      ?? clients.values.filter { $0.waiting?.session === session }.min { $0.id < $1.id }
  }

  private func processMetadata(_ client: Client?) -> Logger.Metadata {
    guard let client else { return [:] }
    var metadata: Logger.Metadata =
      client.endpoint == nil
      ? ["pid": "\(client.peer.pid)"] : ["transport": "endpoint"]
    if let unit = client.unit() { metadata["unit"] = "\(unit)" }
    return metadata
  }

  private func logRefreshFailure(
    _ what: String, _ failure: UpstreamFailure, _ session: Session, _ log: Logger
  ) {
    let (next, why) = session.nextRefresh
    let time = next.map { (host.clock.wallTime + ($0 - host.clock.now)).iso8601 }
    logFailure(.refreshFailed, what, failure, session, log, ["next": "\(time ?? why)"])
  }

  /// A sign-in that was judged and refused has its entry in the audit. One that was not judged, or that
  /// only an operator can help, has this one.
  private func logSignInFailure(_ failure: UpstreamFailure, _ session: Session, _ log: Logger) {
    guard failure.severity == .operatorMustAct || failure.failureClass.isTransient else { return }
    logFailure(
      .signInFailed, "a sign-in failed; the session is as it was", failure, session, log, [:])
  }

  private func logFailure(
    _ event: JournalEvent, _ what: String, _ failure: UpstreamFailure, _ session: Session,
    _ log: Logger, _ more: Logger.Metadata
  ) {
    if failure.refusesHost, case .backend(let name) = failure.upstream {
      guard hostRefusals.insert(name).inserted else { return }
    }
    // A call that was withheld says when the next one is made: another time in each message.
    let subject = NoticeLimiter.Subject(
      event: event.rawValue, profile: session.key.profile, uid: accountNumber(of: session.key.uid),
      detail: failure.isWithheld ? "withheld" : failure.message)
    guard let repeats = failureLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata = more
    metadata["code"] = "\(failure.code.rawValue)"
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    if let detail = failure.detail { metadata["detail"] = "\(detail)" }
    if let reason = failure.reason { metadata["reason"] = "\(reason)" }
    // A warning is for a problem that only a person can correct.
    log.log(
      event, failure.severity == .operatorMustAct ? .warning : .info,
      "\(what): \(failure.message)", metadata)
  }
}

extension SignInState {
  fileprivate var journalEvent: JournalEvent {
    switch self {
    case .signedIn, .guest: .signedIn
    case .tokensInvalid: .signInNeeded
    case .signedOut: .signedOut
    }
  }

  /// What vouches for the user.
  var means: String? {
    switch self {
    case .signedOut: nil
    case .guest: "guest"
    case .signedIn(let method), .tokensInvalid(let method):
      switch method {
      case .host: "host"
      case .password: "password"
      case .developerToken: "token"
      case .logins, .tokenFile: "logins"
      case .userPool(let session): session.issuer.pool == nil ? "oidc" : "userPool"
      }
    }
  }
}
