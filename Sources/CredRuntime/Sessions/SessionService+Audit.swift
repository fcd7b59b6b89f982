internal import CredCore
internal import Logging

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
    let subject = RepeatLimiter.Subject(
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
    let subject = RepeatLimiter.Subject(
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
