import CredCore
import Logging

/// The audit: which callers got credentials, and which were refused.
extension Journal {
  /// Records credentials that were given, once for each process and each refresh.
  func credentialsGiven(_ session: Session, to requester: Requester, _ now: Instant) {
    let client = requester.client
    client.auditedCredentials = session.credentialsNumber
    let peer = client.peer
    let process = AuditLedger.Process(pid: peer.pid, uid: peer.uid)
    guard session.audited.isNew(process, now: now, started: client.facts.startTime) else { return }
    session.audited.record(.init(pid: peer.pid, unit: client.unit()))
    guard let credentials = session.machine.credentials else { return }
    given("credentials given", session, requester) {
      $0["expiration"] = "\(credentials.credentials.expiration.iso8601)"
      $0["access_key_id"] = "\(credentials.credentials.accessKeyID)"
    }
  }

  /// Records a token that was given: it gives the same access as credentials.
  func tokenGiven(
    _ kind: String, _ expiration: WallTime?, _ session: Session, to requester: Requester
  ) {
    given("\(kind) token given", session, requester) {
      if let expiration { $0["expiration"] = "\(expiration.iso8601)" }
    }
  }

  private func given(
    _ message: Logger.Message, _ session: Session, _ requester: Requester,
    _ add: (inout Logger.Metadata) -> Void
  ) {
    let client = requester.client
    let unit = client.unit()
    guard
      let repeats = admit(
        .audit, message.description, session.key.profile, uid: session.key.uid,
        detail: "\(accountNumber(of: client.peer.uid)) \(Self.systemUnit(unit))")
    else { return }
    var metadata = callerMetadata(session.key.profile, requester, unit, repeats)
    if session.key.uid == client.peer.uid {
      if let name = session.userName { metadata["user"] = "\(name)" }
    } else {
      // `uid` and `user` are the caller; the credentials belong to another user.
      if let name = userName(of: client.peer.uid) { metadata["user"] = "\(name)" }
      metadata["for_uid"] = "\(session.key.uid)"
      if let name = session.userName { metadata["for_user"] = "\(name)" }
    }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    add(&metadata)
    log.log(
      session.key.uid == client.peer.uid ? .credentialsGiven : .impersonated, .info, message,
      metadata)
  }

  /// - Parameters:
  ///   - other: the user for whom the caller asked, in the caller's words.
  ///   - rule: the keys that refuse the caller.
  func accessRefused(
    _ caller: Caller, to profile: String, inNameOf other: String? = nil, because rule: String,
    _ requester: Requester
  ) {
    guard
      let repeats = admit(
        .refusal, JournalEvent.accessRefused.rawValue, profile, uid: caller.uid)
    else { return }
    let client = requester.client
    var metadata = callerMetadata(profile, requester, client.unit(), repeats)
    if let name = caller.userName ?? userName(of: caller.uid) { metadata["user"] = "\(name)" }
    metadata["code"] = "\(ProtocolErrorCode.accessDenied.rawValue)"
    if let other { metadata["for_user"] = "\(other)" }
    metadata["reason"] = "\(rule)"
    switch client.program.known?.answer {
    case .executable(let executable): metadata["executable"] = "\(executable.path)"
    case .unknown(let reason): metadata["executable"] = "unknown: \(reason)"
    case .overdue, .crowded, nil: break
    }
    log.log(
      .accessRefused, .notice, "refused a caller that the profile does not allow: \(rule)", metadata
    )
  }

  /// Logs why the endpoint answers 403, once a minute for each profile, account and unit. The answer is
  /// the same for all reasons.
  ///
  /// - Parameter profile: nil if the request was for the metrics.
  func forbidden(_ error: ProtocolError, to profile: String?, _ client: Client) {
    // A name that is not configured is the client's choice.
    let known = error.code == .unknownProfile ? nil : profile
    guard
      let repeats = admit(
        .refusal, JournalEvent.accessRefused.rawValue, known ?? "", uid: client.peer.uid,
        detail: Self.systemUnit(client.unit()))
    else { return }
    var metadata = callerMetadata(
      profile ?? "", Requester(client: client, purpose: nil), client.unit(), repeats)
    metadata["profile"] = profile.map { "\($0)" }
    metadata["user"] = userName(of: client.peer.uid).map { "\($0)" }
    metadata["code"] = "\(error.code.rawValue)"
    metadata["reason"] = "\(error.message)"
    log.log(
      .accessRefused, .notice, "refused a request at the endpoint: \(error.message)", metadata)
  }

