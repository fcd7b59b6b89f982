import CredCore
import Logging

/// Decides who a caller is and which profiles it may use, by the kernel's facts and the host's user
/// database, never by the request.
final class Admittance {
  /// The result of deciding whether a caller may use a profile.
  enum Decision {
    /// The request is for this user: the caller, or another user for whom it may ask.
    case admitted(Profile, Caller)
    case refused(ProtocolError)
    /// The caller is being looked up; ``callerFound`` follows.
    case pending
  }

  /// The result of looking for the session of an admitted caller.
  enum Resolution {
    case session(Session)
    case refused(ProtocolError)
    case pending
  }

  /// The owners of sessions with a profile that a reload removed. An owner is told at the next
  /// request.
  private(set) var removedSessions: [SessionKey: SessionOwner] = [:]
  let host: Host
  let configuration: ConfigurationInForce
  let directory: UserDirectory
  let executables: ExecutableDirectory
  let sessions: SessionTable
  let records: Records
  let devices: Devices
  let clients: Clients
  let changedFiles: ChangedFiles
  let journal: Journal
  /// Called when a client was looked up, successfully or not.
  var callerFound: (_ client: UInt64) -> Void = { _ in }

  init(
    host: Host, configuration: ConfigurationInForce, directory: UserDirectory,
    sessions: SessionTable, records: Records, devices: Devices, clients: Clients,
    changedFiles: ChangedFiles, journal: Journal
  ) {
    self.host = host
    self.configuration = configuration
    self.directory = directory
    self.sessions = sessions
    self.records = records
    self.devices = devices
    self.clients = clients
    self.changedFiles = changedFiles
    self.journal = journal
    executables = ExecutableDirectory(
      clock: host.clock, background: host.background, queries: host.queries)
    directory.ownerChanged = { [unowned clients] in clients.forgetAnswers(of: $0) }
  }

  // MARK: Profiles

  /// Decides without a session, and makes none.
  ///
  /// - Parameters:
  ///   - other: the user for whom the caller asks; nil for the caller.
  ///   - since: when the user database must have been asked at the earliest who the caller is; nil if a
  ///     kept name is enough.
  func decide(
    _ name: String, inNameOf other: String? = nil, for requester: Requester, _ now: Instant,
    since: Instant? = nil
  ) -> Decision {
    let client = requester.client
    // What is not behind the client's door is looked for in the same way as what is nowhere.
    let profile = client.door.has(name) ? configuration[name] : nil
    let needs =
      client.door.cap.flatMap { profile == nil ? $0.needs : nil }
      ?? self.needs(of: profile, forOthers: other != nil)
    let caller: Caller
    switch self.caller(client, needs, now, since: since) {
    case .known(let known): caller = known
    case .pending: return .pending
    case .unknown(let error): return .refused(error)
    }
    if needs.executable, let error = client.program.known?.answer.error { return .refused(error) }
    if let other {
      return decide(profile, name, inNameOf: other, caller, requester, now)
    }
    if let profile, let http = client.http,
      let error = Self.refusalAtEndpoint(of: profile, to: caller, hasUnitToken: http.hasUnitToken)
    {
      // The answer is the same for all that the endpoint forbids, and the journal gets the reason.
      return .refused(ProtocolError(.accessDenied, error.message))
    }
    if let profile, profile.access.allows(caller) { return .admitted(profile, caller) }
    // Whoever is refused is looked up in the same way, whether or not there is such a profile.
    guard let member = presentMember(caller, client, now) else { return .pending }
    guard let profile else { return .refused(unknown(name, caller, client)) }
    let isMember = profile.access.needsGroups && profile.access.allows(member)
    let rule = isMember ? Self.needsNewLogin : profile.access.refusal(of: caller)
    if client.http != nil { return .refused(ProtocolError(.accessDenied, rule)) }
    let decision = refusal(of: profile, isMemberByNow: isMember, caller, client, now)
    if case .refused = decision {
      journal.accessRefused(caller, to: name, because: rule, requester)
    }
    return decision
  }

