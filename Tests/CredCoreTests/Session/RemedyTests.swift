import TestSupport
import Testing

@testable import CredCore

/// What Cognito's errors ask for, each exactly once in an attempt.
struct RemedyTests {
  let fixtures = Fixtures()

  /// In the middle of a refresh that exchanges a held token.
  private func exchanging() -> SessionDriver {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    session.askForAWholeHour()
    session.forget()
    return session
  }

  @Test func aRefusedTokenIsFetchedAnewOnce() {
    var session = exchanging()
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    expect(
      session.calls,
      equals: [fixtures.exchange(), fixtures.callback(fixtures.identity, forced: true)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.calls.count, equals: 3)
    expect(session.answer(to: 2), equals: .credentials)
    expect(session.machine.failures, equals: 0)
  }

  @Test func aNewTokenThatIsRefusedTooEndsTheRefresh() {
    var session = exchanging()
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    session.finish(fixtures.token())
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    expect(session.calls.count, equals: 3)
    expect(session.answer(to: 2), equals: .refused(.tokenRejected))
    expect(session.machine.state, equals: .signedIn(.host))
    expect(session.machine.credentials != nil)
    // The next attempt does not begin with the token that was refused.
    expect(session.machine.token == nil)
    session.advance(by: 5)
    session.ask(refresh: true)
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity, forced: true))
  }

  @Test func aForbiddenIdentityIsDroppedOnce() {
    var session = exchanging()
    session.finish(fixtures.failed(.dropIdentityThenNewToken, .tokenRejected))
    expect(session.calls.last, equals: fixtures.callback(forced: true))
    session.finish(fixtures.token(of: fixtures.other))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.other))
    session.finish(fixtures.failed(.dropIdentityThenNewToken, .tokenRejected))
    expect(session.calls.count, equals: 3)
    expect(session.answer(to: 2), equals: .refused(.tokenRejected))
    expect(
      session.announcements.first,
      equals: .identityChanged(previous: fixtures.identity, current: fixtures.other))
  }

  @Test func aMissingIdentityIsReplacedOnce() {
    var session = exchanging()
    session.finish(fixtures.failed(.newIdentity, .poolMisconfigured))
    expect(session.calls.last, equals: fixtures.callback(forced: true))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.failed(.newIdentity, .poolMisconfigured))
    expect(session.calls.count, equals: 3)
    expect(session.answer(to: 2), equals: .refused(.poolMisconfigured))
  }

  @Test func aBackendIsAskedOnceMoreWithoutTheIdentity() {
    var session = SessionDriver(identityID: Fixtures().identity)
    let waiter = session.ask()
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    expect(session.calls.last, equals: fixtures.callback(nil))
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    expect(session.calls.count, equals: 2)
    expect(session.answer(to: waiter), equals: .refused(.identityConflict))
    expect(session.machine.identityID, equals: fixtures.identity)
  }

  /// The identity was deleted: Cognito refuses the backend's request, and the backend credd's.
  @Test func aRequestThatABackendFindsWrongIsSentOnceMoreWithoutTheIdentity() throws {
    let wrong = UpstreamFailure.backend(
      HTTPReply(status: 400, body: Secret("")), from: .backend("corp"), said: nil)
    var session = SessionDriver(identityID: Fixtures().identity)
    let waiter = session.ask()
    session.finish(.failed(wrong))
    expect(session.calls.last, equals: fixtures.callback(nil))
    session.finish(.failed(wrong))
    expect(session.calls.count, equals: 2)
    expect(session.answer(to: waiter), equals: .refused(.backendRejected))
    expect(session.machine.identityID, equals: fixtures.identity)
    // Without an identity there is nothing else to ask.
    var new = SessionDriver()
    new.ask()
    new.finish(.failed(wrong))
    expect(new.calls.count, equals: 1)
  }

  @Test func differentRemediesMayFollowButNoneTwice() {
    var session = exchanging()
    let all: [FailureClass] = [
      .newTokenOnce, .dropIdentityThenNewToken, .retryWithoutIdentity, .newIdentity,
    ]
    // Whatever fails, and however often, an attempt comes to an end.
    for round in 0..<20 {
      session.finish(fixtures.failed(all[round % 4], .tokenRejected))
    }
    expect(session.calls.count, equals: 5)
    expect(session.answer(to: 2), equals: .refused(.tokenRejected))
    expect(session.openCalls.isEmpty)
  }

  @Test func eachRefreshHasAllRemedies() {
    var session = exchanging()
    for _ in 0..<3 {
      session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
      session.finish(fixtures.token())
    }
    expect(session.machine.failures, equals: 1)
    session.advance(by: 5)
    session.ask(refresh: true)
    let before = session.calls.count
    session.finish(fixtures.token())
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.calls.count, equals: before + 3)
    expect(session.machine.failures, equals: 0)
  }

  // MARK: Identities

  @Test func theBackendsIdentityReplacesTheHeldOne() {
    var session = SessionDriver(identityID: Fixtures().identity)
    session.ask()
    session.finish(fixtures.token(of: fixtures.other))
    expect(session.machine.identityID, equals: fixtures.other)
    expect(session.calls.last, equals: fixtures.exchange(fixtures.other))
    expect(
      session.announcements.first,
      equals: .identityChanged(previous: fixtures.identity, current: fixtures.other))
  }

  @Test func cognitosIdentityReplacesTheHeldOne() {
    var session = SessionDriver()
    session.ask()
    session.finish(fixtures.token())
    session.forget()
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.machine.identityID, equals: fixtures.other)
    expect(
      session.announcements,
      equals: [
        .identityChanged(previous: fixtures.identity, current: fixtures.other),
        .refreshed(expiration: WallTime(milliseconds: 0)),
      ])
  }

  @Test func anUnchangedIdentityIsNotAnnounced() {
    var session = exchanging()
    session.finish(fixtures.credentials())
    expect(session.announcements, equals: [.refreshed(expiration: WallTime(milliseconds: 0))])
  }

  @Test func theFirstSignInIsAnnouncedOnce() {
    var session = SessionDriver()
    session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(
      session.announcements,
      equals: [
        .identityChanged(previous: nil, current: fixtures.identity), .state(.signedIn(.host)),
        .refreshed(expiration: WallTime(milliseconds: 0)),
      ])
  }
}

