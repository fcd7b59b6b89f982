import CredCore

/// Weather, sleep, clocks, restarts, and the calm in the end.
extension Simulation {
  mutating func changeWeather(_ index: Int) {
    if isCalm { return }
    endpoints[index].change(&dice)
    trace("\(endpoints[index].upstream): weather is \(endpoints[index].weather.words)")
    let isFair = if case .fair = endpoints[index].weather { true } else { false }
    let mean: Double = isFair ? 7200 : dice.pick([20, 300, 300, 3000, 10_000])
    events.put(.weather(index), at: later(dice.seconds(around: mean)))
  }

  /// The host is suspended: the clock of deadlines goes on, and nothing happens.
  mutating func sleep() {
    if isCalm { return }
    let seconds = dice.seconds(around: dice.pick([10, 1000, 20_000]))
    let calmBegins = Self.beginning + .seconds(1) * (scenario.hours * 3600)
    now = max(now, min(later(seconds), calmBegins - .seconds(60)))
    awakeSince = now
    trace("awake after \(seconds) s of sleep")
    events.put(.sleep, at: later(dice.seconds(around: 20_000)))
  }

  /// The wall clock is set, rightly or wrongly.
  mutating func jump() {
    if isCalm { return }
    skew = .seconds(dice.pick([0, 0, 1, -1, 60, -60, 3600, -3600, 86_400 * 365]))
    trace("the wall clock is off by \(skew)")
    events.put(.clockJump, at: later(dice.seconds(around: 10_000)))
  }

  mutating func restart() {
    if isCalm { return }
    report.restarts += 1
    let isLost = dice.happens(0.2)
    trace("the daemon is restarted\(isLost ? ", and its sessions are lost" : "")")
    calls = [:]
    for index in endpoints.indices { endpoints[index].restart() }
    for index in sessions.indices { restart(session: index, isLost: isLost) }
    events.put(.restart, at: later(dice.seconds(around: 40_000)))
  }

  private mutating func restart(session index: Int, isLost: Bool) {
    let session = sessions[index]
    // Whoever waited has lost the connection.
    sessions[index].open = []
    sessions[index].awaited = nil
    sessions[index].ticket = nil
    sessions[index].scheduledWake = .distantFuture
    guard !isLost else { return loseSession(index) }
    sessions[index].machine = SessionMachine(
      plan: session.plan, snapshot: session.machine.snapshot, now: now, jitter: dice.fraction())
    render(index)
    if sessions[index].heldUntil > now, sessions[index].machine.credentials == nil {
      violate(.neverDropped, session: index, "credentials did not survive a restart")
    }
    reschedule(index)
  }

  /// The descriptor store was damaged: only the IdentityId is known.
  private mutating func loseSession(_ index: Int) {
    let session = sessions[index]
    sessions[index].machine = SessionMachine(
      plan: session.plan, identityID: session.machine.identityID, now: now)
    sessions[index].pending = []
    sessions[index].allowed = session.unattended
    sessions[index].heldUntil = now
    render(index)
  }

  // MARK: Counting

  mutating func beginHour() {
    for index in sessions.indices {
      let session = sessions[index]
      if session.callsInHour > session.mostCallsInHour {
        violate(
          .boundedCalls, session: index,
          "\(session.callsInHour) calls in an hour with \(session.eventsInHour) requests")
      }
      sessions[index].callsInHour = 0
      sessions[index].eventsInHour = 0
      for open in session.open where open.deadline < now { checkLateness(open, index) }
    }
    events.put(.hourBegins, at: later(3600))
  }

  // MARK: The calm

  mutating func beginCalm() {
    trace("all faults end")
    isCalm = true
    skew = .zero
    for index in endpoints.indices { endpoints[index].weather = .fair }
    for index in sessions.indices {
      let delay = Self.calmBeforeAsking + 100 * Double(index) / Double(sessions.count)
      events.put(.finalAsk(index), at: later(delay))
    }
  }

  mutating func finalAsk(_ index: Int) {
    let waiter = Waiter(
      id: nextWaiter(), want: .credentials, arrived: now, wait: .seconds(15))
    park(waiter, index, isFinal: true)
  }

  /// In the calm only a sign-in may still be wanted; it must succeed, and what was asked after it.
  mutating func finallyRefused(
    _ open: SimulatedSession.Open, _ error: ProtocolError, _ index: Int
  ) {
    let isWanted = error.code == .signInRequired && open.persons.isEmpty
    guard isWanted, !sessions[index].finallySignedIn else {
      return violate(
        .healthyAgain, session: index, "refused long after all faults ended: \(error.message)")
    }
    sessions[index].finallySignedIn = true
    events.put(.finalSignIn(index), at: later(1))
    events.put(.finalAsk(index), at: later(20))
  }

  /// Whether a caller would get through. A circuit that nobody has tried since is open, and lets the
  /// next one try.
  private mutating func admitsOneMore(_ index: Int) -> Bool {
    // Without an outage it is the rate at most that lets a call wait.
    guard endpoints[index].admission.outage != nil else { return true }
    let call = Admission.Call(id: tickets.next(), profile: "", isInPerson: true, isRetry: false)
    return endpoints[index].admission.handle(
      .asked(call), now: now, wallTime: WallTime(milliseconds: 0)
    )
    .contains(.admit(call.id))
  }

  mutating func end() {
    isOver = true
    for index in sessions.indices {
      for open in sessions[index].open { checkLateness(open, index) }
      // What the user signed in with has run out: a person's turn.
      if case .tokensInvalid = sessions[index].machine.state { continue }
      if sessions[index].machine.credentials == nil, sessions[index].lifetime > 900 {
        violate(.healthyAgain, session: index, "without credentials in the end")
      }
      if sessions[index].machine.failures > 0 {
        violate(.healthyAgain, session: index, "still failing in the end")
      }
    }
    for index in endpoints.indices where !admitsOneMore(index) {
      let upstream = endpoints[index].upstream
      violate(.healthyAgain, session: nil, "\(upstream) lets nobody through in the end")
    }
  }
}
