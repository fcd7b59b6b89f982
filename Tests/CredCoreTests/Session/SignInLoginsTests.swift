import TestSupport
import Testing

@testable import CredCore

/// Logins of social, OIDC and SAML providers that speak for themselves.
struct SignInLoginsTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  @Test func loginsTakeGetIdAndAnExchange() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.logins(Fixtures.facebook))
    expect(session.calls, equals: [.getID(logins: facebook)])
    session.finish(.identity(fixtures.identity))
    expect(session.calls.last, equals: fixtures.exchange(facebook))
    expect(session.announcements, equals: [])
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(
      session.announcements,
      equals: [
        fixtures.changed(nil, fixtures.identity), .state(.signedIn(.logins)), fixtures.refreshed,
      ])
  }

  @Test func laterRefreshesOfLoginsSkipGetId() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    expect(session.calls, equals: [fixtures.exchange(facebook)])
  }

  @Test func aSecondProviderJoinsTheFirst() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.google))
    let both = fixtures.map([Fixtures.facebook, Fixtures.google])
    expect(session.calls, equals: [fixtures.exchange(both)])
    expect(session.machine.credentials == nil)
  }

  @Test func aProvidersNewTokenReplacesItsOldOne() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook, Fixtures.google))
    session.signIn(fixtures.logins(Fixtures.facebook, token: "new"))
    expect(session.machine.logins.logins.count, equals: 2)
    expect(session.machine.logins[Fixtures.facebook], equals: Secret("graph.facebook.com's new"))
    expect(session.machine.logins[Fixtures.google], equals: Secret("accounts.google.com's token"))
  }

  @Test func withMoreThanTenLoginsTheNewOnesReplaceTheOld() {
    var session = SessionDriver(.none)
    let nine = (1...9).map { "p\($0).example" }
    session.signIn(.logins(fixtures.map(nine)))
    session.signIn(fixtures.logins(Fixtures.facebook))
    expect(session.machine.logins.logins.count, equals: 10)
    session.signIn(fixtures.logins(Fixtures.google, "p9.example", token: "new"))
    expect(
      session.machine.logins, equals: fixtures.map([Fixtures.google, "p9.example"], token: "new"))
  }

  @Test func aRefusedLoginLeavesTheOthers() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.forgetAll()
    let login = session.login(fixtures.logins(Fixtures.google, token: "bad"))
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: login), equals: .refused(.tokenRejected))
    expect(session.machine.logins, equals: facebook)
    expect(session.machine.state, equals: .signedIn(.logins))
    expect(session.announcements, equals: [])
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func afterARefusalOnlyNewLoginsAreUsed() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.advance(by: 60)
    let get = session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.refusedToken)
    expect(session.machine.state, equals: .tokensInvalid(.logins))
    expect(session.machine.logins.isEmpty)
    session.forgetAll()
    // With Facebook's token, which was refused, no login could ever succeed.
    session.login(fixtures.logins(Fixtures.google))
    expect(session.calls, equals: [fixtures.exchange(fixtures.map([Fixtures.google]))])
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
    expect(session.states, equals: ["signedIn"])
  }

  @Test func theRoleOfALoginIsRequestedInEachRefresh() {
    var session = SessionDriver(.none)
    session.login(fixtures.logins("saml"), role: Fixtures.role)
    session.finish(.identity(fixtures.identity))
    let asked = fixtures.exchange(fixtures.map(["saml"]), role: Fixtures.role)
    expect(session.calls.last, equals: asked)
    session.finish(fixtures.credentials())
    session.advance(by: 60)
    session.ask(refresh: true)
    expect(session.calls.last, equals: asked)
    session.finish(fixtures.credentials())
    session.signIn(fixtures.logins("saml"))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.map(["saml"])))
  }

  @Test func aRefusedLoginKeepsTheRole() {
    var session = SessionDriver(.password)
    session.login(fixtures.logins("saml"), role: Fixtures.role)
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.login(fixtures.password("alice"))
    session.finish(fixtures.refusedPassword)
    session.advance(by: 60)
    session.ask(refresh: true)
    expect(
      session.calls.last, equals: fixtures.exchange(fixtures.map(["saml"]), role: Fixtures.role))
  }

  @Test func aLogoutForgetsLogins() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.send(.loggedOut)
    expect(session.machine.logins.isEmpty)
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.google))
    expect(session.calls, equals: [.getID(logins: fixtures.map([Fixtures.google]))])
  }

  @Test func loginsHaveNoTokenToGive() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    let token = session.ask(.token)
    session.advance(by: 5)
    expect(session.answer(to: token), equals: .refused(.signInRequired))
    expect(session.refusal(of: token)?.message, equals: "this sign-in has no developer token")
  }
}

