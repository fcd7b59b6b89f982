import CredCore

/// Between the machines and the simulated runtime.
extension Simulation {
  /// Hands an event to a machine, performs its actions and checks what must hold.
  ///
  /// - Parameter isUsersWish: whether it may take credentials away, or a call's place.
  mutating func send(
    _ event: SessionMachine.Event, to index: Int, isUsersWish: Bool = false
  ) {
    trace("session \(index): \(event.words)")
    let heard = scenario.sabotage == .slowClock ? now - .seconds(1) : now
    // Whoever comes as the host wakes up may be heard before the timer is.
    var isOverdue = sessions[index].machine.nextWake <= now
    if case .timePassed = event { isOverdue = false }
    let actions = sessions[index].machine.handle(
      event, now: heard, callIDs: &callIDs, random: &dice)
    if isUsersWish { sessions[index].awaited = nil }
    for action in actions { perform(action, index) }
    if let held = sessions[index].machine.credentials {
      sessions[index].heldUntil = held.servableUntil
    } else if isUsersWish {
      sessions[index].heldUntil = now
    } else if sessions[index].heldUntil > now {
      violate(.neverDropped, session: index, "credentials went with \(event.words)")
    }
    let wake = sessions[index].machine.nextWake
    if wake <= now, !isOverdue {
      violate(.noSpin, session: index, "to be woken \(wake - now) from now after \(event.words)")
    }
    followCall(index)
    reschedule(index)
  }

  private mutating func perform(_ action: SessionMachine.Action, _ index: Int) {
    switch action {
    case .call(let number, let call): begin(call, number, index)
    case .credentialsChanged: render(index)
    case .giveCredentials(let waiter):
      settle(waiter, index, "credentials")
      check(sessions[index].reply, index, "waiter \(waiter)")
    case .giveToken(let waiter):
      settle(waiter, index, "the token")
      checkToken(index)
    case .giveState(let waiter):
      guard let open = settle(waiter, index, "signed in") else { return }
      accept(open.persons, index)
    case .refuse(let waiter, let error):
      report.refusals += 1
      guard let open = settle(waiter, index, "refused: \(error.code): \(error.message)") else {
        return
      }
      refused(open, error, index)
    case .announce: break
    }
  }

  /// As the runtime does: once for each change.
  mutating func render(_ index: Int) {
    let held = sessions[index].machine.credentials
    if scenario.sabotage == .staleCache, held == nil { return }
    sessions[index].reply = held.flatMap { Person.unsealed($0.credentials.sessionToken) }
    sessions[index].quietUntil = sessions[index].machine.quietUntil
    if scenario.sabotage == .staleCache, held != nil {
      sessions[index].quietUntil = now + .seconds(7200)
    }
  }

  @discardableResult
  private mutating func settle(
    _ waiter: UInt64, _ index: Int, _ answer: @autoclosure () -> String
  ) -> SimulatedSession.Open? {
    report.answers += 1
    trace("session \(index): waiter \(waiter) is answered: \(answer())")
    guard let place = sessions[index].open.firstIndex(where: { $0.id == waiter }) else {
      violate(.answeredInTime, session: index, "waiter \(waiter) is answered and does not wait")
      return nil
    }
    let open = sessions[index].open.remove(at: place)
    checkLateness(open, index)
    return open
  }

  mutating func checkLateness(_ open: SimulatedSession.Open, _ index: Int) {
    if now > open.deadline, now > awakeSince {
      violate(
        .answeredInTime, session: index,
        "waiter \(open.id) had to be answered \(now - open.deadline) ago")
    }
  }

  // MARK: Who is who

  private mutating func accept(_ persons: [Person], _ index: Int) {
    // A login is added to whom a backend vouches for, and one by the host keeps whom it vouches
    // for already, with what is valid, be it of the token that a client brought before.
    let isAdded = [.logins, .host].contains { persons.first == sessions[index].person($0) }
    let isKept = isAdded && sessions[index].allowed.contains(where: \.isVouchedFor)
    sessions[index].allowed = (isKept ? sessions[index].allowed : []) + persons
    sessions[index].pending = []
  }