/// Cognito's corrections where no backend is asked: each at most once, never a loop.
struct SignInRemedyTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  /// Signed in, in the middle of a refresh.
  private func refreshing(_ signIn: SignInInput) -> SessionDriver {
    var session = SessionDriver(.none)
    session.signIn(signIn)
    session.advance(by: 60)
    session.forgetAll()
    session.ask(refresh: true, wait: .seconds(60))
    return session
  }

  @Test(arguments: [FailureClass.newIdentity, .dropIdentityThenNewToken, .conflict])
  func loginsGetANewIdentityOnce(_ failureClass: FailureClass) {
    var session = refreshing(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(failureClass, .tokenRejected))
    expect(session.calls.last, equals: .getID(logins: facebook))
    session.finish(.identity(fixtures.other))
    expect(session.calls.last, equals: fixtures.exchange(facebook, of: fixtures.other))
    session.finish(fixtures.failed(failureClass, .tokenRejected))
    expect(session.openCalls.isEmpty)
    expect(session.calls.count, equals: 3)
    expect(session.machine.state, equals: .signedIn(.logins))
  }

  @Test func loginsThatDoNotMatchTheHeldIdentityFindTheirOwn() {
    var session = refreshing(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(.conflict, .poolMisconfigured))
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  @Test(arguments: [FailureClass.newIdentity, .dropIdentityThenNewToken])
  func aClientsTokenHasNoOtherIdentity(_ failureClass: FailureClass) {
    var session = refreshing(fixtures.clientToken())
    session.finish(fixtures.failed(failureClass, .tokenRejected))
    expect(session.openCalls.isEmpty)
    expect(session.calls.count, equals: 1)
    expect(session.machine.identityID, equals: fixtures.identity)
  }

  @Test func aPasswordSessionHasTheRemediesOfTheHost() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.advance(by: 60)
    session.forgetAll()
    let get = session.askForAWholeHour()
    session.finish(fixtures.failed(.dropIdentityThenNewToken, .tokenRejected))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.refusedToken)
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    let alice = fixtures.session("alice")
    expect(
      session.calls,
      equals: [
        fixtures.exchange(), fixtures.callback(session: alice, forced: true),
        fixtures.exchange(fixtures.other),
        fixtures.callback(fixtures.other, session: alice, forced: true),
        fixtures.exchange(fixtures.other),
      ])
    expect(session.answer(to: get), equals: .credentials)
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  /// Whatever fails, and however often, a sign-in comes to an end with one answer.
  @Test(
    arguments: [SessionPlan.BackendTrust.none, .host, .password],
    [PoolPlan.Flow.enhanced, .basic]
  )
  func aSignInEndsWithEveryFailure(
    _ backend: SessionPlan.BackendTrust, _ flow: PoolPlan.Flow
  ) {
    let signIns = [
      fixtures.clientToken(), fixtures.logins(Fixtures.facebook), fixtures.password("alice"),
    ]
    for signIn in signIns {
      for failureClass in SessionWalk.failures {
        var session = SessionDriver(plan: SessionPlan(backend: backend, flow: flow))
        let login = session.login(signIn)
        for _ in 0..<20 where !session.openCalls.isEmpty {
          session.finish(fixtures.failed(failureClass, .tokenRejected), after: 0)
        }
        expect(session.openCalls.isEmpty)
        expect(session.answer(to: login) != nil)
        expect(session.calls.count <= 4)
        // Nothing is permanent: a good sign-in heals it.
        session.forget()
        let again = session.login(fixtures.clientToken())
        session.finish(fixtures.credentials())
        expect(session.answer(to: again), equals: .state)
      }
    }
  }
}