/// Logins beside a backend: it is told of them, links them, and says which identity results.
struct LinkedLoginsTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  @Test func theCallbackCarriesTheLoginsAndItsIdentityReplacesTheHeldOne() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    expect(
      session.calls, equals: [fixtures.callback(fixtures.identity, logins: facebook, session: nil)])
    session.finish(fixtures.token(of: fixtures.other))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.state, equals: .signedIn(.host))
    expect(
      session.announcements,
      equals: [
        fixtures.changed(fixtures.identity, fixtures.other), fixtures.refreshed,
      ])
  }

  @Test func aPasswordSessionsCallbackCarriesTheLogins() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.login(fixtures.logins(Fixtures.facebook))
    let alice = fixtures.session("alice")
    expect(
      session.calls.last,
      equals: fixtures.callback(fixtures.identity, logins: facebook, session: alice))
  }

  @Test func aNewSessionSignsInWithLogins() {
    var session = SessionDriver()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    expect(session.calls, equals: [fixtures.callback(logins: facebook, session: nil)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.states, equals: ["signedIn"])
  }

  @Test func aGuestsLoginIsLinkedByTheBackend() {
    var session = SessionDriver(.host, guests: true)
    session.send(.loggedOut)
    session.beGuest()
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.facebook))
    expect(
      session.calls, equals: [fixtures.callback(fixtures.identity, logins: facebook, session: nil)])
  }

  @Test func validCredentialsStayUntilTheBackendHasLinked() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    let before = session.ask()
    expect(session.answer(to: before), equals: .credentials)
    session.finish(fixtures.unavailable)
    // The user is signed in as before, and nobody has said that the login is linked.
    expect(session.answer(to: login), equals: .refused(.backendUnavailable))
    let after = session.ask()
    expect(session.answer(to: after), equals: .credentials)
    expect(session.machine.logins.isEmpty)
  }

  @Test func aLinkThatIsRefusedAfterAnOutageEndsNoCredentials() {
    var session = SessionDriver()
    session.signIn()
    session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.unavailable)
    session.advance(by: 60)
    let again = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    expect(session.answer(to: again), equals: .refused(.identityConflict))
    session.advance(by: 60)
    session.ask(refresh: true)
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity, forced: true))
  }

  @Test func aLinkIsMadeOnce() {
    var session = SessionDriver()
    session.signIn()
    session.login(fixtures.logins(Fixtures.facebook), loginsExpire: [Fixtures.facebook: 600])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials(7200))
    expect(session.machine.logins.isEmpty)
    session.advance(by: 400)
    session.ask(refresh: true)
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity, forced: true))
    // Nobody has to renew what was passed on.
    expect(
      session.announcements.contains { if case .expiring = $0 { true } else { false } } == false)
  }

  /// The second callback of a `login` replaces the first one's token. The link is made.
  @Test func aTokenThatCognitoRefusesIsReplacedWithoutTheLogins() {
    var session = SessionDriver()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.token())
    session.finish(fixtures.refusedToken)
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity, forced: true))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
  }

  /// Earlier versions sent them for ever, and may have stored them.
  @Test(
    arguments: [
      (.permanentConfiguration, .backendRejected), (.retryWithoutIdentity, .identityConflict),
      (.newTokenOnce, .tokenRejected),
    ] as [(FailureClass, ProtocolErrorCode)])
  func aStoredLoginThatIsRefusedIsDropped(_ refusal: FailureClass, _ code: ProtocolErrorCode) {
    var session = withStoredLogin()
    let get = session.ask()
    let stored = fixtures.callback(fixtures.identity, logins: facebook, session: nil)
    expect(session.calls, equals: [stored])
    session.finish(fixtures.failed(refusal, code))
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
    expect(session.machine.logins.isEmpty)
  }

  @Test func aStoredLoginStaysDuringAnOutage() {
    var session = withStoredLogin()
    session.ask()
    session.finish(fixtures.unavailable)
    expect(session.machine.logins, equals: facebook)
    expect(session.machine.state, equals: .signedIn(.host))
  }

  private func withStoredLogin() -> SessionDriver {
    var held = Held()
    held.state = .signedIn(.host)
    held.identityID = fixtures.identity
    held.logins = facebook
    let driver = SessionDriver()
    let snapshot = SessionSnapshot(held: held, lastAsked: driver.now)
    return SessionDriver(
      machine: SessionMachine(
        plan: driver.machine.plan, snapshot: snapshot, now: driver.now, jitter: 0))
  }

  @Test func aRefusedLinkChangesNothing() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(.permanentConfiguration, .backendRejected))
    expect(session.answer(to: login), equals: .refused(.backendRejected))
    expect(session.machine.logins.isEmpty)
    expect(session.machine.token != nil)
    expect(session.announcements, equals: [])
    // It is no failure of the session itself.
    expect(session.machine.failures, equals: 0)
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func withoutAPasswordLoginsSignInByThemselves() {
    var session = SessionDriver(.password)
    session.login(fixtures.logins(Fixtures.facebook))
    expect(session.calls, equals: [.getID(logins: facebook)])
  }
}

