import CredCore

/// What `check` found so far, for a user and a profile.
final class CheckRun {
  let began: Instant
  let client: UInt64
  /// By which its questions to servers are cancelled.
  let call: CallID
  var steps: [CheckStep] = []

  init(began: Instant, client: UInt64, call: CallID) {
    self.began = began
    self.client = client
    self.call = call
  }
}

/// The operation `check`: whether the servers of a profile answer, and whether its session can be
/// renewed. It signs nobody in.
extension SessionService {
  /// Whose check, of which profile; the empty name stands for all profiles.
  typealias CheckKey = SessionKey

  private static let renewalTime: Duration = .seconds(60)

  func check(
    _ name: String, _ request: Request, _ client: Client, _ now: Instant
  ) {
    switch decideAccess(to: name, client, now) {
    case .refused(let error): refuse(error, id: request.id, client)
    case .pending: wait(client, for: WaitingRequest(request, for: .caller))
    case .admitted(let profile, let caller):
      guard isAdmin(client, now) != nil else {
        return wait(client, for: WaitingRequest(request, for: .caller))
      }
      begin([profile], name, request, client, now) { [unowned self] client, run in
        renew(name, caller, request, client, run)
      }
    }
  }

  func checkAll(_ request: Request, _ client: Client, _ now: Instant) {
    switch isAdmin(client, now) {
    case nil: wait(client, for: WaitingRequest(request, for: .caller))
    case false?:
      refuse(
        ProtocolError(
          .accessDenied, "only root and members of admin_group may check all profiles"),
        id: request.id, client)
    case true?:
      let profiles = configuration.profileNames.compactMap { configuration.profiles[$0] }
      begin(profiles, "", request, client, now) { [unowned self] client, run in
        give(.check(run.steps), request, client)
      }
    }
  }

  /// Asks the servers, and goes on if the client still waits then.
  private func begin(
    _ profiles: [Profile], _ name: String, _ request: Request, _ client: Client, _ now: Instant,
    then: @escaping (Client, CheckRun) -> Void
  ) {
    let key = CheckKey(uid: client.peer.uid, profile: name)
    checks = checks.filter { isRunning($0.value) || now - $0.value.began < Limits.Check.pause }
    if let error = checkError(key, now) ?? callLimitError(key.uid, now) {
      return refuse(error, id: request.id, client)
    }
    let run = CheckRun(began: now, client: client.id, call: callIDs.next())
    checks[key] = run
    if let place = endpointLock?.place {
      run.steps.append(
        CheckStep(
          "endpoint", isOK: endpointProblem == nil,
          detail: endpointProblem ?? "it listens on \(place.address)"))
    }
    let isAdmin = isAdmin(client, now) ?? false
    let time = name.isEmpty ? Limits.Check.timeOfAll : Limits.Check.time
    wait(client, for: WaitingRequest(request, for: .call(run.call)))
    callAllowance.spent(by: accountNumber(of: key.uid), now: now)
    host.upstream.probe(ProbeRequest(id: run.call, profiles: profiles, until: now + time)) {
      [unowned self] outcomes in
      run.steps += outcomes.map { CheckStep($0, forAdmin: isAdmin) }
      countQuestions(of: key, outcomes.count)
      guard isRunning(run), let client = clients[run.client] else { return }
      endWait(client)
      then(client, run)
    }
  }

  /// What a check asks counts for its user as any other calls do; a check of all profiles, which only
  /// administrators make, counts once.
  private func countQuestions(of key: CheckKey, _ count: Int) {
    guard !key.profile.isEmpty, count > 1 else { return }
    let now = host.clock.now
    for _ in 1..<count { callAllowance.spent(by: accountNumber(of: key.uid), now: now) }
  }

  /// Stops the questions of a client that waits no longer.
  func abandonCheck(_ waiting: WaitingRequest) {
    guard case .check = waiting.request.operation, case .call(let id) = waiting.subject else {
      return
    }
    host.upstream.cancel(id)
  }

  /// A check of which nothing was told is made anew.
  func forgetCheck(of client: Client, in session: Session) {
    guard let run = session.checks.removeValue(forKey: client.id) else { return }
    checks = checks.filter { $0.value !== run }
  }

  /// Whether its client still waits for it.
  private func isRunning(_ run: CheckRun) -> Bool {
    switch clients[run.client]?.waiting?.subject {
    case .call(let id)?: id == run.call
    case .session(let session)?: session.checks[run.client] === run
    case .caller?, nil: false
    }
  }

  private func checkError(_ key: CheckKey, _ now: Instant) -> ProtocolError? {
    guard let (reason, pause) = checkRefusal(key, now) else { return nil }
    counters.hit(.checks)
    return ProtocolError(.tooManyRequests, reason, retryAfter: max(.seconds(1), pause))
  }

