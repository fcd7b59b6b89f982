import CredCore

/// Looks up a client before access to a profile is decided: name, groups, unit, program.
extension Admittance {
  /// The result of looking up a client.
  enum CallerAnswer {
    case known(Caller)
    /// A look-up is under way; ``callerFound`` runs afterwards.
    case pending
    /// The user database could not name the user, for now or because the name is unreadable.
    case unknown(ProtocolError)
  }

  /// For an unknown profile, the needs of all profiles: the time of the answer must not show which
  /// profiles exist.
  func needs(of profile: Profile?, forOthers: Bool) -> CallerNeeds {
    if let profile { return CallerNeeds(profile, forOthers: forOthers) }
    return forOthers ? configuration.current.needs.others : configuration.current.needs.own
  }

  /// The needs for a decision about all profiles that there are for a client.
  func needsOfAll(_ client: Client) -> CallerNeeds {
    client.door.cap?.needs ?? configuration.current.needs.own
  }

  private func query(_ needs: CallerNeeds, about client: Client) -> UserQuery {
    // The kernel names no groups of a TCP connection: only the user database does.
    let mayBeMember =
      !client.hasProcess || client.groups().contains(where: needs.groups.contains)
    return UserQuery(.uid(client.peer.uid), withGroups: !needs.groups.isEmpty && mayBeMember)
  }

  /// The name is always looked up: it shows whether the uid still belongs to the same person.
  ///
  /// - Parameter since: see ``UserDirectory/answer(to:now:since:then:)``.
  func caller(
    _ client: Client, _ needs: CallerNeeds, _ now: Instant, since: Instant? = nil
  ) -> CallerAnswer {
    let uid = client.peer.uid
    var caller = unnamedCaller(client, needs)
    let query = query(needs, about: client)
    let user = directory.answer(to: query, now: now, since: since) {
      [unowned self, id = client.id] in callerFound(id)
    }
    switch user {
    case nil: return .pending
    case .unreadableName: return .unknown(Self.unreadable("uid \(uid)"))
    case .unavailable: return .unknown(Self.unidentified("who uid \(uid) is"))
    case .nobody:
      caller.groups.removeAll(where: directory.withdrawn(from: uid).contains)
    case .user(let user): take(user, of: client, needs, into: &caller)
    }
    var until = now + UserDirectory.keptFor
    until = min(until, directory.freshUntil(query) ?? until)
    if needs.executable {
      guard let answer = executable(of: client, withDigest: needs.digest, now) else {
        return .pending
      }
      until = min(until, client.program.known?.until ?? until)
      if case .executable(let executable) = answer { caller.executable = executable }
    }
    if needs.unit { caller.unit = unit(of: client) }
    client.decision = (until, needs.groups.isEmpty && !needs.unit && !needs.executable)
    return .known(caller)
  }

  /// The caller as the kernel alone knows it.
  private func unnamedCaller(_ client: Client, _ needs: CallerNeeds) -> Caller {
    let uid = client.peer.uid
    return Caller(
      uid: uid,
      groups: needs.groups.isEmpty || !client.hasProcess ? [] : client.groups(),
      isUnmapped: uid == host.process.overflowUID)
  }

  private func take(
    _ user: UserEntry, of client: Client, _ needs: CallerNeeds, into caller: inout Caller
  ) {
    caller.userName = user.name
    if !client.hasProcess { caller.groups = needs.groups.isEmpty ? [] : user.groups }
    // Processes keep the groups that they had at their start.
    caller.groups.removeAll(where: user.withdrawn.contains)
  }

  private func unit(of client: Client) -> String? {
    let unit = client.presentUnit()
    if unit == nil, client.facts.isUnitHidden { journal.unitsAreHidden() }
    return unit
  }

  static func unidentified(_ question: String) -> ProtocolError {
    ProtocolError(
      .timeout, "the host's user database did not say \(question)",
      retryAfter: UserDirectory.failureKeptFor)
  }

  /// Such a user is taken neither for another user nor for one without a name.
  static func unreadable(_ user: String) -> ProtocolError {
    ProtocolError(
      .accessDenied,
      "the name of \(user) on this host is not UTF-8, or longer than 255 bytes, so credd cannot tell "
        + "whose it is; "
        + "ask the administrator to give the user another name")
  }

  /// Nil while the program is being inspected.
  private func executable(
    of client: Client, withDigest: Bool, _ now: Instant
  ) -> ExecutableAnswer? {
    if let known = client.program.known, now < known.until, known.hasDigest || !withDigest {
      return known.answer
    }
    guard !client.program.isInspected else { return nil }
    // Only the kernel's pidfd of the peer (Linux 6.5) makes its pid certain.
    let answer: ExecutableAnswer?
    if client.facts.isAlive() {
      answer = inspect(client, withDigest: withDigest, now)
    } else {
      answer = .unknown("it has ended, or the kernel is older than Linux 6.5")
    }
    if let answer { client.program.known = (answer, true, until: now) }
    return answer
  }

  /// Nil if the answer comes later.
  private func inspect(
    _ client: Client, withDigest: Bool, _ now: Instant
  ) -> ExecutableAnswer? {
    let paths = withDigest ? configuration.current.digestPaths : []
    let answer = executables.ask(
      client.id, uid: client.peer.uid, pid: client.peer.pid, digestPaths: paths, now: now
    ) { [unowned self, id = client.id] answer in
      guard let client = clients[id] else { return }
      client.program.isInspected = false
      let isCertain = client.facts.isAlive()
      // A reload may have changed the files to hash meanwhile.
      let hasDigest = !isCertain || withDigest && paths == configuration.current.digestPaths
      client.program.known = (
        isCertain ? answer : .unknown("it ended meanwhile"), hasDigest,
        host.clock.now
          + (answer == .overdue ? UserDirectory.failureKeptFor : ExecutableDirectory.keptFor)
      )
      callerFound(id)
    }
    client.program.isInspected = answer == nil
    return answer
  }

  /// Whether a caller may see all sessions; nil while the caller is being looked up.
  func isAdmin(_ client: Client, _ now: Instant) -> Bool? {
    guard case .main = client.door else { return false }
    // Keeps what was decided about a profile.
    let decided = client.decision
    defer { client.decision = decided }
    guard client.peer.uid != 0 else { return true }
    guard let group = configuration.current.adminGroup, client.groups().contains(group) else {
      return false
    }
    var needs = CallerNeeds()
    needs.groups = [group]
    switch caller(client, needs, now) {
    case .known(let caller): return caller.groups.contains(group)
    case .pending: return nil
    // The kernel says that the caller is a member, and the database has withdrawn no group.
    case .unknown(let error): return !error.endsAccess
    }
  }
}
