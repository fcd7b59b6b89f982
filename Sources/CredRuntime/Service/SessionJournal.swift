internal import CredCore
internal import Logging

extension SessionService {
  /// Passes news of a session on: to its user's watchers and to the log.
  func announce(_ announcement: Announcement, _ session: Session) {
    tellWatchers(announcement, session)
    var log = log
    log[metadataKey: "profile"] = "\(session.key.profile)"
    log[metadataKey: "uid"] = "\(session.key.uid)"
    if let name = session.userName { log[metadataKey: "user"] = "\(name)" }
    switch announcement {
    case .state(let standing):
      log.log(standing.journalEvent, .info, "session is now \(standing.reported)")
    case .identityChanged(let previous?, let current?):
      log.log(
        .identityChanged, .notice, "identity changed",
        ["previous": "\(previous)", "identity": "\(current)"])
    case .identityChanged:
      break
    case .refreshed(let expiration):
      log.debug("credentials refreshed", metadata: ["expiration": "\(expiration.iso8601)"])
    case .expiring(let error):
      log.info("\(error.message)")
    case .degraded(let failure):
      say("refresh failed; the credentials at hand go on serving", failure, session, log)
    case .failed(let failure):
      say("no credentials", failure, session, log)
    }
  }

  private func say(
    _ what: String, _ failure: UpstreamFailure, _ session: Session, _ log: Logger
  ) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.refreshFailed.rawValue, profile: session.key.profile,
      uid: session.key.uid, detail: failure.message)
    guard let repeats = failures.admit(subject, now: loop.now) else { return }
    var metadata: Logger.Metadata = ["code": "\(failure.code.rawValue)"]
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    // A level that a person must act on is for what only a person can mend.
    log.log(
      .refreshFailed, failure.severity == .operatorMustAct ? .warning : .info,
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
}

/// What an operator can look up afterwards: who got credentials, and who was refused.
extension SessionService {
  /// Notes that a caller is being handed the session's credentials: once for each process and issue
  /// of credentials.
  func audit(_ session: Session, _ connection: Connection, _ now: Instant) {
    connection.auditedIssue = session.issue
    let peer = connection.peer
    guard session.audited.isNew(peer.pid, now: now, started: { CallerUnit.started(peer) }) else {
      return
    }
    session.audited.note(.init(pid: peer.pid, unit: connection.unit()))
    guard let credentials = session.machine.credentials else { return }
    record("credentials given", session, connection, now) {
      $0["expiration"] = "\(credentials.credentials.expiration.iso8601)"
    }
  }

  /// The same for a developer token, which is worth as much.
  func auditToken(_ token: DeveloperToken, _ session: Session, _ connection: Connection) {
    record("developer token given", session, connection, loop.now) {
      if let expiration = token.expiration { $0["expiration"] = "\(expiration.iso8601)" }
    }
  }

  private func record(
    _ message: Logger.Message, _ session: Session, _ connection: Connection, _ now: Instant,
    _ add: (inout Logger.Metadata) -> Void
  ) {
    let unit = connection.unit()
    // Users name the units of their own managers as they like, ever anew.
    let systemUnit = unit?.prefix { $0 != "/" } ?? ""
    let subject = NoticeLimiter.Subject(
      event: message.description, profile: session.key.profile, uid: session.key.uid,
      detail: "\(connection.peer.uid) \(systemUnit)")
    guard let repeats = givings.admit(subject, now: now) else { return }
    var metadata = callerMetadata(session.key.profile, connection, unit, repeats)
    if session.key.uid == connection.peer.uid {
      if let name = session.userName { metadata["user"] = "\(name)" }
    } else {
      // `uid` is who asked; this is whose credentials they were given.
      metadata["for_uid"] = "\(session.key.uid)"
      if let name = session.userName { metadata["for_user"] = "\(name)" }
    }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    add(&metadata)
    log.log(.credentialsGiven, .info, message, metadata)
  }

  /// Notes that a caller may not use a profile.
  func noteRefusal(
    of caller: Caller, to profile: String, _ connection: Connection, _ now: Instant
  ) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.accessRefused.rawValue, profile: profile, uid: caller.uid)
    guard let repeats = refusals.admit(subject, now: now) else { return }
    var metadata = callerMetadata(profile, connection, connection.unit(), repeats)
    if let name = caller.userName { metadata["user"] = "\(name)" }
    metadata["code"] = "\(ProtocolErrorCode.accessDenied.rawValue)"
    if caller.isUnmapped { metadata["reason"] = "the kernel has no uid for it on this host" }
    switch connection.executable?.answer {
    case .executable(let executable): metadata["executable"] = "\(executable.path)"
    case .unknown(let reason): metadata["executable"] = "unknown: \(reason)"
    case nil: break
    }
    log.log(
      .accessRefused, .notice, "refused a caller that the profile does not allow", metadata)
  }

  private func callerMetadata(
    _ profile: String, _ connection: Connection, _ unit: String?, _ repeats: Int
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "profile": "\(profile)", "uid": "\(connection.peer.uid)", "pid": "\(connection.peer.pid)",
    ]
    if let unit { metadata["unit"] = "\(unit)" }
    // As many like it were kept back.
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    return metadata
  }
}

/// Which processes were handed the present credentials of a session.
struct AuditLedger {
  /// Whoever was handed credentials last, for `status`.
  struct Caller: Equatable {
    let pid: Int32
    let unit: String?
  }

  /// Processes remembered. With more, some are written down twice.
  static let processesKept = 256

  /// For how long a pid that was seen is taken for the same process unasked. None is given anew so
  /// soon: each must have been given once before.
  static let trustedFor: Duration = .seconds(60)

  /// The first process, and when it was last known to be the same. Most sessions have no other, and
  /// need no dictionary.
  private var first: (pid: Int32, seen: Instant)?
  private var others: [Int32: Instant] = [:]
  private(set) var lastCaller: Caller?

  /// Other credentials from now on.
  mutating func begin() {
    first = nil
    others = [:]
  }

  /// Whether this process was not handed them before.
  ///
  /// - Parameter started: when the process began; nil where that cannot be told.
  mutating func isNew(_ pid: Int32, now: Instant, started: () -> Instant?) -> Bool {
    // Outside this daemon's pid namespace all processes have this number.
    guard pid > 0 else { return true }
    let seen = first?.pid == pid ? first?.seen : others[pid]
    if first == nil || first?.pid == pid {
      first = (pid, now)
    } else {
      if seen == nil, others.count >= Self.processesKept { others.removeAll(keepingCapacity: true) }
      others[pid] = now
    }
    guard let seen else { return true }
    return !(now - seen < Self.trustedFor || started().map { $0 <= seen } ?? false)
  }

  mutating func note(_ caller: Caller) { lastCaller = caller }
}
