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

  /// The result of deciding whether a caller may use a profile.
  enum AccessDecision {
    /// For this user: the caller, or another one for whom it may ask.
    case admitted(Profile, Caller)
    case refused(ProtocolError)
    case pending
  }

  /// Runs `body` with the caller's session, at once or when the caller is known; or refuses.
  ///
  /// - Parameter other: another user, whose session is used if the caller may act for that user.
  func withSession(
    _ profile: String, inNameOf other: String? = nil, _ request: Request, _ client: Client,
    _ now: Instant, _ need: SessionNeed = .session, _ body: (Session) -> Void
  ) {
    switch resolve(profile, inNameOf: other, client, now, since: client.nameSince, need) {
    case .session(let session):
      // A session that begins anew refuses its clients, and a write that fails ends one.
      guard clients[client.id] != nil else { return }
      if other != nil, let error = impersonationRefusal(session, client, now) {
        return refuse(error, id: request.id, client)
      }
      body(session)
    case .refused(let error): refuse(error, id: request.id, client)
    case .pending: wait(client, for: WaitingRequest(request, for: .caller))
    }
  }

  /// Decides by the kernel's facts about the caller, never by the request.
  ///
  /// - Parameters:
  ///   - other: the user for whom the caller asks; nil for the caller.
  ///   - since: when the user database must have been asked at the earliest who the caller is; nil if a
  ///     kept name is enough.
  func resolve(
    _ name: String, inNameOf other: String? = nil, _ client: Client, _ now: Instant,
    since: Instant? = nil, _ need: SessionNeed = .session
  ) -> Resolution {
    switch decideAccess(to: name, inNameOf: other, client, now, since: since) {
    case .admitted(let profile, let user): resolve(profile, for: user, now, need)
    case .refused(let error): .refused(error)
    case .pending: .pending
    }
  }

  /// Decides without a session, and makes none.
  func decideAccess(
    to name: String, inNameOf other: String? = nil, _ client: Client, _ now: Instant,
    since: Instant? = nil
  ) -> AccessDecision {
    let profile = configuration.profiles[name]
    let needs = needs(of: profile, forOthers: other != nil)
    let caller: Caller
    switch self.caller(client, needs, now, since: since) {
    case .known(let known): caller = known
    case .pending: return .pending
    case .unknown(let error): return .refused(error)
    }
    if needs.executable, let error = client.executable?.answer.error { return .refused(error) }
    if let other {
      return decideAccess(to: profile, name, inNameOf: other, caller, client, now)
    }
    guard let profile else { return .refused(unknown(name, caller)) }
    guard profile.access.allows(caller) else {
      recordRefusal(of: caller, to: name, client, now)
      // Who had a session knows that the profile exists. Another program or unit of the same user has
      // lost nothing.
      let isOfUser = !profile.access.needsExecutable && !profile.access.needsUnit
      let session = sessions[SessionKey(uid: caller.uid, profile: name)]
      let hadIt = session?.owner == SessionOwner(name: caller.userName)
      return .refused(hadIt && isOfUser ? Self.noLongerForYou(name) : Self.notForYou(name))
    }
    if isClosed(profile, to: caller, client) {
      recordRefusal(of: caller, to: name, client, now)
      return .refused(Self.notForYou(name))
    }
    return .admitted(profile, caller)
  }

  /// The session of an admitted user.
  private func resolve(
    _ profile: Profile, for user: Caller, _ now: Instant, _ need: SessionNeed
  ) -> Resolution {
    if profile.needsUserName, user.userName == nil {
      return .refused(Self.nameless(user.uid, "profile '\(profile.settings.name)' needs one"))
    }
    return session(of: profile, for: user, now, need)
  }

  /// Only a caller that may act for others learns which profiles and users exist.
  private func decideAccess(
    to profile: Profile?, _ name: String, inNameOf other: String, _ caller: Caller,
    _ client: Client, _ now: Instant
  ) -> AccessDecision {
    guard let profile, profile.access.allowsImpersonation(by: caller) else {
      if profile != nil { recordRefusal(of: caller, to: name, inNameOf: other, client, now) }
      return .refused(
        ProtocolError(.accessDenied, "you may not act for others in profile '\(name)'"))
    }
    let user: Caller
    switch self.user(other, withGroups: profile.access.needsGroups, client, now) {
    case .known(let known): user = known
    case .pending: return .pending
    case .refused(let error): return .refused(error)
    }
    guard profile.access.allows(caller, for: user) else {
      recordRefusal(of: caller, to: name, inNameOf: other, client, now)
      return .refused(
        ProtocolError(
          .accessDenied, "profile '\(name)' is not available to \(other.quoted)"))
    }
    return .admitted(profile, user)
  }

  /// The user in whose name a caller asks, by name or number.
  private func user(
    _ text: String, withGroups: Bool, _ client: Client, _ now: Instant
  ) -> OtherUser {
    func answer(to key: UserQuery.Key) -> UserAnswer? {
      directory.answer(to: UserQuery(key, withGroups: withGroups), now: now) {
        [unowned self, id = client.id] in self.callerKnown(id)
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

  /// The session of an admitted caller, created if there is none. One that an answer alone needs is not
  /// in the table.
  func session(
    of profile: Profile, for caller: Caller, _ now: Instant, _ need: SessionNeed = .session
  ) -> Resolution {
    let name = profile.settings.name
    let key = SessionKey(uid: caller.uid, profile: name)
    let owner = SessionOwner(name: caller.userName)
    if sessions[key] == nil { recall(key) }
    if let session = sessions[key], isOwned(session, by: owner, now) { return .session(session) }
    // What is there belongs to a user with a name, who may be known again in a moment.
    let stored = sessions[key] == nil ? host.store?.identity(for: key) : nil
    if (sessions[key]?.owner ?? stored?.owner)?.successor(owner) == .nameless {
      return .refused(Self.nameless(caller.uid, "its session in profile '\(name)' belongs to one"))
    }
    if stored?.owner.successor(owner) == .anotherPerson { host.store?.setIdentity(nil, for: key) }
    let session = Session(
      key: key, profile: profile, owner: owner,
      machine: newMachine(stored, profile, owner, now))
    if need == .answer || need == .change && !session.machine.snapshot.isWorthKeeping {
      return .session(session)
    }
    if let error = makeRoom(for: session) { return .refused(error) }
    insert(session)
    return .session(session)
  }

  // MARK: Refusals

  /// A caller that may not use every profile does not learn which ones exist.
  private func unknown(_ name: String, _ caller: Caller) -> ProtocolError {
    let key = SessionKey(uid: caller.uid, profile: name)
    if removedSessions[key] == SessionOwner(name: caller.userName) { return Self.removed(name) }
    guard !caller.isUnmapped, configuration.restricted.allSatisfy({ $0.access.allows(caller) })
    else { return Self.notForYou(name) }
    let known = configuration.profileNames
    let message =
      known.isEmpty
      ? "no profile is configured on this host: ask its administrator to add one to credd.conf"
      : "there is no profile '\(name)'"
        + NearestName.suggestion(
          name, in: known, otherwise: "; known are \(known.prefix(10).joined(separator: ", "))")
    return ProtocolError(.unknownProfile, message)
  }

  private static func notForYou(_ name: String) -> ProtocolError {
    ProtocolError(.accessDenied, "profile '\(name)' is not available to you")
  }

  static func noLongerForYou(_ name: String) -> ProtocolError {
    ProtocolError(
      .accessDenied,
      "profile '\(name)' is no longer available to you: your groups, or who may use it, have changed"
    )
  }

  private static func nameless(_ uid: UInt32, _ reason: String) -> ProtocolError {
    ProtocolError(.accessDenied, "uid \(uid) has no user name on this host, and \(reason)")
  }
}
