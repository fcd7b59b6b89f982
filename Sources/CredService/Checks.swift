import CredCore

/// The operation `check`: whether the servers of a profile answer, and whether its session can be
/// renewed. It signs nobody in.
final class Checks {
  /// The user and the profile of a check; the empty name stands for all profiles.
  typealias Key = SessionKey

  private static let renewalTime: Duration = .seconds(60)

  /// The last `check` of each user and profile.
  private var runs: [Key: CheckRun] = [:]
  private let host: Host
  private let configuration: ConfigurationInForce
  private let clients: Clients
  private let sessions: SessionTable
  private let admittance: Admittance
  private let grants: Grants
  private let endpoint: EndpointDoor
  private let limits: UserLimits
  private let figures: Figures

  init(
    host: Host, configuration: ConfigurationInForce, clients: Clients, sessions: SessionTable,
    admittance: Admittance, grants: Grants, endpoint: EndpointDoor, limits: UserLimits,
    figures: Figures
  ) {
    self.host = host
    self.configuration = configuration
    self.clients = clients
    self.sessions = sessions
    self.admittance = admittance
    self.grants = grants
    self.endpoint = endpoint
    self.limits = limits
    self.figures = figures
  }

  // MARK: Requests

  func check(_ name: String, _ turn: Turn) {
    switch admittance.decide(name, for: turn.requester, turn.now) {
    case .refused(let error): admittance.changedFiles.refuse(error, turn)
    case .pending: turn.waitForCaller()
    case .admitted(let profile, let caller):
      guard let isAdmin = admittance.isAdmin(turn.client, turn.now) else {
        return turn.waitForCaller()
      }
      begin([profile], name, turn, forAdmin: isAdmin) { [unowned self] turn, run in
        renew(name, caller, turn, run)
      }
    }
  }

  func checkAll(_ turn: Turn) {
    switch admittance.isAdmin(turn.client, turn.now) {
    case nil: turn.waitForCaller()
    case false?:
      turn.refuse(
        ProtocolError(
          .accessDenied, "only root and members of admin_group may check all profiles"))
    case true?:
      let profiles = configuration.profileNames.compactMap { configuration[$0] }
      begin(profiles, "", turn, forAdmin: true) { [unowned self] turn, run in
        run.steps += failedRequests(turn.now)
        finish(run, of: profiles, turn)
      }
    }
  }

  /// Servers may answer while users get nothing: the host's token may be wrong.
  private func failedRequests(_ now: Instant) -> [CheckStep] {
    var profiles: [String: LastRequests] = [:]
    for (key, session) in sessions.byKey {
      profiles[key.profile, default: LastRequests()].add(session.machine.lastFailure)
    }
    return profiles.sorted { $0.key < $1.key }.compactMap { name, requests in
      requests.last.map {
        CheckStep(requests, in: name, at: host.clock.wallTime + ($0.at - now), $0.failure)
      }
    }
  }

  /// Asks the servers, and goes on if the client still waits after that.
  private func begin(
    _ profiles: [Profile], _ name: String, _ turn: Turn, forAdmin isAdmin: Bool,
    then: @escaping (Turn, CheckRun) -> Void
  ) {
    let (client, now) = (turn.client, turn.now)
    let key = Key(uid: client.peer.uid, profile: name)
    forgetOld(now)
    if let error = checkError(key, now) ?? limits.refusalOfCall(by: key.uid) {
      return turn.refuse(error)
    }
    let run = CheckRun(
      began: now, client: client.id, call: sessions.nextCallID(), isForAdmin: isAdmin)
    runs[key] = run
    if let step = endpoint.checkStep { run.steps.append(step) }
    let time = name.isEmpty ? Limits.Check.timeOfAll : Limits.Check.time
    turn.wait(for: run.call)
    limits.callSpent(by: key.uid)
    host.upstream.probe(ProbeRequest(id: run.call, profiles: profiles, until: now + time)) {
      [unowned self] outcomes in
      let aws = outcomes.lazy.filter(\.isOfAWS).compactMap(\.clockDifference).first
      run.steps += outcomes.map { CheckStep($0, aws: aws, forAdmin: isAdmin) }
      run.steps += CheckStep.regions(of: profiles, outcomes)
      countQuestions(of: key, outcomes.count)
      guard isRunning(run), let turn = clients.endWait(run.client, for: run.call) else { return }
      then(turn, run)
    }
  }

