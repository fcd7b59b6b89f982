import CredCore
import TestSupport
import Testing

/// A password goes to the backend, whose session authenticates the user from then on.
struct SignInTests {
  let fixtures = Fixtures()

  @Test func anAcceptedPasswordBringsATokenAndCredentials() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    expect(session.calls, equals: [fixtures.givePassword("alice")])
    session.finish(fixtures.accepted("alice"))
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
    session.finish(fixtures.token())
    expect(session.calls.last, equals: fixtures.exchange())
    expect(session.answer(to: login) == nil)
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(
      session.announcements,
      equals: [
        .state(.signedIn(.password(fixtures.session("alice")))),
        fixtures.changed(nil, fixtures.identity), fixtures.refreshed,
      ])
  }

  @Test func aRefusedPasswordChangesNothing() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    let login = session.login(fixtures.password("bob"))
    session.finish(fixtures.refusedPassword)
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.announcements, equals: [])
    expect(session.failures.map(\.code), equals: [.signInFailed])
    expect(session.machine.lastFailure == nil)
    expect(session.machine.failures, equals: 0)
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  /// Found by simulation, seed 92: after a 409 of `login_url` the token of the former user was
  /// exchanged, and the login was answered as a success.
  @Test(arguments: [
    FailureClass.retryWithoutIdentity, .newIdentity, .dropIdentityThenNewToken, .newTokenOnce,
  ])
  func noOtherCallMendsARefusedPassword(_ failureClass: FailureClass) {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    let login = session.login(fixtures.password("bob"))
    session.finish(fixtures.failed(failureClass, .identityConflict))
    expect(session.answer(to: login), equals: .refused(.identityConflict))
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.calls, equals: [fixtures.givePassword("bob")])
  }

  @Test func credentialsOfTheFirstUserAreServedUntilTheSecondIsAccepted() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.login(fixtures.password("bob"))
    let early = session.ask()
    expect(session.answer(to: early), equals: .credentials)
    session.finish(fixtures.accepted("bob"))
    expect(session.machine.credentials == nil)
    let late = session.ask()
    expect(session.answer(to: late) == nil)
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: late), equals: .credentials)
  }

  @Test func anUnavailableBackendFailsTheLogin() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.unavailable)
    expect(session.answer(to: login), equals: .refused(.backendUnavailable))
    expect(session.machine.state, equals: .signedOut(byUser: false))
    expect(session.announcements, equals: [])
    // Nothing is left to do by itself.
    expect(session.machine.nextWake, equals: .distantFuture)
  }

  @Test func anAcceptedPasswordSignsInAlthoughTheExchangeFails() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.unavailable)
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.state.reported, equals: .signedIn)
    let get = session.ask(wait: .seconds(60))
    session.advance(by: 10)
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aPermanentFailureAfterAnAcceptedPasswordIsReportedAndTheSignInStands() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.token())
    session.finish(fixtures.failed(.poolMisconfigured, .poolMisconfigured))
    expect(session.answer(to: login), equals: .refused(.poolMisconfigured))
    expect(session.machine.state.reported, equals: .signedIn)
    session.advance(by: 5)
    let get = session.ask()
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aSessionThatIsRefusedLaterNeedsALogin() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    session.advance(by: 1000)
    let first = session.askForAWholeHour(wait: .seconds(60))
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.states, equals: ["tokensInvalid"])
    // The backend does not accept it any more.
    guard case .tokensInvalid(.password(let refused)) = session.machine.state else {
      return expect(Bool(false), "\(session.machine.state)")
    }
    expect(refused.token.isEmpty)
    // What is valid is served, and no attempt is made in vain.
    let plain = session.ask()
    expect(session.answer(to: plain), equals: .credentials)
    session.advance(by: 30)
    expect(session.calls.count, equals: 1)
    session.signIn("alice")
    expect(session.answer(to: first), equals: .credentials)
    expect(session.states, equals: ["tokensInvalid", "signedIn"])
    expect(session.identityChanges, equals: [])
  }

  @Test func aNewSessionThatIsRefusedAtOnceFailsTheLogin() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    expect(session.states, equals: ["signedIn", "tokensInvalid"])
    expect(session.openCalls.isEmpty)
  }

  // MARK: The identity

  @Test func theSameUserKeepsTheIdentity() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    expect(
      session.calls.last,
      equals: fixtures.callback(fixtures.identity, session: fixtures.session("alice")))
  }

  @Test func anotherUserDoesNotKeepTheIdentity() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    session.login(fixtures.password("bob"))
    session.finish(fixtures.accepted("bob"))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("bob")))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    // One user to another: who it is now, and the identity in one piece of news.
    expect(
      session.announcements,
      equals: [
        .state(.signedIn(.password(fixtures.session("bob")))),
        fixtures.changed(fixtures.identity, fixtures.other), fixtures.refreshed,
      ])
  }

  /// Swift takes the two names as equal; the backend may not.
  @Test func aUserWhoseNameOnlyLooksTheSameDoesNotKeepTheIdentity() {
    var session = SessionDriver(.password)
    session.signIn("jos\u{E9}")
    session.forgetAll()
    session.login(fixtures.password("jose\u{301}"))
    session.finish(fixtures.accepted("jose\u{301}"))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("jose\u{301}")))
  }

  @Test func aGuestsIdentityBecomesTheUsers() {
    var session = SessionDriver(.password, guests: true)
    session.beGuest()
    session.forget()
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    expect(
      session.calls.last,
      equals: fixtures.callback(fixtures.identity, session: fixtures.session("alice")))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.states, equals: ["signedIn"])
    expect(session.identityChanges, equals: [])
  }

  @Test func aGuestGetsTheUsersOwnIdentityIfThereIsOne() {
    var session = SessionDriver(.password, guests: true)
    session.beGuest()
    session.forget()
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  @Test func anEarlierGuestsIdentityIsNotKeptAfterAnotherUser() {
    var session = SessionDriver(.password, guests: true)
    session.beGuest()
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    // Overtaken on the way: by now the identity is Alice's.
    session.login(fixtures.password("bob"))
    session.finish(fixtures.accepted("bob"))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("bob")))
  }

  @Test func anIdentityOfAnotherKindOfSignInIsNotKept() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
  }
}

