import CredCore
import Testing

/// A password goes to the backend, whose session vouches for the user from then on.
@Suite struct SignInPasswordTests {
  let fixtures = Fixtures()

  @Test func anAcceptedPasswordBringsATokenAndCredentials() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    #expect(session.calls == [fixtures.givePassword("alice")])
    session.finish(fixtures.accepted("alice"))
    #expect(session.machine.state == .signedIn(.password(fixtures.session("alice"))))
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("alice")))
    session.finish(fixtures.token())
    #expect(session.calls.last == fixtures.exchange())
    #expect(session.answer(to: login) == nil)
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(
      session.announcements == [
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
    #expect(session.answer(to: login) == .refused(.signInFailed))
    #expect(session.machine.state == .signedIn(.password(fixtures.session("alice"))))
    #expect(session.machine.identityID == fixtures.identity)
    #expect(session.announcements == [])
    #expect(session.failures.map(\.code) == [.signInFailed])
    let get = session.ask()
    #expect(session.answer(to: get) == .credentials)
  }

  /// Found by simulation, seed 92: a 409 of `login_url` was mended by an exchange of the token of
  /// whoever was signed in before, and the login was told that it had succeeded.
  @Test(arguments: [
    FailureClass.retryWithoutIdentity, .newIdentity, .dropIdentityThenNewToken, .newTokenOnce,
  ])
  func noOtherCallMendsARefusedPassword(_ failureClass: FailureClass) {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    let login = session.login(fixtures.password("bob"))
    session.finish(fixtures.failed(failureClass, .identityConflict))
    #expect(session.answer(to: login) == .refused(.identityConflict))
    #expect(session.machine.state == .signedIn(.password(fixtures.session("alice"))))
    #expect(session.machine.identityID == fixtures.identity)
    #expect(session.calls == [fixtures.givePassword("bob")])
  }

  @Test func whatTheFirstUserHasIsServedUntilTheSecondIsAccepted() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.login(fixtures.password("bob"))
    let early = session.ask()
    #expect(session.answer(to: early) == .credentials)
    session.finish(fixtures.accepted("bob"))
    #expect(session.machine.credentials == nil)
    let late = session.ask()
    #expect(session.answer(to: late) == nil)
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.answer(to: late) == .credentials)
  }

  @Test func aBackendThatIsAwayRefusesTheLogin() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.away)
    #expect(session.answer(to: login) == .refused(.backendUnavailable))
    #expect(session.machine.state == .signedOut(byUser: false))
    #expect(session.announcements == [])
    // Nothing is left to do by itself.
    #expect(session.machine.nextWake == .distantFuture)
  }

  @Test func afterThePasswordTheUserIsSignedInThoughTheRestIsAway() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.away)
    #expect(session.answer(to: login) == .state)
    #expect(session.machine.state.reported == .signedIn)
    let get = session.ask(wait: .seconds(60))
    session.advance(by: 10)
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("alice")))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func whatCannotBeMendedIsSaidAndTheSignInStands() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.token())
    session.finish(fixtures.failed(.poolMisconfigured, .poolMisconfigured))
    #expect(session.answer(to: login) == .refused(.poolMisconfigured))
    #expect(session.machine.state.reported == .signedIn)
    session.advance(by: 5)
    let get = session.ask()
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aSessionThatIsRefusedLaterIsHealedByALogin() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    session.advance(by: 1000)
    let first = session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    #expect(session.states == ["tokensInvalid"])
    // Nobody takes it any more.
    guard case .tokensInvalid(.password(let refused)) = session.machine.state else {
      return #expect(Bool(false), "\(session.machine.state)")
    }
    #expect(refused.token.isEmpty)
    // What is valid is served, and no attempt is made in vain.
    let plain = session.ask()
    #expect(session.answer(to: plain) == .credentials)
    session.advance(by: 30)
    #expect(session.calls.count == 1)
    session.signIn("alice")
    #expect(session.answer(to: first) == .credentials)
    #expect(session.states == ["tokensInvalid", "signedIn"])
    #expect(session.identityChanges == [])
  }

  @Test func aNewSessionThatIsRefusedAtOnceSaysSo() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    #expect(session.answer(to: login) == .refused(.signInFailed))
    #expect(session.states == ["signedIn", "tokensInvalid"])
    #expect(session.openCalls.isEmpty)
  }

  // MARK: Whose identity

  @Test func theSameUserKeepsTheIdentity() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    #expect(
      session.calls.last
        == fixtures.callback(fixtures.identity, session: fixtures.session("alice")))
  }

  @Test func anotherUserDoesNotGetIt() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    session.login(fixtures.password("bob"))
    session.finish(fixtures.accepted("bob"))
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("bob")))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    // One user to another, in one piece of news.
    #expect(
      session.announcements == [
        fixtures.changed(fixtures.identity, fixtures.other), fixtures.refreshed,
      ])
  }

  @Test func aGuestsIdentityBecomesTheUsers() {
    var session = SessionDriver(.password, guests: true)
    session.beGuest()
    session.forget()
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    #expect(
      session.calls.last
        == fixtures.callback(fixtures.identity, session: fixtures.session("alice")))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.states == ["signedIn"])
    #expect(session.identityChanges == [])
  }

  @Test func aGuestWhoseIdentityIsNotTheUsersGetsTheUsers() {
    var session = SessionDriver(.password, guests: true)
    session.beGuest()
    session.forget()
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("alice")))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.identityChanges == [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  @Test func whoWasAGuestBeforeTheUserBeforeIsNobodysConcern() {
    var session = SessionDriver(.password, guests: true)
    session.beGuest()
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    // Overtaken on the way: by now the identity is Alice's.
    session.login(fixtures.password("bob"))
    session.finish(fixtures.accepted("bob"))
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("bob")))
  }

  @Test func anIdentityOfAnotherKindOfSignInIsNotAUsersOfOld() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.signIn(fixtures.tokenAtHand(fixtures.other), as: fixtures.other)
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("alice")))
  }
}