  private mutating func refused(
    _ open: SimulatedSession.Open, _ error: ProtocolError, _ index: Int
  ) {
    if !open.persons.isEmpty, error.code != .timeout {
      sessions[index].pending.removeAll { open.persons.contains($0) }
    }
    if open.isFinal { finallyRefused(open, error, index) }
  }

  /// What an answer holds is good, and the session's own.
  mutating func check(
    _ reply: (person: Person, end: Instant)?, _ index: Int, _ whom: @autoclosure () -> String
  ) {
    guard let reply else {
      return violate(.neverExpired, session: index, "\(whom()) was given nothing")
    }
    if reply.end <= now {
      violate(
        .neverExpired, session: index,
        "\(whom()) was given credentials that are over since \(now - reply.end)")
    }
    if sessions[index].allowed.contains(reply.person) { return }
    guard sessions[index].pending.contains(reply.person) else {
      return violate(
        .neverForeign, session: index,
        "\(whom()) was given credentials of person \(reply.person.number), not of "
          + "\(sessions[index].allowed.map(\.number))")
    }
    // A sign-in that nobody waits for any more has succeeded.
    sessions[index].allowed = sessions[index].pending
    sessions[index].pending = []
  }

  private mutating func checkToken(_ index: Int) {
    let machine = sessions[index].machine
    guard let held = machine.token, let sealed = Person.unsealed(held.token.token) else {
      return violate(.neverExpired, session: index, "no token to give")
    }
    // Where the token does not say, or the clock is wrong, only Cognito knows its end.
    if let expires = held.expires, expires <= now {
      violate(.neverExpired, session: index, "a token that is over since \(now - expires)")
    }
    if !(sessions[index].allowed + sessions[index].pending).contains(sealed.person) {
      violate(.neverForeign, session: index, "a token of person \(sealed.person.number)")
    }
  }
}

extension SessionMachine.Event {
  /// For traces; nothing here is secret but in name.
  var words: String {
    switch self {
    case .asked(let waiter):
      "asked by waiter \(waiter.id) for \(waiter.want)"
        + (waiter.mustRefresh ? ", fresh" : "")
        + (waiter.minimumLife.map { ", for \($0)" } ?? "")
    case .signInRequested(let request): "sign-in \(request.id) \(request.input.way)"
    case .loggedOut: "logged out"
    case .userChanged: "the uid is somebody else's"
    case .profileChanged(_, let change): "the profile changed: \(change)"
    case .cleared(let scope): "cleared \(scope.rawValue)"
    case .released: "released"
    case .waiterLeft(let id): "waiter \(id) left"
    case .callFinished(let call, let outcome): "call \(call) ended: \(outcome.words)"
    case .timePassed: "time passed"
    }
  }
}

extension SignInInput {
  var way: String {
    switch self {
    case .host: "by the host"
    case .password(let name, _): "by the password of \(name)"
    case .developerToken: "by a developer token"
    case .logins: "by a login"
    }
  }
}

extension UpstreamOutcome {
  var words: String {
    switch self {
    case .signedIn: "the password is right"
    case .fileToken: "the token file was read"
    case .token(_, _, let lifetime): "a token for \(lifetime.map { "\($0)" } ?? "unknown")"
    case .identity: "an identity"
    case .credentials(_, _, let lifetime): "credentials for \(lifetime)"
    case .failed(let failure): "\(failure.failureClass): \(failure.message)"
    }
  }
}

extension UpstreamCall {
  var words: String {
    switch self {
    case .signIn: "sign-in"
    case .readTokenFile: "token file"
    case .tokenCallback: "token callback"
    case .getID: "GetId"
    case .getOpenIDToken: "GetOpenIdToken"
    case .getCredentials: "GetCredentialsForIdentity"
    case .assumeRole: "AssumeRoleWithWebIdentity"
    }
  }
}