  /// A token that was given to another user or unit may have been stolen.
  ///
  /// - Parameters:
  ///   - verdict: nil if the request had no token of credd.
  ///   - profile: the profile in the request.
  ///   - own: the profile of the client's own token; nil if it brought none.
  func tokenRefused(
    _ verdict: TokenKey.Verdict?, for profile: String, _ client: Client, isFor own: String?
  ) {
    let reason =
      switch verdict {
      case .notTheirs where own != nil: "the token is for profile '\(own ?? "")'"
      case .notTheirs, .opens: "the token was given to another user or unit, or for another profile"
      case .ofAnotherKey: "the token is of another boot, or the token key was removed since"
      case nil: "there is no token of credd's"
      }
    guard
      let repeats = admit(
        .refusal, JournalEvent.accessRefused.rawValue, "", uid: client.peer.uid,
        detail: "\(Self.systemUnit(client.unit())) \(reason)")
    else { return }
    var metadata: Logger.Metadata = [
      "uid": "\(client.peer.uid)", "transport": "endpoint", "profile": "\(profile)",
    ]
    if let unit = client.unit() { metadata["unit"] = "\(unit)" }
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    metadata["reason"] = "\(reason)"
    log.log(
      .accessRefused, verdict == .notTheirs && own == nil ? .warning : .notice,
      "refused a request at the endpoint: \(reason)", metadata)
  }

  /// Logs that a token was given for a profile that is not configured: the unit's requests will be
  /// refused. Root asks for all units of the host, so each counts for itself.
  ///
  /// - Parameter suggestion: `; did you mean 'work'?`, or empty.
  func tokenOfNoProfile(_ profile: String, _ owner: TokenOwner, _ suggestion: String) {
    let (uid, asker, detail): (UInt32, String, String) =
      switch owner {
      case .user(let uid): (uid, "uid \(uid)", "")
      case .unit(let unit): (0, unit, "\(unit) \(profile)")
      }
    guard
      let repeats = admit(
        .refusal, "tokenOfNoProfile", "", uid: uid, detail: detail)
    else { return }
    var metadata: Logger.Metadata = ["uid": "\(uid)", "profile": "\(profile)"]
    if case .unit(let unit) = owner { metadata["unit"] = "\(unit)" }
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    log.warning(
      "\(asker) asks for a token of profile '\(profile)', which is not configured\(suggestion)",
      metadata: metadata)
  }

  /// Logs that a limit refuses requests or connections, once a minute for each account and unit.
  func limitHit(_ error: ProtocolError, of peer: Peer, unit: String? = nil) {
    guard
      let repeats = admit(
        .refusal, JournalEvent.limitHit.rawValue, "", uid: peer.uid,
        detail: "\(Self.systemUnit(unit)) \(error.message)")
    else { return }
    var metadata: Logger.Metadata = [:]
    // The kernel may not have said who made a connection to the endpoint.
    if peer.uid != .max { metadata["uid"] = "\(peer.uid)" }
    if peer.pid > 0 { metadata["pid"] = "\(peer.pid)" }
    if let unit { metadata["unit"] = "\(unit)" }
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    log.log(.limitHit, .notice, "a limit was hit: \(error.message)", metadata)
  }

  /// The system's unit, without the unit of a user's own manager. The user chooses the names of
  /// such units, and each name would get other entries.
  private static func systemUnit(_ unit: String?) -> String {
    unit.map { String($0.prefix { $0 != "/" }) } ?? ""
  }

  func callerMetadata(
    _ profile: String, _ requester: Requester, _ unit: String?, _ repeats: Int
  ) -> Logger.Metadata {
    let client = requester.client
    var metadata: Logger.Metadata = [
      "profile": "\(profile)", "uid": "\(client.peer.uid)",
    ]
    if client.hasProcess {
      metadata["pid"] = "\(client.peer.pid)"
    } else {
      metadata["transport"] = "endpoint"
    }
    if let path = client.user.allowance { metadata["socket"] = "\(path)" }
    if let unit { metadata["unit"] = "\(unit)" }
    if let purpose = requester.purpose { metadata["purpose"] = "\(purpose)" }
    // The number of suppressed entries of this kind.
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    return metadata
  }
}
