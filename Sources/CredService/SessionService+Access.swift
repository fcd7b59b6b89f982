import CredCore
import Logging

extension SessionService {
  /// The result of looking up a profile's name for a caller.
  enum Resolution {
    case session(Session)
    case refused(ProtocolError)
    /// The caller is being looked up; the request is routed again afterwards.
    case pending
  }

  /// Runs `body` with the caller's session, at once or when the caller is known; or refuses.
  ///
  /// - Parameter other: another user, whose session is used if the caller may act for that user.
  func withSession(
    _ profile: String, inNameOf other: String? = nil, _ request: Request, _ client: Client,
    _ now: Instant, _ body: (Session) -> Void
  ) {
    switch resolve(profile, inNameOf: other, client, now) {
    case .session(let session):
      // A session that begins anew refuses its clients, and a write that fails ends one.
      guard clients[client.id] != nil else { return }
      if other != nil, let error = impersonationRefusal(session, client, now) {
        return refuse(error, id: request.id, client)
      }
      body(session)
    case .refused(let error): refuse(error, id: request.id, client)
    case .pending: wait(client, for: WaitingRequest(request, forCaller: true))
    }
  }

  /// Decides by the kernel's facts about the caller, never by the request.
  ///
  /// - Parameter other: the user for whom the caller asks; nil for the caller.
  func resolve(
    _ name: String, inNameOf other: String? = nil, _ client: Client, _ now: Instant
  ) -> Resolution {
    let profile = configuration.profiles[name]
    let needs = needs(of: profile, forOthers: other != nil)
    guard let caller = caller(client, needs, now) else { return .pending }
    if needs.executable, let error = client.executable?.answer.error { return .refused(error) }
    if let other {
      return resolve(profile, name, inNameOf: other, caller, client, now)
    }
    guard let profile else { return .refused(unknown(name, caller)) }
    guard profile.access.allows(caller) else {
      recordRefusal(of: caller, to: name, client, now)
      return .refused(Self.notForYou(name))
    }
    return resolve(profile, for: caller, query(needs, about: client), now)
  }

  /// The session of an admitted user.
  private func resolve(
    _ profile: Profile, for owner: Caller, _ query: UserQuery, _ now: Instant
  ) -> Resolution {
    if profile.needsUserName, owner.userName == nil {
      return .refused(nameless(owner.uid, profile, query, now))
    }
    guard let session = session(of: profile, for: owner, now: now) else {
      return .refused(
        ProtocolError(.tooManyRequests, "the daemon holds as many sessions as max_sessions allows"))
    }
    return .session(session)
  }

  /// Only a caller that may act for others learns which profiles and users exist.
  private func resolve(
    _ profile: Profile?, _ name: String, inNameOf other: String, _ caller: Caller,
    _ client: Client, _ now: Instant
  ) -> Resolution {
    guard let profile, profile.access.allowsImpersonation(by: caller) else {
      if profile != nil { recordRefusal(of: caller, to: name, client, now) }
      return .refused(
        ProtocolError(.accessDenied, "you may not act for others in profile '\(name)'"))
    }
    let number = other.utf8.allSatisfy(\.isDigit) ? UInt32(other) : nil
    let query = UserQuery(
      number.map { .uid($0) } ?? .name(other), withGroups: profile.access.needsGroups)
    let owner: Caller
    switch (directory.answer(to: query, now: now) { [unowned self, id = client.id] in
      self.callerKnown(id)
    }) {
    case nil: return .pending
    case .user(let user):
      owner = Caller(
        uid: user.uid, groups: user.groups, userName: user.name,
        isUnmapped: user.uid == host.process.overflowUID)
    case .nobody, .unavailable:
      guard let number else {
        return .refused(
          ProtocolError(.accessDenied, "the host knows no user \(other.quoted)"))
      }
      owner = Caller(uid: number, isUnmapped: number == host.process.overflowUID)
    }
    guard profile.access.allows(caller, for: owner) else {
      recordRefusal(of: caller, to: name, client, now)
      return .refused(
        ProtocolError(
          .accessDenied, "profile '\(name)' is not available to \(other.quoted)"))
    }
    return resolve(profile, for: owner, query, now)
  }

  /// The refusal of another user's session because a person signed in to it.
  func impersonationRefusal(
    _ session: Session, _ client: Client, _ now: Instant
  ) -> ProtocolError? {
    guard session.machine.state.isPersonal, !session.profile.settings.impersonateSignedIn else {
      return nil
    }
    let name = session.key.profile
    recordRefusal(of: Caller(uid: client.peer.uid), to: name, client, now)
    let user = session.userName ?? "uid \(session.key.uid)"
    return ProtocolError(
      .accessDenied,
      "\(user) signed in to profile '\(name)' in person; to act for such users takes "
        + "impersonate_signed_in = yes")
  }

  // MARK: Sessions

  /// The session of an admitted caller, created if there is none.
  private func session(of profile: Profile, for caller: Caller, now: Instant) -> Session? {
    let key = SessionKey(uid: caller.uid, profile: profile.settings.name)
    if let session = sessions[key] {
      if let name = caller.userName { userNameChanged(session, name, now) }
      return session
    }
    guard sessions.count < configuration.daemon.maxSessions else { return nil }
    let session = Session(
      key: key, profile: profile, userName: caller.userName,
      machine: newMachine(key, profile, caller.userName, now))
    insert(session)
    return session
  }

  /// If a uid is given to another person, that person must not get the former person's identity.
  private func userNameChanged(_ session: Session, _ name: String, _ now: Instant) {
    let known = session.userName
    guard known != name else { return }
    session.userName = name
    guard known != nil else { return }
    log.notice(
      "a uid has another name now: its session begins anew",
      metadata: ["profile": "\(session.key.profile)", "uid": "\(session.key.uid)"])
    handle(.userChanged, session, now)
  }

  // MARK: Refusals

  /// A caller that may not use every profile does not learn which ones exist.
  private func unknown(_ name: String, _ caller: Caller) -> ProtocolError {
    guard !caller.isUnmapped, configuration.restricted.allSatisfy({ $0.access.allows(caller) })
    else { return Self.notForYou(name) }
    let known = configuration.profileNames
    let message =
      known.isEmpty
      ? "no profile is configured; add [profile \(name)] to credd.conf"
      : "there is no profile '\(name)'"
        + NearestName.suggestion(
          name, in: known, otherwise: "; known are \(known.prefix(10).joined(separator: ", "))")
    return ProtocolError(.unknownProfile, message)
  }

  private static func notForYou(_ name: String) -> ProtocolError {
    ProtocolError(.accessDenied, "profile '\(name)' is not available to you")
  }

  private func nameless(
    _ uid: UInt32, _ profile: Profile, _ query: UserQuery, _ now: Instant
  ) -> ProtocolError {
    let name = profile.settings.name
    guard directory.known(query) == .nobody else {
      return ProtocolError(
        .timeout, "the host's user database did not say who uid \(uid) is",
        retryAfter: UserDirectory.failureKeptFor)
    }
    return ProtocolError(
      .accessDenied, "uid \(uid) has no user name on this host, and profile '\(name)' needs one")
  }
}