/// Tokens that users brought run out; watchers hear of it before.
struct LoginExpiryTests {
  let fixtures = Fixtures()

  private func warnings(_ session: SessionDriver) -> [String] {
    session.announcements.compactMap {
      if case .expiring(let error) = $0 { error.message } else { nil }
    }
  }

  private func social(_ ends: [String: Double]) -> SessionDriver {
    var session = SessionDriver(.none)
    session.login(.logins(fixtures.map(ends.keys.sorted())), loginsExpire: ends)
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(12 * 3600), after: 0)
    return session
  }

  @Test func oneWarningComesFiveMinutesBeforeTheEnd() {
    var session = social([Fixtures.google: 3600])
    session.advance(by: 3299)
    expect(warnings(session), equals: [])
    session.advance(by: 1)
    let expected = "the token of accounts.google.com runs out in 300 s; sign in with a new one"
    expect(warnings(session), equals: [expected])
    session.advance(by: 3600)
    expect(warnings(session), equals: [expected])
  }

  @Test func eachProviderHasItsOwnWarning() {
    var session = social([Fixtures.google: 3600, Fixtures.facebook: 7200])
    session.advance(by: 7000)
    expect(warnings(session).count, equals: 2)
  }

  @Test func aLaterLoginDoesNotHideTheWarningOfAnEarlierOne() {
    var session = social([Fixtures.google: 3600])
    session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.credentials(12 * 3600))
    session.advance(by: 3400)
    expect(warnings(session).count, equals: 1)
  }

  @Test func aNewTokenPostponesTheWarning() {
    var session = social([Fixtures.google: 3600])
    session.advance(by: 3000)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 3600])
    session.finish(fixtures.credentials(12 * 3600))
    session.advance(by: 3200)
    expect(warnings(session), equals: [])
    session.advance(by: 200)
    expect(warnings(session).count, equals: 1)
  }

  @Test func aLoginThatEndsSoonIsWarnedOfWhenItIsAccepted() {
    var session = SessionDriver(.none)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 60])
    expect(warnings(session), equals: [])
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    expect(
      warnings(session),
      equals: [
        "the token of accounts.google.com runs out in 60 s; sign in with a new one"
      ])
  }

  @Test func aRefusedLoginCausesNoWarning() {
    var session = SessionDriver(.none)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 600])
    session.finish(fixtures.refusedToken)
    session.advance(by: 600)
    expect(warnings(session), equals: [])
    expect(session.machine.nextWake, equals: .distantFuture)
  }

  @Test func aForgottenLoginCausesNoWarning() {
    for event in [SessionMachine.Event.loggedOut, .cleared(.identity)] {
      var session = social([Fixtures.google: 600])
      session.send(event)
      session.advance(by: 600)
      expect(warnings(session), equals: [])
    }
  }

  @Test func aDeveloperTokenIsWarnedOfUnlessABackendGivesTheNext() {
    var alone = SessionDriver(.none)
    alone.login(fixtures.clientToken(), expires: 900)
    alone.finish(fixtures.credentials())
    alone.advance(by: 600)
    expect(warnings(alone).count, equals: 1)
    var backed = SessionDriver(.host)
    backed.login(fixtures.clientToken(), expires: 900)
    backed.finish(fixtures.credentials())
    backed.advance(by: 900)
    expect(warnings(backed), equals: [])
  }

  @Test func anExpiredLoginIsLeftOutBesideValidOnes() {
    var session = social([Fixtures.google: 600, Fixtures.facebook: 7200])
    session.advance(by: 700)
    session.ask(refresh: true)
    expect(session.calls.last, equals: fixtures.exchange(fixtures.map([Fixtures.facebook])))
  }

  @Test func theLastLoginIsSentEvenIfItHasExpired() {
    var session = social([Fixtures.google: 600])
    session.advance(by: 700)
    session.ask(refresh: true)
    expect(session.calls.last, equals: fixtures.exchange(fixtures.map([Fixtures.google])))
    session.finish(fixtures.refusedToken)
    expect(session.machine.state, equals: .tokensInvalid(.logins))
  }
}
