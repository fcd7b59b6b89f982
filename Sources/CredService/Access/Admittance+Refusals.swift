import CredCore

/// What a refused caller is told, and what it does not learn.
extension Admittance {
  /// A caller that may not use every profile does not learn which ones exist. Nor does one for whom that
  /// takes longer than a time slice to tell. Root learns it: it can read the configuration.
  func unknown(_ name: String, _ caller: Caller, _ client: Client) -> ProtocolError {
    // The endpoint's answer is the same for all that it forbids.
    guard client.http == nil else { return Self.absent(name) }
    guard case .main = client.door else { return Self.notForYou(name, caller) }
    let key = SessionKey(uid: caller.uid, profile: name)
    if removedSessions[key] == SessionOwner(name: caller.userName) { return Self.removed(name) }
    let stale =
      configuration.problem == nil
      ? "" : " (the newest configuration is not in use: see 'systemctl status credd')"
    let configuration = configuration.current
    if caller.uid != 0 {
      guard !caller.isUnmapped, configuration.restrictions.count <= Self.restrictionsTried,
        configuration.restrictions.allSatisfy({ $0.allows(caller) })
      else { return Self.notForYou(name, caller, suggestion(for: name, caller)) }
    }
    let known = configuration.profileNames
    guard !known.isEmpty else {
      return ProtocolError(
        .unknownProfile,
        "no profile is configured on this host: ask its administrator to add one to credd.conf"
          + stale)
    }
    let advice = configuration.nameIndex.suggestion(
      for: name, otherwise: "; known are \(known.prefix(10).joined(separator: ", "))")
    return ProtocolError(.unknownProfile, "there is no profile '\(name)'\(advice)\(stale)")
  }

  /// Different rules of profiles that are tried for a caller who may use all of them.
  private static let restrictionsTried = 256

  private static func absent(_ name: String) -> ProtocolError {
    ProtocolError(.unknownProfile, "there is no profile '\(name)'")
  }

  /// The refusal of a profile that exists, once it is known which others are open to the caller.
  func refusal(
    of profile: Profile, isMemberByNow: Bool, _ caller: Caller, _ client: Client, _ now: Instant
  ) -> Decision {
    let name = profile.settings.name
    if isMemberByNow { return .refused(Self.logInAgain(name, caller)) }
    // A user who had a session knows that the profile exists. Another program or unit of the same
    // user has lost nothing.
    let isOfUser = !profile.access.needsExecutable && !profile.access.needsUnit
    let session = sessions[SessionKey(uid: caller.uid, profile: name)]
    if isOfUser, session?.asking.wasAdmitted == true,
      session?.owner == SessionOwner(name: caller.userName)
    {
      return .refused(Self.noLongerForYou(name))
    }
    guard case .main = client.door, caller.uid != 0 else {
      return .refused(Self.notForYou(name, caller))
    }
    switch self.caller(client, configuration.current.needs.own, now) {
    case .pending: return .pending
    case .unknown: return .refused(Self.notForYou(name, caller))
    case .known(let known):
      return .refused(Self.notForYou(name, caller, suggestion(for: name, known)))
    }
  }

  /// `; did you mean 'x'?`, of a profile that is open to the caller; empty where none is near.
  private func suggestion(for name: String, _ caller: Caller) -> String {
    let configuration = configuration.current
    guard caller.uid != 0, configuration.restrictions.count <= Self.restrictionsTried else {
      return ""
    }
    return configuration.nameIndex.suggestion(for: name) {
      configuration.profiles[$0]?.access.allows(caller) ?? false
    }
  }

  /// The caller with the groups that the user database has for it by now: its process may have begun
  /// before. Nil while the database is asked.
  func presentMember(_ caller: Caller, _ client: Client, _ now: Instant) -> Caller? {
    guard client.hasProcess, !needsOfAll(client).groups.isEmpty else { return caller }
    let query = UserQuery(.uid(caller.uid), withGroups: true)
    let answer = directory.answer(to: query, now: now) { [unowned self, id = client.id] in
      callerFound(id)
    }
    switch answer {
    case nil: return nil
    case .user(let user)?:
      var member = caller
      member.groups = user.groups
      return member
    case .nobody?, .unavailable?, .unreadableName?: return caller
    }
  }

  /// For the journal.
  static let needsNewLogin =
    "its process does not have a group that the user has by now: the user must log in again"

  private static func logInAgain(_ name: String, _ caller: Caller) -> ProtocolError {
    ProtocolError(
      .accessDenied,
      "\(caller.userName?.singleQuoted ?? "this user") is in a group that may use profile '\(name)', but "
        + "this process began before that: log in to this host again")
  }

  /// The same words whether or not there is such a profile.
  ///
  /// - Parameter suggestion: another profile, which is open to the caller.
  static func notForYou(
    _ name: String, _ caller: Caller, _ suggestion: String = ""
  ) -> ProtocolError {
    guard caller.uid != 0 else {
      return ProtocolError(
        .accessDenied,
        "profile '\(name)' is not open to root: run it without sudo, or add root to allow_users")
    }
    let user = caller.isUnmapped ? nil : caller.userName
    return ProtocolError(
      .accessDenied,
      "profile '\(name)' is not available to \(user?.singleQuoted ?? "uid \(caller.uid)")\(suggestion)"
    )
  }

  static func noLongerForYou(_ name: String) -> ProtocolError {
    ProtocolError(
      .accessDenied,
      "profile '\(name)' is no longer available to you: your groups, or who may use it, have changed"
    )
  }

  static func nameless(_ uid: UInt32, _ reason: String) -> ProtocolError {
    ProtocolError(.accessDenied, "uid \(uid) has no user name on this host, and \(reason)")
  }

  static func removed(_ profile: String) -> ProtocolError {
    ProtocolError(.unknownProfile, "profile '\(profile)' was removed from the configuration")
  }
}
