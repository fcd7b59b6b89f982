internal import CredCore
internal import Logging

extension SessionService {
  /// What a profile's name means for a caller.
  enum Resolution {
    case session(Session)
    case refused(ProtocolError)
    /// The caller's name is being looked up; the request is answered when it is there.
    case pending
  }

  /// Decides from the kernel's word for who calls, never from what the request says.
  ///
  /// - Parameter other: in whose name the caller asks; nil for their own.
  func resolve(
    _ name: String, inNameOf other: String? = nil, _ connection: Connection, _ now: Instant
  ) -> Resolution {
    let profile = settings.profiles[name]
    let needs = needs(of: profile, forOthers: other != nil)
    guard let caller = caller(connection, needs, now) else { return .pending }
    if let other {
      return resolve(profile, name, inNameOf: other, caller, connection, now)
    }
    guard let profile else { return .refused(unknown(name, caller)) }
    guard profile.access.allows(caller) else {
      noteRefusal(of: caller, to: name, connection, now)
      return .refused(Self.notForYou(name))
    }
    return resolve(profile, for: caller, question(needs, about: connection), now)
  }

  /// The session of somebody who may have it.
  private func resolve(
    _ profile: Profile, for owner: Caller, _ question: UserDirectory.Question, _ now: Instant
  ) -> Resolution {
    if profile.needsUserName, owner.userName == nil {
      return .refused(nameless(owner.uid, profile, question, now))
    }
    guard let session = session(of: profile, for: owner, now: now) else {
      return .refused(
        ProtocolError(.tooManyRequests, "the daemon holds as many sessions as max_sessions allows"))
    }
    return .session(session)
  }

  /// Nobody learns which profiles and users exist but those who may act for others.
  private func resolve(
    _ profile: Profile?, _ name: String, inNameOf other: String, _ caller: Caller,
    _ connection: Connection, _ now: Instant
  ) -> Resolution {
    guard let profile, profile.access.allowsImpersonation(by: caller) else {
      if profile != nil { noteRefusal(of: caller, to: name, connection, now) }
      return .refused(
        ProtocolError(.accessDenied, "you may not act for others in profile '\(name)'"))
    }
    let token = connection.token
    let number = other.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ? UInt32(other) : nil
    let question = UserDirectory.Question(
      key: number.map { .uid($0) } ?? .name(other), withGroups: profile.access.needsGroups)
    let owner: Caller
    switch (directory.answer(to: question, now: now) { [unowned self] in self.proceed(token) }) {
    case nil: return .pending
    case .user(let user):
      owner = Caller(
        uid: user.uid, groups: user.groups, userName: user.name,
        isUnmapped: user.uid == overflowUID)
    case .nobody, .unavailable:
      guard let number else {
        return .refused(
          ProtocolError(.accessDenied, "the host knows no user \(other.quotedForMessage)"))
      }
      owner = Caller(uid: number, isUnmapped: number == overflowUID)
    }
    guard profile.access.allows(caller, for: owner) else {
      noteRefusal(of: caller, to: name, connection, now)
      return .refused(
        ProtocolError(
          .accessDenied, "profile '\(name)' is not available to \(other.quotedForMessage)"))
    }
    return resolve(profile, for: owner, question, now)
  }

  // MARK: Callers

  /// For a profile that does not exist, whatever any other needs: else the time that an answer takes
  /// would tell which exist.
  private func needs(of profile: Profile?, forOthers: Bool) -> CallerNeeds {
    if let profile { return CallerNeeds(profile, forOthers: forOthers) }
    return forOthers ? settings.needs.others : settings.needs.own
  }

  private func question(
    _ needs: CallerNeeds, about connection: Connection
  ) -> UserDirectory.Question {
    .uid(
      connection.peer.uid,
      withGroups: !needs.groups.isEmpty
        && connection.groups().contains(where: needs.groups.contains))
  }

