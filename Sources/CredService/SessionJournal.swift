import CredCore
import Logging

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
      log.log(
        .identityChanged, .notice, "identity changed",
        processMetadata(requester(of: session))
          .merging(["previous": "\(previous)", "identity": "\(current)"]) { $1 })
    case .identityChanged:
      break
    case .refreshed(let expiration):
      var metadata: Logger.Metadata = ["expiration": "\(expiration.iso8601)"]
      if let key = session.machine.credentials?.credentials.accessKeyID {
        metadata["access_key_id"] = "\(key)"
      }
      if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
      log.log(.credentialsRefreshed, .info, "credentials refreshed", metadata)
    case .expiring(let error):
      log.info("\(error.message)")
    case .degraded(let failure):
      logFailure("refresh failed; the credentials at hand go on serving", failure, session, log)
    case .failed(let failure), .signInFailed(let failure):
      logFailure("no credentials", failure, session, log)
    }
  }

  /// What a client asks for has an entry of its own, by its request.
  private func logState(_ state: SignInState, _ session: Session, _ log: Logger) {
    let message: Logger.Message = "session is now \(state.reported)"
    let client = requester(of: session)
    guard client?.waiting?.request.signInMetadata == nil, !session.isBeingSignedOut else {
      return log.debug(message)
    }
    var metadata = processMetadata(client)
    metadata["means"] = state.means.map { "\($0)" }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    log.log(state.journalEvent, .info, message, metadata)
  }

  /// The first client whose request caused what happens to a session; nil if none did.
  private func requester(of session: Session) -> Client? {
    session.requester
      ?? clients.values.filter { $0.waiting?.session === session }.min { $0.id < $1.id }
  }

  private func processMetadata(_ client: Client?) -> Logger.Metadata {
    guard let client else { return [:] }
    var metadata: Logger.Metadata = ["pid": "\(client.peer.pid)"]
    if let unit = client.unit() { metadata["unit"] = "\(unit)" }
    return metadata
  }

  private func logFailure(
    _ what: String, _ failure: UpstreamFailure, _ session: Session, _ log: Logger
  ) {
    if failure.refusesHost, case .backend(let name) = failure.upstream {
      guard hostRefusals.insert(name).inserted else { return }
    }
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.refreshFailed.rawValue, profile: session.key.profile,
      uid: session.key.uid, detail: failure.message)
    guard let repeats = failureLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata: Logger.Metadata = ["code": "\(failure.code.rawValue)"]
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    if let detail = failure.detail { metadata["detail"] = "\(detail)" }
    if let reason = failure.reason { metadata["reason"] = "\(reason)" }
    let (next, why) = session.machine.nextRefresh
    let time = next.map { (host.clock.wallTime + ($0 - host.clock.now)).iso8601 }
    metadata["next"] = "\(time ?? why)"
    // A warning is for a problem that only a person can correct.
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

  /// What vouches for the user.
  fileprivate var means: String? {
    switch self {
    case .signedOut: nil
    case .guest: "guest"
    case .signedIn(let method), .tokensInvalid(let method):
      switch method {
      case .host: "host"
      case .password: "password"
      case .developerToken: "token"
      case .logins, .tokenFile: "logins"
      case .userPool: "userPool"
      }
    }
  }
}

extension LoginRequest {
  /// By which means, and as whom.
  fileprivate var metadata: Logger.Metadata {
    switch signIn {
    case .host: ["means": "host"]
    case .poolTokens(let signIn): ["means": "userPool", "username": "\(signIn.username)"]
    case .username(let username), .password(let username, _):
      ["means": "password", "username": "\(username)"]
    case .developerToken(let identity, _): ["means": "token", "claimed": "\(identity)"]
    case .logins(let map, _, _):
      [
        "means": "logins",
        "providers": "\(map.logins.map(\.provider).joined(separator: " "))",
      ]
    }
  }
}

extension Request {
  /// By which means, and as whom; nil if it is no part of a sign-in.
  fileprivate var signInMetadata: Logger.Metadata? {
    switch operation {
    case .login(let login): login.metadata
    // Who it is stands in the state that follows.
    case .respond: ["means": "userPool"]
    default: nil
    }
  }
}

extension ProtocolErrorCode {
  /// Whether a sign-in that ends so was judged and refused. Others were not judged.
  fileprivate var refusesSignIn: Bool {
    switch self {
    case .signInFailed, .signInRequired, .backendRejected, .tokenRejected, .identityConflict,
      .accessDenied, .tooManyRequests:
      true
    default: false
    }
  }
}

/// The audit of sign-ins and sign-outs: who asked, by which means, as whom.
extension SessionService {
  /// Records how a `login` ended; does nothing for other requests.
  ///
  /// - Parameter error: nil if the user is signed in.
  func recordSignIn(
    _ request: Request, _ session: Session, _ client: Client, _ error: ProtocolError? = nil
  ) {
    guard let login = request.signInMetadata, error?.code.refusesSignIn ?? true else { return }
    let event: JournalEvent = error == nil ? .signedIn : .signInRefused
    let subject = NoticeLimiter.Subject(
      event: event.rawValue, profile: session.key.profile, uid: session.key.uid)
    guard let repeats = auditLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata = sessionMetadata(session, client, repeats)
    metadata.merge(login) { $1 }
    if let error {
      metadata["code"] = "\(error.code.rawValue)"
      log.log(event, .notice, "sign-in refused", metadata)
    } else {
      log.log(event, .info, "signed in", metadata)
    }
  }

