import CredCore
import Testing

/// Who is answered when, and how often.
@Suite struct SignInOrderTests {
  let fixtures = Fixtures()

  @Test func newsComesBeforeTheAnswerAndTheAnswerBeforeTheOthers() {
    var session = SessionDriver(.none)
    let get = session.ask(wait: .seconds(60))
    let login = session.login(fixtures.tokenAtHand())
    session.forget()
    let actions = session.finish(fixtures.credentials())
    #expect(
      actions == [
        .announce(fixtures.changed(nil, fixtures.identity)),
        .announce(.state(.signedIn(.developerToken))), .credentialsChanged,
        .announce(fixtures.refreshed), .giveState(login), .giveCredentials(get),
      ])
  }

  @Test func aRefusedLoginLeavesWhoWaitsWaiting() {
    var session = SessionDriver(.none)
    let get = session.ask(wait: .seconds(60))
    session.login(fixtures.tokenAtHand())
    session.finish(fixtures.refusedToken)
    #expect(session.answer(to: get) == nil)
    session.signIn(fixtures.tokenAtHand())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func goodTokensWithoutCredentialsResumeThemWithTheError() {
    var session = SessionDriver(.password)
    let get = session.ask(wait: .seconds(60))
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.failed(.refusedByBackend, .backendRejected))
    #expect(session.answer(to: get) == .refused(.backendRejected))
  }

  @Test func aRefusedPasswordLetsTheInterruptedRefreshBeginAgain() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.advance(by: 60)
    let get = session.ask(refresh: true)
    session.login(fixtures.password("bob"))
    session.finish(fixtures.refusedPassword)
    #expect(session.calls.last == fixtures.exchange())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aRefusedLoginEndsNoPause() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.send(.cleared(.credentials))
    session.ask()
    session.finish(fixtures.failed(.throttled(retryAfter: .seconds(60)), .throttled))
    session.login(fixtures.password("alice"))
    session.finish(fixtures.refusedPassword)
    session.forgetAll()
    let get = session.ask()
    #expect(session.answer(to: get) == .refused(.throttled))
    #expect(session.calls == [])
  }

  // MARK: Overtaken

  @Test func theLaterOfTwoWins() {
    var session = SessionDriver(.password)
    let first = session.login(fixtures.password("alice"))
    let stale = session.openCalls.keys.max() ?? 0
    let second = session.login(fixtures.password("bob"))
    #expect(session.answer(to: first) == .refused(.signInFailed))
    session.finish(call: stale, fixtures.accepted("alice"))
    #expect(session.machine.state == .signedOut(byUser: false))
    session.finish(fixtures.accepted("bob"))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: second) == .state)
    #expect(session.machine.state == .signedIn(.password(fixtures.session("bob"))))
  }

  @Test func nothingOfTheFirstIsLeftInTheSecond() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.login(fixtures.logins(Fixtures.facebook, token: "bad"))
    session.login(fixtures.logins(Fixtures.google))
    #expect(session.calls.last == fixtures.exchange(fixtures.map([Fixtures.google])))
    session.login(fixtures.tokenAtHand(fixtures.other))
    session.login(fixtures.logins(Fixtures.google))
    #expect(session.calls.last == fixtures.exchange(fixtures.map([Fixtures.google])))
  }

  @Test func ifTheSecondIsRefusedTooAllIsAsBeforeTheFirst() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.tokenAtHand())
    session.forget()
    session.login(fixtures.logins(Fixtures.facebook))
    session.login(fixtures.tokenAtHand(fixtures.other))
    session.finish(fixtures.refusedToken)
    #expect(session.machine.identityID == fixtures.identity)
    #expect(session.machine.logins.isEmpty)
    #expect(session.announcements == [])
    let get = session.ask()
    #expect(session.answer(to: get) == .credentials)
  }

  /// Found by the simulation: nobody would try again before half of the lifetime was over.
  @Test func theRetryThatARefusedOneInterruptedIsMadeAgainAtOnce() {
    var session = SessionDriver()
    session.signIn()
    session.sleep(2)
    session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.failed())
    #expect(session.machine.failures == 1)
    session.sleep(until: session.machine.nextWake)
    session.send(.timePassed)
    #expect(session.awaitedCall != nil)
    session.login(fixtures.tokenAtHand(fixtures.other))
    session.finish(fixtures.refusedToken)
    #expect(session.machine.failures == 1)
    #expect(session.awaitedCall != nil)
    #expect(session.machine.credentials != nil)
    session.finish(fixtures.credentials())
    #expect(session.machine.failures == 0)
  }

  @Test func anAcceptedFirstIsWhatARefusedSecondGoesBackTo() {
    var session = SessionDriver(.password)
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.login(fixtures.password("bob"))
    session.finish(fixtures.refusedPassword)
    #expect(session.machine.state == .signedIn(.password(fixtures.session("alice"))))
    let get = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  // MARK: Nobody waits for it

  @Test func aLoginIsAnsweredAtItsDeadlineAndGoesOn() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"), within: 10)
    #expect(session.wakesIn == .seconds(10))
    session.advance(by: 10)
    #expect(session.answer(to: login) == .refused(.timeout))
    #expect(session.machine.nextWake == .distantFuture)
    session.forget()
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.states == ["signedIn"])
    #expect(session.answer(to: login) == nil)
  }

  @Test func whoLeavesIsNotAnswered() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.leave(login)
    session.finish(fixtures.refusedPassword)
    #expect(session.answer(to: login) == nil)
    #expect(session.machine.state == .signedOut(byUser: false))
  }

  @Test func whoLeavesIsSignedInAllTheSame() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.tokenAtHand())
    session.leave(login)
    session.finish(fixtures.credentials())
    #expect(session.states == ["signedIn"])
    #expect(session.answer(to: login) == nil)
  }
}
