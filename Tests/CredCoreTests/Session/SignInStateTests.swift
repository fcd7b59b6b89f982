import CredCore
import TestSupport
import Testing

/// signedOut, signedIn, tokensInvalid, guest: what leads where, and what a `get` does there.
struct SignInStateTests {
  let fixtures = Fixtures()

  /// Signed in, then refused by the backend while the credentials are good.
  private func refused() -> SessionDriver {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1000)
    session.ask(refresh: true, wait: .zero)
    session.finish(fixtures.token(), after: 0)
    session.finish(fixtures.failed(.signInRequired, .signInRequired), after: 0)
    session.forget()
    return session
  }

  @Test func aBackendThatRefusesMakesTheTokensInvalid() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1000)
    let waiter = session.ask(refresh: true, wait: .seconds(20))
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.machine.state, equals: .tokensInvalid(.host))
    expect(session.announcements.first, equals: .state(.tokensInvalid(.host)))
    // A sign-in may come while the caller waits.
    expect(session.answer(to: waiter) == nil)
    session.advance(by: 20)
    expect(session.answer(to: waiter), equals: .refused(.signInRequired))
    // The failure's own words say that.
    expect(session.refusal(of: waiter)?.message, equals: "it failed")
  }

  @Test func validCredentialsAreServedWithInvalidTokens() {
    var session = refused()
    let waiter = session.ask()
    expect(session.answer(to: waiter), equals: .credentials)
  }

  @Test func aBackendThatTrustsTheHostIsAskedAgainForANewCaller() {
    var session = SessionDriver()
    session.ask(wait: .zero)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.machine.state, equals: .tokensInvalid(.host))
    session.advance(by: 3600)
    expect(session.calls.count, equals: 1)
    let waiter = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.machine.state, equals: .signedIn(.host))
    expect(session.announcements.contains(.state(.signedIn(.host))))
  }

  @Test func aBackendThatAcceptsAgainServesTheWaiters() {
    var session = SessionDriver()
    session.ask(wait: .zero)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    let patient = session.ask(wait: .seconds(60))
    expect(session.calls.count, equals: 1)
    session.advance(by: 6)
    session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: patient), equals: .credentials)
  }

  @Test func invalidTokensInUseAreTriedAgainAfterThePause() {
    var session = refused()
    session.useCache()
    session.advance(by: 1)
    let calls = session.calls.count
    session.advance(by: 300)
    expect(session.calls.count, equals: calls + 1)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.state, equals: .signedIn(.host))
  }

  @Test func aCallerThatWaitsLongerThanThePauseCausesNoBusyLoop() {
    var session = SessionDriver()
    session.ask(wait: .zero)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    session.advance(by: 3)
    let waiter = session.ask(wait: .seconds(300))
    session.advance(by: 297)
    expect(session.calls.count, equals: 2)
    session.finish(fixtures.failed(.signInRequired, .signInRequired), after: 0)
    session.advance(by: 3)
    expect(session.answer(to: waiter), equals: .refused(.signInRequired))
    expect(session.calls.count, equals: 2)
  }

  // MARK: Signed out

  @Test func aGetWaitsForALoginIfAPasswordIsNeeded() {
    var session = SessionDriver(.password)
    let waiter = session.ask(wait: .seconds(5))
    let hasty = session.ask(wait: .zero)
    expect(session.answer(to: hasty), equals: .refused(.signInRequired))
    expect(session.calls, equals: [])
    expect(session.wakesIn, equals: .seconds(5))
    session.advance(by: 5)
    expect(session.answer(to: waiter), equals: .refused(.signInRequired))
    expect(session.refusal(of: waiter)?.message, equals: "nobody is signed in")
    expect(session.machine.nextWake, equals: .distantFuture)
  }

  @Test(arguments: [SessionPlan.BackendTrust.none, .password])
  func aForcedRefreshDoesNotReplaceALogin(_ backend: SessionPlan.BackendTrust) {
    var session = SessionDriver(backend)
    let waiter = session.ask(minimumLife: .seconds(60), refresh: true, wait: .seconds(60))
    expect(session.wakesIn, equals: .seconds(60))
    session.advance(by: 60)
    expect(session.answer(to: waiter), equals: .refused(.signInRequired))
  }

  // MARK: Guests

  @Test func aGuestMakesGetIdOnce() {
    var session = SessionDriver(.none, guests: true)
    let waiter = session.ask()
    expect(session.calls, equals: [.getID(logins: LoginsMap())])
    session.finish(.identity(fixtures.identity))
    expect(session.calls.last, equals: fixtures.guestExchange())
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.machine.state, equals: .guest)
    session.advance(by: 4 * 3600)
    session.ask()
    expect(session.calls.count, equals: 3)
    expect(session.calls.last, equals: fixtures.guestExchange())
  }

  @Test func aGuestsMissingIdentityIsReplacedOnce() {
    var session = SessionDriver(.password, guests: true, identityID: Fixtures().identity)
    let waiter = session.ask()
    session.finish(fixtures.failed(.newIdentity, .poolMisconfigured))
    expect(session.calls.last, equals: .getID(logins: LoginsMap()))
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.failed(.newIdentity, .poolMisconfigured))
    expect(session.answer(to: waiter), equals: .refused(.poolMisconfigured))
    expect(session.calls.count, equals: 3)
  }

  @Test func aGuestHasNoTokenAndCausesNoCallForOne() {
    var session = SessionDriver(.none, guests: true)
    let waiter = session.ask(.token, minimumLife: .seconds(60), wait: .seconds(60))
    expect(session.calls, equals: [])
    session.advance(by: 60)
    expect(session.answer(to: waiter), equals: .refused(.signInRequired))
    expect(session.calls, equals: [])
  }

  @Test func aLoginIsNeverAnsweredWithSignInRequired() {
    var session = SessionDriver(.host)
    let login = session.login(.host)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    session.ask(wait: .zero)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.machine.state, equals: .tokensInvalid(.host))
  }

  @Test func aBareLoginEndsALogout() {
    var session = SessionDriver(.host)
    session.send(.loggedOut)
    let waiter = session.ask(wait: .seconds(60))
    expect(session.calls, equals: [])
    let login = session.login(.host)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.answer(to: login) != nil)
    expect(session.machine.state, equals: .signedIn(.host))
  }

  @Test func aBackendThatTrustsTheHostNeedsNoGuest() {
    var session = SessionDriver(.host, guests: true)
    session.ask()
    expect(session.calls, equals: [fixtures.callback()])
  }
}