  /// Only a caller that may act for others learns which profiles and users exist.
  private func decide(
    _ profile: Profile?, _ name: String, inNameOf other: String, _ caller: Caller,
    _ requester: Requester, _ now: Instant
  ) -> Decision {
    guard let profile, profile.access.allowsImpersonation(by: caller) else {
      if let profile {
        let rule = profile.access.refusalOfImpersonation(by: caller)
        journal.accessRefused(caller, to: name, inNameOf: other, because: rule, requester)
      }
      return .refused(
        ProtocolError(.accessDenied, "you may not act for others in profile '\(name)'"))
    }
    let user: Caller
    switch self.user(other, withGroups: profile.access.needsGroups, requester.client, now) {
    case .known(let known): user = known
    case .pending: return .pending
    case .refused(let error): return .refused(error)
    }
    guard profile.access.allows(caller, for: user) else {
      journal.accessRefused(
        caller, to: name, inNameOf: other, because: "its allow_ keys do not name the other user",
        requester)
      return .refused(
        ProtocolError(
          .accessDenied, "profile '\(name)' is not available to \(other.quoted)"))
    }
    return .admitted(profile, user)
  }

  /// Why a profile that admits the caller on the socket is not served to it at the endpoint.
  ///
  /// Forwarders often run as root, and lend its uid to all behind them. So root counts where a list
  /// names it, or where its unit's token says that it is no forwarder. The kernel names no program
  /// for a TCP connection. Where there are tokens alone, there is nothing to serve.
  static func refusalAtEndpoint(
    of profile: Profile, to caller: Caller, hasUnitToken: Bool
  ) -> ProtocolError? {
    if let error = profile.refusalOfCredentials { return error }
    let name = profile.settings.name
    if profile.access.needsExecutable {
      return ProtocolError(
        .accessDenied,
        "profile '\(name)' is not served to HTTP clients: allow_executables needs a program, and "
          + "the kernel names none for a TCP connection")
    }
    if caller.uid == 0, !hasUnitToken, !profile.access.names(caller) {
      return ProtocolError(
        .accessDenied,
        "profile '\(name)' is not served to root's HTTP clients: forwarders run as root; name root "
          + "in allow_users, or use the token of a unit")
    }
    return nil
  }

  /// The other user for whom a caller asks, by name or number.
  private func user(
    _ text: String, withGroups: Bool, _ client: Client, _ now: Instant
  ) -> OtherUser {
    func answer(to key: UserQuery.Key) -> UserAnswer? {
      directory.answer(to: UserQuery(key, withGroups: withGroups), now: now) {
        [unowned self, id = client.id] in callerFound(id)
      }
    }
    let number = text.utf8.allSatisfy(\.isDigit) ? UInt32(text) : nil
    var asked: UserEntry?
    if number == nil {
      switch answer(to: .name(text)) {
      case nil: return .pending
      case .user(let entry): asked = entry
      case .nobody:
        return .refused(
          ProtocolError(.accessDenied, "the host knows no user \(text.quoted)"))
      case .unavailable: return .refused(Self.unidentified("who \(text.quoted) is"))
      case .unreadableName: return .refused(Self.unreadable(text.quoted))
      }
    }
    // A session belongs to the name that the host has for the uid, whatever the uid was asked by.
    guard let uid = number ?? asked?.uid else { return .pending }
    var user = Caller(uid: uid, isUnmapped: uid == host.process.overflowUID)
    switch answer(to: .uid(uid)) {
    case nil: return .pending
    case .unavailable: return .refused(Self.unidentified("who uid \(uid) is"))
    case .unreadableName: return .refused(Self.unreadable("uid \(uid)"))
    case .nobody: break
    case .user(let entry):
      user.userName = entry.name
      user.groups = entry.groups
    }
    guard asked.map({ SessionOwner(name: $0.name) == SessionOwner(name: user.userName) }) ?? true
    else {
      return .refused(
        ProtocolError(
          .accessDenied, "the host has another name than \(text.quoted) for uid \(uid)"))
    }
    return .known(user)
  }

  private enum OtherUser {
    case known(Caller)
    case pending
    case refused(ProtocolError)
  }

  /// The refusal of another user's session because a person signed in to it.
  func impersonationRefusal(_ session: Session, _ requester: Requester) -> ProtocolError? {
    guard session.root.machine.isOfPerson, !session.profile.settings.impersonateSignedIn
    else {
      return nil
    }
    let name = session.key.profile
    journal.accessRefused(
      Caller(uid: requester.client.peer.uid), to: name,
      because: "impersonate_signed_in is not set, and the user signed in", requester)
    let user = session.userName ?? "uid \(session.key.uid)"
    return ProtocolError(
      .accessDenied,
      "\(user) signed in to profile '\(name)' in person; to act for such users takes "
        + "impersonate_signed_in = yes")
  }