  private func forgetOld(_ now: Instant) {
    runs = runs.filter { _, run in
      !run.isForgotten && (isRunning(run) || now < run.nextFrom)
    }
  }

  /// The requests of a check count for its user like other calls. A check of all profiles, which
  /// only administrators can make, counts once.
  private func countQuestions(of key: Key, _ count: Int) {
    guard !key.profile.isEmpty, count > 1 else { return }
    for _ in 1..<count { limits.callSpent(by: key.uid) }
  }

  /// Stops the requests of a client that does not wait any longer.
  func abandon(_ waiting: WaitingRequest) {
    guard case .check = waiting.request.operation, case .call(let id) = waiting.subject else {
      return
    }
    host.upstream.cancel(id)
  }

  /// Whether the client of the check still waits.
  private func isRunning(_ run: CheckRun) -> Bool {
    switch clients[run.client]?.waiting?.subject {
    case .call(let id)?: id == run.call
    case .session(let session)?: session.asking.checks[run.client] === run
    case .caller?, nil: false
    }
  }

  // MARK: Limits

  /// For tests: checks that are remembered.
  var remembered: [Key: CheckRun] {
    get { runs }
    set { runs = newValue }
  }

  /// Call after a reload: what was found before may not be so any more.
  func configurationChanged() { runs = runs.filter { isRunning($0.value) } }

  /// Call after a sign-in. What checks found before does not count any more, for the session and
  /// the sessions that are derived from it.
  func signedIn(to key: SessionKey) {
    runs = runs.filter { other, run in
      let root = configuration[other.profile]?.root.settings.name
      return isRunning(run) || other.uid != key.uid
        || ![other.profile, root].contains(key.profile)
    }
  }

  private func checkError(_ key: Key, _ now: Instant) -> ProtocolError? {
    guard let (reason, pause) = checkRefusal(key, now) else { return nil }
    figures.hit(.checks)
    return ProtocolError(.tooManyRequests, reason, retryAfter: max(.seconds(1), pause))
  }

  private func checkRefusal(_ key: Key, _ now: Instant) -> (String, Duration)? {
    if let last = runs[key], isRunning(last) {
      return ("a check of this profile is under way", last.nextFrom - now)
    }
    let own = runs.filter { $0.key.uid == key.uid }
    if own.values.count(where: isRunning) >= Limits.Check.underWayOfUser {
      return ("\(Limits.Check.underWayOfUser) checks of this user are under way", .seconds(1))
    }
    if runs.values.count(where: isRunning) >= Limits.Check.underWay {
      return ("\(Limits.Check.underWay) checks are under way on this host", .seconds(1))
    }
    return key.uid == 0 ? nil : refusalOfPause(key, own, now)
  }

  /// The limits of a minute. A person who mends something wants to see at once whether it helped.
  /// So the limits do not bind root. A reload and a sign-in end them. After a check that failed
  /// they last seconds.
  private func refusalOfPause(
    _ key: Key, _ own: [Key: CheckRun], _ now: Instant
  ) -> (String, Duration)? {
    if let last = runs[key] {
      let time = last.hasFailed ? "\(Limits.Check.pauseOfFailed.components.seconds) s" : "a minute"
      return ("this profile was checked less than \(time) ago", last.nextFrom - now)
    }
    if own.count >= Limits.Check.rememberedOfUser {
      return (
        "this user has checked \(Limits.Check.rememberedOfUser) profiles within a minute",
        checkPause(own, now)
      )
    }
    if runs.count >= Limits.Check.remembered {
      return (
        "\(Limits.Check.remembered) profiles were checked on this host within a minute",
        checkPause(runs, now)
      )
    }
    return nil
  }

  /// The time until the oldest of these checks is forgotten.
  private func checkPause(_ checks: [Key: CheckRun], _ now: Instant) -> Duration {
    (checks.values.map(\.nextFrom).min() ?? now) - now
  }