  /// Call before the session drops what it holds.
  func recordSignOut(_ session: Session, _ client: Client, global: Bool) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.signedOut.rawValue, profile: session.key.profile, uid: session.key.uid)
    guard let repeats = auditLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata = sessionMetadata(session, client, repeats)
    metadata["means"] = session.machine.state.means.map { "\($0)" }
    if global { metadata["global"] = "yes" }
    log.log(.signedOut, .info, "signed out", metadata)
  }

  /// Who asks for which account.
  func accountMetadata(
    _ action: AccountAction, _ username: String, _ session: Session, _ client: Client
  ) -> Logger.Metadata {
    var metadata = sessionMetadata(session, client, 0)
    metadata["identity"] = nil
    metadata["action"] = "\(action.rawValue)"
    metadata["username"] = "\(username)"
    return metadata
  }

  private func sessionMetadata(
    _ session: Session, _ client: Client, _ repeats: Int
  ) -> Logger.Metadata {
    var metadata = callerMetadata(session.key.profile, client, client.unit(), repeats)
    if let name = session.userName { metadata["user"] = "\(name)" }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    return metadata
  }
}

/// The audit: which callers got credentials, and which were refused.
extension SessionService {
  /// Once for each process and each refresh.
  func recordCredentialsGiven(_ session: Session, _ client: Client, _ now: Instant) {
    client.auditedCredentials = session.credentialsNumber
    let peer = client.peer
    guard session.audited.isNew(peer.pid, now: now, started: client.facts.startTime) else {
      return
    }
    session.audited.record(.init(pid: peer.pid, unit: client.unit()))
    guard let credentials = session.machine.credentials else { return }
    record("credentials given", session, client, now) {
      $0["expiration"] = "\(credentials.credentials.expiration.iso8601)"
      $0["access_key_id"] = "\(credentials.credentials.accessKeyID)"
    }
  }

  /// The same for a token, which gives the same access.
  func recordTokenGiven(
    _ kind: String, _ expiration: WallTime?, _ session: Session, _ client: Client
  ) {
    record("\(kind) token given", session, client, host.clock.now) {
      if let expiration { $0["expiration"] = "\(expiration.iso8601)" }
    }
  }

  private func record(
    _ message: Logger.Message, _ session: Session, _ client: Client, _ now: Instant,
    _ add: (inout Logger.Metadata) -> Void
  ) {
    let unit = client.unit()
    // Units of users' own managers are left out: users choose their names.
    let systemUnit = unit?.prefix { $0 != "/" } ?? ""
    let subject = NoticeLimiter.Subject(
      event: message.description, profile: session.key.profile, uid: session.key.uid,
      detail: "\(client.peer.uid) \(systemUnit)")
    guard let repeats = auditLimiter.admit(subject, now: now) else { return }
    var metadata = callerMetadata(session.key.profile, client, unit, repeats)
    if session.key.uid == client.peer.uid {
      if let name = session.userName { metadata["user"] = "\(name)" }
    } else {
      // `uid` is the caller; the credentials belong to this user.
      metadata["for_uid"] = "\(session.key.uid)"
      if let name = session.userName { metadata["for_user"] = "\(name)" }
    }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    add(&metadata)
    log.log(
      session.key.uid == client.peer.uid ? .credentialsGiven : .impersonated, .info, message,
      metadata)
  }

  /// - Parameter other: the user for whom the caller asked, as it named that user.
  func recordRefusal(
    of caller: Caller, to profile: String, inNameOf other: String? = nil, _ client: Client,
    _ now: Instant
  ) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.accessRefused.rawValue, profile: profile, uid: caller.uid)
    guard let repeats = refusalLimiter.admit(subject, now: now) else { return }
    var metadata = callerMetadata(profile, client, client.unit(), repeats)
    if let name = caller.userName { metadata["user"] = "\(name)" }
    metadata["code"] = "\(ProtocolErrorCode.accessDenied.rawValue)"
    if let other { metadata["for_user"] = "\(other.quoted)" }
    if caller.isUnmapped { metadata["reason"] = "the kernel has no uid for it on this host" }
    switch client.executable?.answer {
    case .executable(let executable): metadata["executable"] = "\(executable.path)"
    case .unknown(let reason): metadata["executable"] = "unknown: \(reason)"
    case .overdue, .crowded, nil: break
    }
    log.log(
      .accessRefused, .notice, "refused a caller that the profile does not allow", metadata)
  }

  private func callerMetadata(
    _ profile: String, _ client: Client, _ unit: String?, _ repeats: Int
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "profile": "\(profile)", "uid": "\(client.peer.uid)", "pid": "\(client.peer.pid)",
    ]
    if let unit { metadata["unit"] = "\(unit)" }
    if let purpose = client.purpose { metadata["purpose"] = "\(purpose)" }
    // The number of suppressed entries of this kind.
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    return metadata
  }
}

/// The processes that got the present credentials of a session.
struct AuditLedger {
  /// The last process that got credentials, for `status`.
  struct Caller: Equatable {
    let pid: Int32
    let unit: String?
  }

  /// The number of remembered processes. With more, some are recorded twice.
  static let processesKept = 256

  /// For this long a pid is assumed to be the same process. The kernel uses all other pids before
  /// it reuses one.
  static let trustedFor: Duration = .seconds(60)

  /// The first process, and when it was last identified. Most sessions have no other, so they need
  /// no dictionary.
  private var first: (pid: Int32, seen: Instant)?
  private var others: [Int32: Instant] = [:]
  private(set) var lastCaller: Caller?

  /// Starts again with other credentials.
  mutating func begin() {
    first = nil
    others = [:]
  }

  /// Whether this is the first time that the process gets the credentials.
  ///
  /// - Parameter started: when the process began; nil if unknown.
  mutating func isNew(_ pid: Int32, now: Instant, started: () -> Instant?) -> Bool {
    // All processes outside this daemon's pid namespace have this number.
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

  mutating func record(_ caller: Caller) { lastCaller = caller }
}