  private func checkRefusal(_ key: CheckKey, _ now: Instant) -> (String, Duration)? {
    if let last = checks[key] {
      return (
        isRunning(last)
          ? "a check of this profile is under way"
          : "this profile was checked less than a minute ago",
        last.began + Limits.Check.pause - now
      )
    }
    let own = checks.filter { $0.key.uid == key.uid }
    if own.values.count(where: isRunning) >= Limits.Check.underWayOfUser {
      return ("\(Limits.Check.underWayOfUser) checks of this user are under way", .seconds(1))
    }
    if own.count >= Limits.Check.rememberedOfUser {
      return (
        "this user has checked \(Limits.Check.rememberedOfUser) profiles within a minute",
        checkPause(own, now)
      )
    }
    if checks.values.count(where: isRunning) >= Limits.Check.underWay {
      return ("\(Limits.Check.underWay) checks are under way on this host", .seconds(1))
    }
    if checks.count >= Limits.Check.remembered {
      return (
        "\(Limits.Check.remembered) profiles were checked on this host within a minute",
        checkPause(checks, now)
      )
    }
    return nil
  }

  /// Until the oldest of these checks is forgotten.
  private func checkPause(_ checks: [CheckKey: CheckRun], _ now: Instant) -> Duration {
    (checks.values.map(\.began).min() ?? now) + Limits.Check.pause - now
  }

  // MARK: The renewal

  private func renew(
    _ name: String, _ caller: Caller, _ request: Request, _ client: Client, _ run: CheckRun
  ) {
    let now = host.clock.now
    let key = SessionKey(uid: caller.uid, profile: name)
    let session = sessions[key].flatMap {
      isOwned($0, by: SessionOwner(name: caller.userName), now) && !$0.hasEnded ? $0 : nil
    }
    guard let session,
      session.machine.unattendedStart(signingIn: false) != nil || session.machine.isBusy
    else {
      run.steps.append(CheckStep(unrenewable: session, in: name))
      return give(.check(run.steps), request, client)
    }
    session.checks[client.id] = run
    ask(
      Waiter(
        id: client.id, want: .credentials, minimumLife: nil, mustRefresh: true, arrived: now,
        wait: Self.renewalTime),
      in: session, request, client, now)
  }

  /// A call of a session that is being checked has ended.
  func noteStep(
    _ name: String, of session: Session, _ failure: UpstreamFailure?, in time: Duration
  ) {
    for (id, run) in session.checks {
      guard let client = clients[id] else { continue }
      let isAdmin = isAdmin(client, host.clock.now) ?? false
      // A renewal is tried again while the check waits for it: what came last counts.
      run.steps.removeAll { $0.name == name && !$0.isOK }
      run.steps.append(
        CheckStep(
          name, isOK: failure == nil, duration: time,
          detail: failure.map { CheckStep.text(of: $0, forAdmin: isAdmin) } ?? "answered"))
    }
  }

  /// Answers a `check` whose renewal has ended.
  ///
  /// - Returns: false for another request.
  func giveCheck(
    of session: Session, _ request: Request, _ client: Client, _ error: ProtocolError? = nil
  ) -> Bool {
    guard case .check = request.operation, let run = session.checks.removeValue(forKey: client.id)
    else { return false }
    let expiration = session.machine.credentials?.credentials.expiration.iso8601
    run.steps.append(
      CheckStep(
        "credentials", isOK: error == nil,
        detail: error?.message ?? expiration.map { "valid until \($0)" } ?? "none"))
    give(.check(run.steps), request, client)
    return true
  }
}

extension CheckStep {
  /// Of a session that nothing can renew; nil where there is none.
  fileprivate init(unrenewable session: Session?, in profile: String) {
    let login = "credctl login --profile \(profile)"
    if case .tokensInvalid? = session?.machine.state {
      self.init("session", isOK: false, detail: "the sign-in is no longer accepted: \(login)")
    } else {
      self.init(
        "session", isOK: true,
        detail: "nobody is signed in here, so nothing was renewed: \(login)")
    }
  }

  fileprivate init(_ outcome: ProbeOutcome, forAdmin isAdmin: Bool) {
    switch outcome.result {
    case .failure(let failure):
      self.init(
        outcome.name, isOK: false, duration: outcome.duration,
        detail: Self.text(of: failure, forAdmin: isAdmin))
    case .success(let answer):
      var parts = ["answered (HTTP \(answer.status))"]
      if let tls = answer.connection?.tls { parts.append(tls) }
      if let difference = answer.clockDifference {
        // HTTP says whole seconds.
        let seconds = difference.components.seconds
        parts.append(
          abs(seconds) <= 2 ? "its clock agrees" : "its clock differs by \(seconds) s: set the time"
        )
      }
      if isAdmin, let connection = answer.connection {
        parts += [connection.address, connection.certificate].compactMap(\.self)
      }
      self.init(
        outcome.name, isOK: true, duration: outcome.duration, detail: parts.joined(separator: "; "))
    }
  }

  /// What an upstream said, and where, is for administrators.
  fileprivate static func text(of failure: UpstreamFailure, forAdmin isAdmin: Bool) -> String {
    guard isAdmin else { return failure.summary }
    return [failure.message, failure.detail].compactMap(\.self).joined(separator: "; ")
  }
}
