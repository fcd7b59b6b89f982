import CredCore
import Logging

/// Writes entries to the journal. Each kind of entry has a limit, because users cause most entries.
final class Journal {
  let log: Logger
  let clock: any Clock
  private let accounts: AccountDirectory
  // Limits of entries in a minute.
  private var auditLimiter = NoticeLimiter(burst: 20)
  private var refusalLimiter = NoticeLimiter(burst: 1)
  private var failureLimiter = NoticeLimiter(burst: 1)
  /// For events of sessions: one user can force at most one refresh a second.
  private var eventLimiter = NoticeLimiter(burst: 60)
  /// Backends that refuse this host: credd logs such a refusal once for all users.
  private var hostRefusals: Set<String> = []
  private var saidThatUnitsAreHidden = false

  init(log: Logger, clock: any Clock, accounts: AccountDirectory) {
    self.log = log
    self.clock = clock
    self.accounts = accounts
  }

  // MARK: Limits

  /// A kind of entry, by the limit that holds for it.
  enum Kind {
    case audit
    case refusal
    case failure
    case event
  }

  /// How many equal entries of an account were left out since the last one; nil if this entry is
  /// left out too. The journal itself has no limit for credd.
  func admit(
    _ kind: Kind, _ event: String, _ profile: String, uid: UInt32, detail: String = ""
  ) -> Int? {
    let subject = NoticeLimiter.Subject(
      event: event, profile: profile, uid: accounts.number(of: uid), detail: detail)
    let now = clock.now
    return switch kind {
    case .audit: auditLimiter.admit(subject, now: now)
    case .refusal: refusalLimiter.admit(subject, now: now)
    case .failure: failureLimiter.admit(subject, now: now)
    case .event: eventLimiter.admit(subject, now: now)
    }
  }

  /// The number of the account for which a uid counts.
  func accountNumber(of uid: UInt32) -> UInt32 { accounts.number(of: uid) }

  /// The name of a uid, as far as it is known; an entry waits for no look-up.
  func userName(of uid: UInt32) -> String? { accounts.knownName(of: uid) }

  // MARK: Sessions

  /// Reports an event of a session.
  ///
  /// - Parameter requester: the client that caused the event by a request; nil if none did.
  func announce(
    _ announcement: Announcement, _ session: Session, _ cause: Cause,
    by requester: () -> Client?
  ) {
    var log = log
    log[metadataKey: "profile"] = "\(session.key.profile)"
    log[metadataKey: "uid"] = "\(session.key.uid)"
    if let name = session.userName { log[metadataKey: "user"] = "\(name)" }
    switch announcement {
    case .state(let state): logState(state, session, cause, log, by: requester)
    case .identityChanged(let previous?, let current?):
      guard let repeats = admit(.identityChanged, session) else { return }
      var metadata = processMetadata(requester())
      if repeats > 0 { metadata["repeats"] = "\(repeats)" }
      metadata["previous"] = "\(previous)"
      metadata["identity"] = "\(current)"
      log.log(.identityChanged, .notice, "identity changed", metadata)
    case .identityChanged: break
    case .refreshed(let expiration): logRefresh(expiration, session, log)
    case .expiring(let error):
      guard admit(.event, "expiring", session.key.profile, uid: session.key.uid) != nil
      else { return }
      log.info("\(error.message)")
    case .degraded(let failure):
      logRefreshFailure(
        "refresh failed; the \(session.given) at hand go on serving", failure, session, log)
    case .failed(let failure): logRefreshFailure("no \(session.given)", failure, session, log)
    case .signInFailed(let failure): logSignInFailure(failure, session, log)
    }
  }

  private func logRefresh(_ expiration: WallTime, _ session: Session, _ log: Logger) {
    guard let repeats = admit(.credentialsRefreshed, session) else { return }
    var metadata: Logger.Metadata = ["expiration": "\(expiration.iso8601)"]
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    if let key = session.machine.credentials?.credentials.accessKeyID {
      metadata["access_key_id"] = "\(key)"
    }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    let origin = session.profile.origin(of: session.machine.credentials?.credentials)
    metadata.merge(origin.mapValues { "\($0)" }) { $1 }
    log.log(.credentialsRefreshed, .info, "\(session.given) refreshed", metadata)
  }

  /// Makes no entry for a sign-in or a sign-out that a client asked for, because the request has an
  /// entry.
  private func logState(
    _ state: SignInState, _ session: Session, _ cause: Cause, _ log: Logger,
    by requester: () -> Client?
  ) {
    let message: Logger.Message = "session is now \(state.reported)"
    guard session.asking.signIns.isEmpty, !cause.isSignOut else { return log.debug(message) }
    guard let repeats = admit(state.journalEvent, session) else { return }
    var metadata = processMetadata(requester())
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    metadata["means"] = state.means.map { "\($0)" }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    log.log(state.journalEvent, .info, message, metadata)
  }

