import CredCore
import Testing

/// The basic flow: a token goes to STS.
@Suite struct SignInFlowTests {
  let fixtures = Fixtures()

  private func basic(
    _ backend: SessionPlan.BackendTrust = .none, guests: Bool = false
  ) -> SessionDriver {
    SessionDriver(plan: SessionPlan(backend: backend, flow: .basic, allowsGuests: guests))
  }

  @Test func aDeveloperTokenGoesToStsStraightAway() {
    var session = basic(.host)
    let get = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.calls == [fixtures.callback(), fixtures.assumeRole()])
    #expect(session.answer(to: get) == .credentials)
    session.advance(by: 60)
    session.ask(refresh: true)
    #expect(session.calls.last == fixtures.assumeRole())
  }

  @Test func soDoesOneAtHand() {
    var session = basic()
    session.login(fixtures.tokenAtHand())
    #expect(session.calls == [fixtures.assumeRole()])
  }

  @Test func aTokenThatStsRefusesIsFetchedAnewOnce() {
    var session = basic(.host)
    let get = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.refusedToken)
    session.finish(fixtures.token())
    session.finish(fixtures.refusedToken)
    #expect(session.calls.count == 4)
    #expect(session.answer(to: get) == .refused(.tokenRejected))
    #expect(session.openCalls.isEmpty)
  }

  @Test func guestsTakeThreeSteps() {
    var session = basic(guests: true)
    let get = session.ask()
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    let none = LoginsMap()
    #expect(
      session.calls == [
        .getID(logins: none), .getOpenIDToken(identityID: fixtures.identity, logins: none),
        fixtures.assumeRole(),
      ])
    #expect(session.answer(to: get) == .credentials)
    #expect(session.machine.state == .guest)
    // That token is STS's alone, and is not kept.
    #expect(session.machine.token == nil)
    session.advance(by: 60)
    session.ask(refresh: true)
    #expect(session.calls.last == .getOpenIDToken(identityID: fixtures.identity, logins: none))
  }

  @Test func soDoSocialLogins() {
    var session = basic()
    let login = session.login(fixtures.logins(Fixtures.google))
    let google = fixtures.map([Fixtures.google])
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(nil))
    session.finish(fixtures.credentials())
    #expect(
      session.calls == [
        .getID(logins: google), .getOpenIDToken(identityID: fixtures.identity, logins: google),
        fixtures.assumeRole(),
      ])
    #expect(session.answer(to: login) == .state)
    #expect(session.states == ["signedIn"])
  }

  @Test func theIdentityOfTheOpenIdTokenIsAdopted() {
    var session = basic(guests: true)
    session.ask()
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600, of: fixtures.other))
    #expect(session.calls.last == fixtures.assumeRole(fixtures.other))
  }

  @Test func anOpenIdTokenThatStsRefusesIsFetchedAnewOnceAndNobodyIsSignedOut() {
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
    #expect(session.calls.count == 4)
    #expect(session.answer(to: get) == .refused(.tokenRejected))
    // Cognito took the login: what STS has against its token is for the operator to mend.
    #expect(session.machine.state == .signedIn(.logins))
    session.advance(by: 5)
    let next = session.ask(refresh: true)
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    #expect(session.answer(to: next) == .credentials)
  }

  @Test func aLoginThatCognitoRefusesThereNeedsANewOne() {
    var session = basic()
    session.login(fixtures.logins(Fixtures.google))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.token(600))
    session.finish(fixtures.credentials())
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(fixtures.refusedToken)
    #expect(session.machine.state == .tokensInvalid(.logins))
  }
}