/// The basic flow: a token goes to STS.
struct BasicFlowTests {
  let fixtures = Fixtures()

  private func basic(
    _ backend: SessionPlan.BackendTrust = .none, guests: Bool = false
  ) -> SessionDriver {
    SessionDriver(plan: SessionPlan(backend: backend, flow: .basic, allowsGuests: guests))
  }

  @Test func aDeveloperTokenGoesToStsAtOnce() {
    var session = basic(.host)
    let get = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.calls, equals: [fixtures.callback(), fixtures.assumeRole()])
    expect(session.answer(to: get), equals: .credentials)
    session.advance(by: 60)
    session.askForAWholeHour()
    expect(session.calls.last, equals: fixtures.assumeRole())
  }

  @Test func aClientsDeveloperTokenGoesToStsAtOnce() {
    var session = basic()
    session.login(fixtures.clientToken())
    expect(session.calls, equals: [fixtures.assumeRole()])
  }

  @Test func aTokenThatStsRefusesIsFetchedAnewOnce() {
    var session = basic(.host)
    let get = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.refusedToken)
    session.finish(fixtures.token())
    session.finish(fixtures.refusedToken)
    expect(session.calls.count, equals: 4)
    expect(session.answer(to: get), equals: .refused(.tokenRejected))
    expect(session.openCalls.isEmpty)
  }

  @Test func guestsTakeThreeCalls() {
    var session = basic(guests: true)
    let get = session.ask()
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    let none = LoginsMap()
    expect(
      session.calls,
      equals: [
        .getID(logins: none), .getOpenIDToken(identityID: fixtures.identity, logins: none),
        fixtures.assumeRole(),
      ])
    expect(session.answer(to: get), equals: .credentials)
    expect(session.machine.state, equals: .guest)
    // That token is STS's alone, and is not kept.
    expect(session.machine.token == nil)
    session.advance(by: 60)
    session.ask(refresh: true)
    expect(session.calls.last, equals: .getOpenIDToken(identityID: fixtures.identity, logins: none))
  }

  @Test func loginsTakeThreeCalls() {
    var session = basic()
    let login = session.login(fixtures.logins(Fixtures.google))
    let google = fixtures.map([Fixtures.google])
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(nil))
    session.finish(fixtures.credentials())
    expect(
      session.calls,
      equals: [
        .getID(logins: google), .getOpenIDToken(identityID: fixtures.identity, logins: google),
        fixtures.assumeRole(),
      ])
    expect(session.answer(to: login), equals: .state)
    expect(session.states, equals: ["signedIn"])
  }

  @Test func theIdentityOfTheOpenIdTokenReplacesTheHeldOne() {
    var session = basic(guests: true)
    session.ask()
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600, of: fixtures.other))
    expect(session.calls.last, equals: fixtures.assumeRole(fixtures.other))
  }

  @Test func anOpenIdTokenThatStsRefusesIsFetchedAnewOnceAndSignsNoUserOut() {
    var session = basic()
    session.login(fixtures.logins(Fixtures.google))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    session.advance(by: 60)
    session.forgetAll()
    let get = session.ask(refresh: true)
    for _ in 0..<2 {
      session.finish(fixtures.token(600))
      session.finish(fixtures.refusedToken)
    }
    expect(session.calls.count, equals: 4)
    expect(session.answer(to: get), equals: .refused(.tokenRejected))
    // Cognito took the login: what STS has against its token is for the operator to mend.
    expect(session.machine.state, equals: .signedIn(.logins))
    session.advance(by: 5)
    let next = session.ask(refresh: true)
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    expect(session.answer(to: next), equals: .credentials)
  }

  @Test func aLoginThatGetOpenIdTokenRefusesNeedsANewLogin() {
    var session = basic()
    session.login(fixtures.logins(Fixtures.google))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(fixtures.refusedToken)
    expect(session.machine.state, equals: .tokensInvalid(.logins))
  }
}