  private func admit(_ event: JournalEvent, _ session: Session) -> Int? {
    admit(.event, event.rawValue, session.key.profile, uid: session.key.uid)
  }

  private func processMetadata(_ client: Client?) -> Logger.Metadata {
    guard let client else { return [:] }
    var metadata: Logger.Metadata =
      client.hasProcess ? ["pid": "\(client.peer.pid)"] : ["transport": "endpoint"]
    if let unit = client.unit() { metadata["unit"] = "\(unit)" }
    return metadata
  }

  private func logRefreshFailure(
    _ what: String, _ failure: UpstreamFailure, _ session: Session, _ log: Logger
  ) {
    let (next, why) = session.nextRefresh
    let time = next.map { (clock.wallTime + ($0 - clock.now)).iso8601 }
    logFailure(.refreshFailed, what, failure, session, log, ["next": "\(time ?? why)"])
  }

  /// A sign-in that was judged and refused has its entry in the audit. A sign-in that was not
  /// judged, or that only an operator can help, has this entry.
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
    // The message of a withheld call has the time of the next one, which differs each time. The
    // text of an upstream may differ too.
    let detail = failure.isWithheld ? "withheld" : failure.summary
    guard
      let repeats = admit(
        .failure, event.rawValue, session.key.profile, uid: session.key.uid, detail: detail)
    else { return }
    var metadata = more
    metadata["code"] = "\(failure.code.rawValue)"
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    if let detail = failure.detail { metadata["detail"] = "\(detail)" }
    if let reason = failure.reason { metadata["reason"] = "\(reason)" }
    // A warning is for a problem that only a person can correct.
    let isWarning = failure.severity == .operatorMustAct && isFirst(failure, event, session)
    log.log(event, isWarning ? .warning : .info, "\(what): \(failure.message)", metadata)
  }

  /// Whether nobody was warned of it in this minute because of another account. What is wrong in the
  /// configuration, in the pool or on the way there is wrong for every user of the profile.
  private func isFirst(
    _ failure: UpstreamFailure, _ event: JournalEvent, _ session: Session
  ) -> Bool {
    switch failure.failureClass {
    case .permanentConfiguration, .poolMisconfigured, .transient: break
    default: return true
    }
    let subject = NoticeLimiter.Subject(
      event: "warned of \(event.rawValue)", profile: session.key.profile, uid: .max,
      detail: failure.summary)
    return failureLimiter.admit(subject, now: clock.now) != nil
  }

  /// A uid belongs to another user now.
  func uidPassedOn(_ session: Session, to owner: SessionOwner) {
    var metadata: Logger.Metadata = [
      "profile": "\(session.key.profile)", "uid": "\(session.key.uid)",
      "user": "\(owner.name ?? "")",
    ]
    if let name = session.userName { metadata["former_user"] = "\(name)" }
    log.log(
      .uidPassedOn, .notice,
      "a uid belongs to another user now: everything of the former one was dropped", metadata)
  }

  /// The kernel hides other users' units. That is said once, and again after a reload.
  func unitsAreHidden() {
    guard !saidThatUnitsAreHidden else { return }
    saidThatUnitsAreHidden = true
    log.warning(
      """
      the units of other users' processes are hidden from credd, so allow_units admits none of them: \
      /proc is mounted with hidepid=, or a security module hides it; mount it without, or with gid= of a \
      group that SupplementaryGroups= of credd.service names
      """)
  }

  /// A backend that answers accepts this host again.
  func hostAccepted(by backend: String) { hostRefusals.remove(backend) }

  /// After a reload, what is still wrong is logged again.
  func forgetWhatWasSaid() {
    hostRefusals = []
    saidThatUnitsAreHidden = false
  }

  var isAnyHostRefused: Bool { !hostRefusals.isEmpty }
}

extension SignInState {
  fileprivate var journalEvent: JournalEvent {
    switch self {
    case .signedIn, .guest: .signedIn
    case .tokensInvalid: .signInNeeded
    case .signedOut: .signedOut
    }
  }

  /// The means by which the user is signed in.
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
      case .provider(let session): session.issuer.traits.means.rawValue
      case .source: nil
      }
    }
  }
}

extension Session {
  /// What its profile gives.
  fileprivate var given: String { profile.plan.product.rawValue }
}