  /// Answers with the steps, and with what is known of this host's enrolments and of changed files.
  private func finish(_ run: CheckRun, of profiles: [Profile], _ turn: Turn) {
    let backends = Set(profiles.compactMap(\.root.backend?.name)).sorted()
    run.steps += backends.compactMap { backend in
      host.upstream.hostEnrolmentEnd(at: backend).map {
        CheckStep(enrolmentAt: backend, until: $0, now: host.clock.wallTime)
      }
    }
    admittance.changedFiles.whenKnown(turn) { turn, advice in
      if let advice { run.steps.append(CheckStep("configuration", isOK: true, detail: advice)) }
      turn.give(.check(run.steps))
    }
  }

  // MARK: The renewal

  private func renew(_ name: String, _ caller: Caller, _ turn: Turn, _ run: CheckRun) {
    let session = held(name, caller, turn.now) ?? derived(name, caller, turn.now)
    guard let session, session.machine.mayRenew else {
      let profile = configuration[name]
      if let profile { run.steps.append(unrenewed(profile, caller, turn, run)) }
      return finish(run, of: [profile].compactMap(\.self), turn)
    }
    session.asking.checks[turn.client.id] = run
    var waiter = Waiter(
      id: turn.client.id, want: session.profile.checkedWant, minimumLife: nil, mustRefresh: true,
      arrived: turn.now, wait: Self.renewalTime)
    waiter.triesOnce = true
    grants.ask(waiter, in: session, turn)
  }

  /// The step for a session that is not renewed: of the profile, or of its source.
  private func unrenewed(
    _ profile: Profile, _ caller: Caller, _ turn: Turn, _ run: CheckRun
  ) -> CheckStep {
    let root = profile.root
    let session = held(root.settings.name, caller, turn.now)
    let own = session?.machine.lastFailure
    let past = own ?? (run.isForAdmin ? failureOfOthers(in: root.settings.name) : nil)
    return CheckStep(
      unrenewed: session?.machine ?? SessionMachine(plan: root.plan, now: turn.now),
      in: profile, of: root.settings.name,
      after: past.map {
        let time = (host.clock.wallTime + ($0.at - turn.now)).iso8601
        return (own == nil ? "\(time) for another user" : time, $0.failure)
      }, forAdmin: run.isForAdmin)
  }

  /// The last failure of anybody's session that is not about its user. An administrator may have no session
  /// in a profile in which every user's fails.
  private func failureOfOthers(in profile: String) -> PastFailure? {
    sessions.byKey.values.lazy.filter { $0.key.profile == profile }
      .compactMap(\.machine.lastFailure)
      .filter { $0.failure.protocolError.kind == .permanent }.max { $0.at < $1.at }
  }

  private func held(_ profile: String, _ caller: Caller, _ now: Instant) -> Session? {
    let session = sessions[SessionKey(uid: caller.uid, profile: profile)]
    guard let session, admittance.claim(session, for: SessionOwner(name: caller.userName), now),
      !session.hasEnded
    else { return nil }
    return session
  }

  /// The session of a derived profile, which begins with its first request; nil where nobody is signed in
  /// to its source.
  private func derived(_ name: String, _ caller: Caller, _ now: Instant) -> Session? {
    guard let profile = configuration[name], !profile.hasSignIn,
      let root = held(profile.root.settings.name, caller, now), root.machine.mayRenew,
      case .session(let session) = admittance.session(of: profile, for: caller, now)
    else { return nil }
    return session
  }

  /// Answers a `check` after its renewal has ended.
  ///
  /// - Returns: false for another request.
  func give(_ session: Session, _ turn: Turn, _ error: ProtocolError? = nil) -> Bool {
    guard case .check = turn.request.operation,
      let run = session.asking.checks.removeValue(forKey: turn.client.id)
    else { return false }
    if let step = CheckStep(sourceOf: session) {
      run.steps.insert(
        step,
        at: run.steps.lastIndex { $0.name == session.profile.operationOfSource }
          ?? run.steps.endIndex)
    }
    let expiration = session.machine.expiration?.iso8601
    let name = session.profile.checkedWant == .credentials ? "credentials" : "tokens"
    run.steps.append(
      error.map { CheckStep(refusedWith: $0, otherwise: name) }
        ?? CheckStep(
          name, isOK: true,
          detail: expiration.map { "valid until \($0)\(session.tokenNote)" } ?? "none"))
    finish(run, of: [session.profile], turn)
    return true
  }
}

extension Profile {
  /// What its sessions are renewed for.
  fileprivate var checkedWant: Waiter.Want { plan.product.checkedWant }
}