  // MARK: Sessions

  /// Runs `body` with the caller's session, at once or when the caller is known; or refuses.
  ///
  /// - Parameter other: another user. If the caller may act for this user, `body` gets this user's
  ///   session.
  func withSession(
    _ profile: String, inNameOf other: String? = nil, _ turn: Turn,
    _ need: SessionNeed = .session, _ body: (Session) -> Void
  ) {
    let resolution = resolve(
      profile, inNameOf: other, for: turn.requester, turn.now, since: turn.nameSince, need)
    switch resolution {
    case .session(let session):
      // A session that begins anew refuses its clients, and a write that fails ends one.
      guard turn.isOpen else { return }
      if other != nil, let error = impersonationRefusal(session, turn.requester) {
        return turn.refuse(error)
      }
      body(session)
    case .refused(let error): changedFiles.refuse(error, turn)
    case .pending: turn.waitForCaller()
    }
  }

  /// - Parameters: as of ``decide(_:inNameOf:for:_:since:)``.
  func resolve(
    _ name: String, inNameOf other: String? = nil, for requester: Requester, _ now: Instant,
    since: Instant? = nil, _ need: SessionNeed = .session
  ) -> Resolution {
    switch decide(name, inNameOf: other, for: requester, now, since: since) {
    case .admitted(let profile, let user):
      guard user.userName != nil || !profile.needsUserName else {
        return .refused(
          Self.nameless(
            user.uid,
            "profile '\(name)' needs one (with user_identifier = {uid} it would need none)"))
      }
      let found = session(of: profile, for: user, now, need)
      if case .session(let session) = found { session.asking.wasAdmitted = true }
      return found
    case .refused(let error): return .refused(error)
    case .pending: return .pending
    }
  }

  /// The session of an admitted caller, created if there is none. If only an answer needs it, the
  /// session is not put into the table.
  ///
  /// - Parameter asked: the profile that the caller named, if this is a source of it; a refusal names no
  ///   other.
  func session(
    of profile: Profile, for caller: Caller, _ now: Instant, _ need: SessionNeed = .session,
    asked: String? = nil
  ) -> Resolution {
    let name = profile.settings.name
    var source: Session?
    if let from = profile.source {
      let found = session(
        of: configuration[from.settings.name] ?? from, for: caller, now, need, asked: asked ?? name)
      guard case .session(let session) = found else { return found }
      source = session
    }
    let key = SessionKey(uid: caller.uid, profile: name)
    let owner = SessionOwner(name: caller.userName)
    if sessions[key] == nil { records.recall(key) }
    if let session = sessions[key], claim(session, for: owner, now) { return .session(session) }
    // The stored identity belongs to a user with a name, and the host may know that name again in a
    // moment.
    let stored = sessions[key] == nil ? host.store?.identity(for: key) : nil
    if (sessions[key]?.owner ?? stored?.owner)?.successor(owner) == .nameless {
      let words = "its session in profile '\(asked ?? name)' belongs to one"
      return .refused(Self.nameless(caller.uid, words))
    }
    if stored?.owner.successor(owner) == .anotherPerson { host.store?.setIdentity(nil, for: key) }
    let session = Session(
      key: key, profile: profile, owner: owner,
      machine: source.map { SessionMachine(plan: profile.plan, from: $0.machine, now: now) }
        ?? records.newMachine(stored, profile, owner, now),
      source: source)
    if need == .answer || need == .change && !session.machine.snapshot.isWorthKeeping {
      return .session(session)
    }
    if let error = sessions.makeRoom(for: session) { return .refused(error) }
    sessions.insert(session)
    return .session(session)
  }

  /// The profile of a session was removed, and the session has ended.
  func noteRemoved(_ session: Session) {
    if removedSessions.count >= Limits.Session.most { removedSessions = [:] }
    removedSessions[session.key] = session.owner
  }
}

extension ProtocolError {
  /// Whether the error denies access; other errors are failures.
  var endsAccess: Bool { code == .accessDenied || code == .unknownProfile }
}
