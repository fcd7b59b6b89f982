import CredCore

/// Calls: through the gates, into the simulated network and back.
extension Simulation {
  mutating func begin(_ call: UpstreamCall, _ number: CallID, _ index: Int) {
    let session = sessions[index]
    if session.awaited != nil {
      violate(.singleFlight, session: index, "call \(number) begins beside another")
    }
    if let old = session.ticket { withdraw(old) }
    let ticket = tickets.next()
    trace("session \(index): call \(number) (\(call.words)) begins as ticket \(ticket)")
    sessions[index].awaited = number
    sessions[index].ticket = ticket
    sessions[index].isHurried = session.machine.isAwaited
    let endpoint = endpoint(of: call, session.backend)
    calls[ticket] = SimulatedCall(
      session: index, number: number, call: call, endpoint: endpoint,
      generation: session.generation)
    if scenario.sabotage == .twoFlights, dice.happens(0.01) { begin(call, number, index) }
    guard let endpoint else {
      let outcome = tokenFile(of: session)
      calls[ticket]?.outcome = outcome
      return events.put(.reply(ticket), at: now)
    }
    if scenario.sabotage == .openGates { return admit(ticket, endpoint) }
    tellGate(
      .asked(
        Admission.Call(
          id: ticket, profile: "\(index % Scenario.plans.count)",
          isInPerson: session.machine.isAwaited, isRetry: session.machine.failures > 0)),
      endpoint)
  }

  private func endpoint(of call: UpstreamCall, _ backend: Int) -> Int? {
    switch call {
    case .readTokenFile: nil
    case .signIn, .tokenCallback: backend
    case .getID: Self.cognitoIDs
    case .getOpenIDToken: Self.cognitoTokens
    case .getCredentials: Self.cognitoCredentials
    case .assumeRole: Self.sts
    }
  }

  /// As the runtime does after each event of a session.
  mutating func followCall(_ index: Int) {
    guard let ticket = sessions[index].ticket else { return }
    if sessions[index].machine.awaitedCall == nil {
      sessions[index].ticket = nil
      withdraw(ticket)
    } else if !sessions[index].isHurried, sessions[index].machine.isAwaited {
      sessions[index].isHurried = true
      if let endpoint = calls[ticket]?.endpoint { tellGate(.prioritised(ticket), endpoint) }
    }
  }

  private mutating func withdraw(_ ticket: CallID) {
    guard let call = calls[ticket], let endpoint = call.endpoint, !call.isAdmitted else { return }
    calls[ticket] = nil
    tellGate(.cancelled(ticket), endpoint)
  }

  // MARK: Gates

  mutating func tellGate(_ event: Admission.Event, _ index: Int) {
    let wallTime = WallTime(milliseconds: 0) + (now - Self.beginning) + skew
    let actions = endpoints[index].admission.handle(event, now: now, wallTime: wallTime)
    for action in actions {
      switch action {
      case .admit(let ticket): admit(ticket, index)
      case .refuse(let ticket, let failure):
        report.heldBack += 1
        calls[ticket]?.outcome = .failed(failure)
        events.put(.reply(ticket), at: now)
      }
    }
    if endpoints[index].admission.nextWake <= now {
      violate(.noSpin, session: nil, "\(endpoints[index].upstream) wants to be woken at once")
    }
    rescheduleGate(index)
  }

  private mutating func admit(_ ticket: CallID, _ index: Int) {
    guard let call = calls[ticket] else {
      return violate(.withinRate, session: nil, "ticket \(ticket) is let through and gone")
    }
    report.calls += 1
    sessions[call.session].callsInHour += 1
    calls[ticket]?.isAdmitted = true
    if !endpoints[index].note(now) {
      violate(
        .withinRate, session: nil,
        "\(endpoints[index].upstream) is called more often than \(endpoints[index].policy)")
    }
    events.put(.reply(ticket), at: later(transit(index)))
  }

  /// How long the answer takes; ten seconds are the runtime's own time-out.
  private mutating func transit(_ index: Int) -> Double {
    let usual = 0.02 + 0.2 * dice.fraction()
    switch endpoints[index].weather {
    case .slow(let seconds): return min(10, usual + dice.seconds(around: seconds))
    case .failing(let failure) where failure.code != .throttled:
      return dice.happens(0.2) ? 10 : usual
    default: return usual
    }
  }

  mutating func deliver(_ ticket: CallID) {
    guard var call = calls.removeValue(forKey: ticket) else { return }
    if let endpoint = call.endpoint, call.isAdmitted {
      endpoints[endpoint].underWay -= 1
      let outcome = outcome(of: call, at: endpoint)
      call.outcome = outcome
      var failure: UpstreamFailure?
      if case .failed(let known) = outcome { failure = known }
      if failure != nil { report.failedCalls += 1 }
      if scenario.sabotage != .openGates { tellGate(.ended(ticket, failure), endpoint) }
      if scenario.sabotage == .eagerRetries, failure != nil {
        return again(call, endpoint)
      }
    }
    guard let outcome = call.outcome else { return }
    finish(call, outcome)
  }

  private mutating func finish(_ call: SimulatedCall, _ outcome: UpstreamOutcome) {
    var index = call.session
    var number = call.number
    if scenario.sabotage == .mixedReplies, dice.happens(0.2) {
      index = (index + Scenario.plans.count) % sessions.count
      // Under its own id the other session would not take it.
      number = sessions[index].machine.awaitedCall ?? number
    }
    let isAwaited = sessions[index].awaited == number
    if isAwaited { sessions[index].awaited = nil }
    // A password that was right makes the session another person's, whatever becomes of the rest.
    var changesUser = false
    if case .signedIn(let known) = outcome, isAwaited {
      changesUser = true
      sessions[index].allowed = Person.unsealed(known.token).map { [$0.person] } ?? []
      sessions[index].pending = []
    }
    if case .failed = outcome, scenario.sabotage == .dropOnFailure {
      _ = sessions[index].machine.handle(
        .cleared(.credentials), now: now, callIDs: &callIDs, random: &dice)
    }
    if case .failed = outcome, scenario.sabotage == .poison { sessions[index].isPoisoned = true }
    if index == 0, sessions[0].isPoisoned {
      return send(
        .callFinished(
          number,
          .failed(.transport(.connect, from: .cognitoIdentity))), to: index)
    }
    send(.callFinished(number, outcome), to: index, isUsersWish: changesUser)
  }

  /// What credd must not do.
  private mutating func again(_ call: SimulatedCall, _ endpoint: Int) {
    let ticket = tickets.next()
    calls[ticket] = SimulatedCall(
      session: call.session, number: call.number, call: call.call, endpoint: endpoint,
      generation: call.generation)
    tellGate(
      .asked(
        Admission.Call(id: ticket, profile: "again", isInPerson: true, isRetry: false)),
      endpoint)
  }
}