  /// Nil while something is being looked up.
  private func caller(
    _ connection: Connection, _ needs: CallerNeeds, _ now: Instant
  ) -> Caller? {
    let uid = connection.peer.uid
    var caller = Caller(
      uid: uid, groups: needs.groups.isEmpty ? [] : connection.groups(),
      isUnmapped: uid == overflowUID)
    let token = connection.token
    var until = now + UserDirectory.keptFor
    let question = question(needs, about: connection)
    if needs.name || question.withGroups {
      let answer = directory.answer(to: question, now: now) { [unowned self] in
        self.proceed(token)
      }
      guard let answer else { return nil }
      until = min(until, directory.freshUntil(question) ?? until)
      if case .user(let user) = answer {
        caller.userName = user.name
        // Processes keep the groups that they were started with.
        caller.groups.removeAll(where: user.withdrawn.contains)
      }
    }
    if needs.executable {
      guard let answer = executable(of: connection, withDigest: needs.digest, now) else {
        return nil
      }
      until = min(until, connection.executable?.until ?? until)
      if case .executable(let executable) = answer { caller.executable = executable }
    }
    if needs.unit { caller.unit = connection.presentUnit() }
    connection.decision = (until, needs.groups.isEmpty && !needs.unit && !needs.executable)
    return caller
  }

  /// Nil while it is being found out.
  private func executable(
    of connection: Connection, withDigest: Bool, _ now: Instant
  ) -> ExecutableDirectory.Answer? {
    if let known = connection.executable, now < known.until, known.hasDigest || !withDigest {
      return known.answer
    }
    guard !connection.isInspected else { return nil }
    // Only the kernel's pidfd of the peer (Linux 6.5) makes its pid certain.
    guard connection.isPeerAlive() else {
      return .unknown("it has ended, or the kernel is older than Linux 6.5")
    }
    connection.isInspected = true
    let token = connection.token
    executables.inspect(pid: connection.peer.pid, withDigest: withDigest, now: now) {
      [unowned self] answer in
      guard let connection = server.connection(token) else { return }
      connection.isInspected = false
      let isCertain = connection.isPeerAlive()
      connection.executable = (
        isCertain ? answer : .unknown("it ended meanwhile"), withDigest,
        loop.now + ExecutableDirectory.keptFor
      )
      if !isCertain { connection.executable?.hasDigest = true }
      proceed(token)
    }
    return nil
  }

  /// What had to be known of the caller is known now, or known not to be.
  private func proceed(_ token: UInt64) {
    guard let connection = server.connection(token) else { return }
    if let parked = connection.parked, parked.awaitsName {
      connection.parked = nil
      answer(parked.request, connection, loop.now)
    }
    review(connection, loop.now)
    server.finishTurn()
  }

  /// Whether a caller may see everyone's sessions; nil while it is being looked up.
  func isAdmin(_ connection: Connection, _ now: Instant) -> Bool? {
    guard connection.peer.uid != 0 else { return true }
    guard let group = settings.adminGroup, connection.groups().contains(group) else { return false }
    var needs = CallerNeeds()
    needs.groups = [group]
    return caller(connection, needs, now).map { $0.groups.contains(group) }
  }

  // MARK: Refusals

  /// A caller who may not use every profile does not learn which ones exist.
  private func unknown(_ name: String, _ caller: Caller) -> ProtocolError {
    guard !caller.isUnmapped, settings.restricted.allSatisfy({ $0.access.allows(caller) }) else {
      return Self.notForYou(name)
    }
    let known = settings.profileNames
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
    _ uid: UInt32, _ profile: Profile, _ question: UserDirectory.Question, _ now: Instant
  ) -> ProtocolError {
    let name = profile.settings.name
    guard directory.answer(to: question, now: now, then: {}) == .nobody else {
      return ProtocolError(
        .timeout, "the host's user database did not say who uid \(uid) is",
        retryAfter: UserDirectory.failureKeptFor)
    }
    return ProtocolError(
      .accessDenied, "uid \(uid) has no user name on this host, and profile '\(name)' needs one")
  }
}
