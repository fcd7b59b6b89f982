package import CredCore
import Logging

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
      event: message.description, profile: session.key.profile,
      uid: accountNumber(of: session.key.uid),
      detail: "\(accountNumber(of: client.peer.uid)) \(systemUnit)")
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
      event: JournalEvent.accessRefused.rawValue, profile: profile,
      uid: accountNumber(of: caller.uid))
    guard let repeats = refusalLimiter.admit(subject, now: now) else { return }
    var metadata = callerMetadata(profile, client, client.unit(), repeats)
    if let name = caller.userName { metadata["user"] = "\(name)" }
    metadata["code"] = "\(ProtocolErrorCode.accessDenied.rawValue)"
    if let other { metadata["for_user"] = "\(other)" }
    if caller.isUnmapped { metadata["reason"] = "the kernel has no uid for it on this host" }
    switch client.executable?.answer {
    case .executable(let executable): metadata["executable"] = "\(executable.path)"
    case .unknown(let reason): metadata["executable"] = "unknown: \(reason)"
    case .overdue, .crowded, nil: break
    }
    log.log(
      .accessRefused, .notice, "refused a caller that the profile does not allow", metadata)
  }

  /// A token that was given to another user or unit may have been stolen.
  ///
  /// - Parameter verdict: nil if there was no token of credd's.
  func recordTokenRefusal(_ verdict: TokenKey.Verdict?, _ client: Client, _ now: Instant) {
    let reason =
      switch verdict {
      case .notTheirs, .opens: "the token was given to another user or unit, or for another profile"
      case .ofAnotherKey: "the token is of another boot, or the token key was removed since"
      case nil: "there is no token of credd's"
      }
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.accessRefused.rawValue, profile: "",
      uid: accountNumber(of: client.peer.uid),
      detail: "\(client.unit() ?? "") \(reason)")
    guard let repeats = refusalLimiter.admit(subject, now: now) else { return }
    var metadata: Logger.Metadata = ["uid": "\(client.peer.uid)", "transport": "endpoint"]
    if case .credentialsOf(let profile)? = client.endpoint?.request?.path {
      metadata["profile"] = "\(profile)"
    }
    if let unit = client.unit() { metadata["unit"] = "\(unit)" }
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    metadata["reason"] = "\(reason)"
    log.log(
      .accessRefused, verdict == .notTheirs ? .warning : .notice,
      "refused a request at the endpoint: \(reason)", metadata)
  }

  /// Says whose requests or connections a limit refuses, once a minute for each account and unit.
  package func recordLimit(_ error: ProtocolError, of peer: Peer, unit: String? = nil) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.limitHit.rawValue, profile: "", uid: accountNumber(of: peer.uid),
      detail: "\(unit ?? "") \(error.message)")
    guard let repeats = refusalLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata: Logger.Metadata = [:]
    // The kernel may not have said who made a connection to the endpoint.
    if peer.uid != .max { metadata["uid"] = "\(peer.uid)" }
    if peer.pid > 0 { metadata["pid"] = "\(peer.pid)" }
    if let unit { metadata["unit"] = "\(unit)" }
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    log.log(.limitHit, .notice, "a limit was hit: \(error.message)", metadata)
  }

  func callerMetadata(
    _ profile: String, _ client: Client, _ unit: String?, _ repeats: Int
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "profile": "\(profile)", "uid": "\(client.peer.uid)",
    ]
    if client.endpoint == nil {
      metadata["pid"] = "\(client.peer.pid)"
    } else {
      // The kernel names no process for a TCP connection.
      metadata["transport"] = "endpoint"
    }
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
