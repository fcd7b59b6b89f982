import CredCore

/// Apps that ask, and people who sign in and out.
extension Simulation {
  // MARK: Apps

  mutating func use(_ index: Int) {
    if isCalm { return }
    ask(index)
    var gap = sessions[index].gap
    // Some come in bursts, and at times nobody is there for hours.
    switch dice.index(50) {
    case 0: gap = 20_000
    case 1..<8: gap = 0.3
    default: break
    }
    events.put(.use(index), at: later(dice.seconds(around: gap)))
  }

  private mutating func ask(_ index: Int) {
    let isPlain = dice.happens(0.8)
    if isPlain, now < sessions[index].quietUntil, sessions[index].reply != nil {
      return answerFromCache(index)
    }
    let waiter = Waiter(
      id: nextWaiter(), want: dice.happens(0.85) ? .credentials : .token,
      minimumLife: isPlain ? nil : dice.pick([nil, .seconds(30), .seconds(900), .seconds(3000)]),
      mustRefresh: !isPlain && dice.happens(0.3), arrived: now,
      wait: .seconds(1) * dice.pick([0, 0.5, 5, 5, 5, 60]))
    park(waiter, index, isFinal: false)
    if dice.happens(0.05) {
      events.put(
        .leave(session: index, waiter: waiter.id), at: later(dice.seconds(around: 1)))
    }
  }

  private mutating func answerFromCache(_ index: Int) {
    report.cacheHits += 1
    let wasInUse = sessions[index].machine.isInUse
    sessions[index].machine.lastAsked = now
    if !wasInUse { reschedule(index) }
    check(sessions[index].reply, index, "an app")
  }

  mutating func park(_ waiter: Waiter, _ index: Int, isFinal: Bool) {
    sessions[index].eventsInHour += 1
    sessions[index].open.append(
      SimulatedSession.Open(
        id: waiter.id, deadline: waiter.deadline, persons: [], isFinal: isFinal))
    send(.asked(waiter), to: index)
  }

  mutating func nextWaiter() -> UInt64 {
    lastWaiter += 1
    return lastWaiter
  }

  mutating func leave(_ index: Int, _ waiter: UInt64) {
    guard let place = sessions[index].open.firstIndex(where: { $0.id == waiter }) else { return }
    checkLateness(sessions[index].open.remove(at: place), index)
    send(.waiterLeft(waiter), to: index)
  }

  // MARK: People

  mutating func act(_ index: Int) {
    if isCalm { return }
    sessions[index].eventsInHour += 1
    switch dice.index(20) {
    case 0..<13: signIn(index, isGood: dice.happens(0.8), isFinal: false)
    case 13, 14: logOut(index)
    case 15: clear(.credentials, index)
    case 16: clear(.identity, index)
    case 17: changeUser(index)
    default: send(.released, to: index)
    }
    events.put(.act(index), at: later(dice.seconds(around: 7200)))
  }

  mutating func signIn(_ index: Int, isGood: Bool, isFinal: Bool) {
    let session = sessions[index]
    let (way, persons) = way(session, isGood: isGood)
    let id = nextWaiter()
    let deadline = now + .seconds(30)
    sessions[index].eventsInHour += 1
    sessions[index].open.append(
      SimulatedSession.Open(id: id, deadline: deadline, persons: persons, isFinal: isFinal))
    // An earlier one that has not succeeded is given up.
    sessions[index].pending = persons
    var expires: Instant?
    if dice.happens(0.7) { expires = now + .seconds(2000) + skew }
    send(
      .signInRequested(
        SignInRequest(
          id: id, input: way, expires: expires,
          loginsExpire: expires.map { [Person.provider: $0] } ?? [:], deadline: deadline)),
      to: index, isUsersWish: true)
  }

  /// A way to sign in to such a profile, and who the user is then.
  private mutating func way(
    _ session: SimulatedSession, isGood: Bool
  ) -> (SignInInput, [Person]) {
    let end = isGood ? now + .seconds(3000) : now - .seconds(5)
    let host = [session.person(.host), session.person(.logins)]
    switch session.plan.backend {
    case .host where dice.happens(0.5): return (.host, host)
    case .password:
      let name = dice.happens(0.5) ? "alice" : "bob"
      return (
        .password(username: name, password: Secret(isGood ? "right" : "wrong")),
        [session.person(name == "alice" ? .alice : .bob)]
      )
    case .none where session.plan.tokenFileProvider != nil && dice.happens(0.5):
      return (.host, host)
    default: break
    }
    if session.plan.backend == .none || dice.happens(0.3) {
      let person = session.person(.logins)
      if let logins = try? LoginsMap([(Person.provider, person.sealed(until: end))]) {
        let linked = session.plan.backend == .host ? [session.person(.host)] : []
        return (.logins(logins), [person] + linked)
      }
    }
    let person = session.person(.developer)
    guard let token = try? DeveloperToken(person.sealed(until: end)) else {
      preconditionFailure("a sealed token is no token")
    }
    // A backend that knows the user has the next token when this one is used up.
    let renewed = session.plan.backend == .host ? [session.person(.host)] : []
    return (.developerToken(identityID: person.identity, token: token), [person] + renewed)
  }

  private mutating func logOut(_ index: Int) {
    sessions[index].pending = []
    sessions[index].allowed = [sessions[index].person(.guest)]
    send(.loggedOut, to: index, isUsersWish: true)
  }

  private mutating func clear(_ scope: ClearScope, _ index: Int) {
    send(.cleared(scope), to: index, isUsersWish: true)
    if scope == .identity, sessions[index].machine.state != .signedOut(byUser: true) {
      sessions[index].allowed += sessions[index].unattended
    }
  }

  /// The uid is given to somebody else, who must find nothing of the one before.
  private mutating func changeUser(_ index: Int) {
    sessions[index].generation += 1
    sessions[index].pending = []
    sessions[index].allowed = sessions[index].unattended
    send(.userChanged, to: index, isUsersWish: true)
  }
}