/// In which order clients are answered, and how often.
struct SignInOrderTests {
  let fixtures = Fixtures()

  @Test func announcementsComeBeforeTheLoginsAnswerAndThatBeforeTheWaiters() {
    var session = SessionDriver(.none)
    let get = session.ask(wait: .seconds(60))
    let login = session.login(fixtures.clientToken())
    session.forget()
    let actions = session.finish(fixtures.credentials())
    expect(
      actions,
      equals: [
        .announce(fixtures.changed(nil, fixtures.identity)),
        .announce(.state(.signedIn(.developerToken))), .credentialsChanged,
        .announce(fixtures.refreshed), .signInEnded(login, nil), .giveState(login),
        .giveCredentials(get),
      ])
  }

  @Test func aRefusedLoginLeavesTheWaitersWaiting() {
    var session = SessionDriver(.none)
    let get = session.ask(wait: .seconds(60))
    session.login(fixtures.clientToken())
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: get) == nil)
    session.signIn(fixtures.clientToken())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func anAcceptedSignInWithoutCredentialsAnswersTheWaitersWithTheError() {
    var session = SessionDriver(.password)
    let get = session.ask(wait: .seconds(60))
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.failed(.refusedByBackend, .backendRejected))
    expect(session.answer(to: get), equals: .refused(.backendRejected))
  }

  @Test func aRefusedPasswordRestartsTheInterruptedRefresh() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.advance(by: 60)
    let get = session.askForAWholeHour()
    session.login(fixtures.password("bob"))
    session.finish(fixtures.refusedPassword)
    expect(session.calls.last, equals: fixtures.exchange())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
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
    expect(session.answer(to: get), equals: .refused(.throttled))
    expect(session.calls, equals: [])
  }

  // MARK: Overtaken

  @Test func theLaterOfTwoSignInsWins() {
    var session = SessionDriver(.password)
    let first = session.login(fixtures.password("alice"))
    let stale = session.openCalls.keys.max() ?? 0
    let second = session.login(fixtures.password("bob"))
    expect(session.answer(to: first), equals: .refused(.signInFailed))
    session.finish(call: stale, fixtures.accepted("alice"))
    expect(session.machine.state, equals: .signedOut(byUser: false))
    session.finish(fixtures.accepted("bob"))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: second), equals: .state)
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("bob"))))
  }

  @Test func nothingOfTheFirstSignInIsLeftInTheSecond() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.login(fixtures.logins(Fixtures.facebook, token: "bad"))
    session.login(fixtures.logins(Fixtures.google))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.map([Fixtures.google])))
    session.login(fixtures.clientToken(fixtures.other))
    session.login(fixtures.logins(Fixtures.google))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.map([Fixtures.google])))
  }

  @Test func ifBothSignInsAreRefusedTheStateIsThatBeforeTheFirst() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    session.forget()
    session.login(fixtures.logins(Fixtures.facebook))
    session.login(fixtures.clientToken(fixtures.other))
    session.finish(fixtures.refusedToken)
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.machine.logins.isEmpty)
    expect(session.announcements, equals: [])
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  /// Found by the simulation: the next refresh came at half of the lifetime only.
  @Test func aRetryThatARefusedSignInInterruptedStartsAgainAtOnce() {
    var session = SessionDriver()
    session.signIn()
    session.sleep(2)
    session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.failed())
    expect(session.machine.failures, equals: 1)
    session.sleep(until: session.machine.nextWake)
    session.send(.timePassed)
    expect(session.awaitedCall != nil)
    session.login(fixtures.clientToken(fixtures.other))
    session.finish(fixtures.refusedToken)
    expect(session.machine.failures, equals: 1)
    expect(session.awaitedCall != nil)
    expect(session.machine.credentials != nil)
    session.finish(fixtures.credentials())
    expect(session.machine.failures, equals: 0)
  }

  @Test func aRefusedSecondSignInGoesBackToTheAcceptedFirst() {
    var session = SessionDriver(.password)
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.login(fixtures.password("bob"))
    session.finish(fixtures.refusedPassword)
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
    let get = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  // MARK: Without a waiting client

  @Test func aLoginIsAnsweredAtItsDeadlineAndGoesOn() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"), within: 10)
    expect(session.wakesIn, equals: .seconds(10))
    session.advance(by: 10)
    expect(session.answer(to: login), equals: .refused(.timeout))
    expect(session.machine.nextWake, equals: .distantFuture)
    session.forget()
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.states, equals: ["signedIn"])
    expect(session.answer(to: login) == nil)
  }

  @Test func aClientThatLeavesDuringItsLoginIsNotAnswered() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.leave(login)
    session.finish(fixtures.refusedPassword)
    expect(session.answer(to: login) == nil)
    expect(session.machine.state, equals: .signedOut(byUser: false))
  }

  @Test func aLoginSucceedsAlthoughItsClientHasLeft() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.clientToken())
    session.leave(login)
    session.finish(fixtures.credentials())
    expect(session.states, equals: ["signedIn"])
    expect(session.answer(to: login) == nil)
  }
}
