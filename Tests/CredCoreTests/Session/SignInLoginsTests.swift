import CredCore
import Testing

/// Logins of social, OIDC and SAML providers that speak for themselves.
@Suite struct SignInLoginsTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  @Test func theyTakeGetIdAndAnExchange() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.logins(Fixtures.facebook))
    #expect(session.calls == [.getID(logins: facebook)])
    session.finish(.identity(fixtures.identity))
    #expect(session.calls.last == fixtures.exchange(facebook))
    #expect(session.announcements == [])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(
      session.announcements == [
        fixtures.changed(nil, fixtures.identity), .state(.signedIn(.logins)), fixtures.refreshed,
      ])
  }

  @Test func laterRefreshesKnowTheIdentity() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    #expect(session.calls == [fixtures.exchange(facebook)])
  }

  @Test func aSecondProviderJoinsTheFirst() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.google))
    let both = fixtures.map([Fixtures.facebook, Fixtures.google])
    #expect(session.calls == [fixtures.exchange(both)])
    #expect(session.machine.credentials == nil)
  }

  @Test func aProvidersNewTokenReplacesItsOldOne() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook, Fixtures.google))
    session.signIn(fixtures.logins(Fixtures.facebook, token: "new"))
    #expect(session.machine.logins.logins.count == 2)
    #expect(session.machine.logins[Fixtures.facebook] == Secret("graph.facebook.com's new"))
    #expect(session.machine.logins[Fixtures.google] == Secret("accounts.google.com's token"))
  }

  @Test func beyondTenTheNewOnesCount() {
    var session = SessionDriver(.none)
    let nine = (1...9).map { "p\($0).example" }
    session.signIn(.logins(fixtures.map(nine)))
    session.signIn(fixtures.logins(Fixtures.facebook))
    #expect(session.machine.logins.logins.count == 10)
    session.signIn(fixtures.logins(Fixtures.google, "p9.example", token: "new"))
    #expect(
      session.machine.logins == fixtures.map([Fixtures.google, "p9.example"], token: "new"))
  }

  @Test func aRefusedOneLeavesTheOthersAlone() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.forgetAll()
    let login = session.login(fixtures.logins(Fixtures.google, token: "bad"))
    session.finish(fixtures.refusedToken)
    #expect(session.answer(to: login) == .refused(.tokenRejected))
    #expect(session.machine.logins == facebook)
    #expect(session.machine.state == .signedIn(.logins))
    #expect(session.announcements == [])
    let get = session.ask()
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func afterARefusalInBetweenOnlyTheNewOnesCount() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.advance(by: 60)
    let get = session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.refusedToken)
    #expect(session.machine.state == .tokensInvalid(.logins))
    #expect(session.machine.logins.isEmpty)
    session.forgetAll()
    // With Facebook's token, which was refused, no login could ever succeed.
    session.login(fixtures.logins(Fixtures.google))
    #expect(session.calls == [fixtures.exchange(fixtures.map([Fixtures.google]))])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
    #expect(session.states == ["signedIn"])
  }

  @Test func theRoleOfTheLoginIsAskedForEachTime() {
    var session = SessionDriver(.none)
    session.login(fixtures.logins("saml"), role: Fixtures.role)
    session.finish(.identity(fixtures.identity))
    let asked = fixtures.exchange(fixtures.map(["saml"]), role: Fixtures.role)
    #expect(session.calls.last == asked)
    session.finish(fixtures.credentials())
    session.advance(by: 60)
    session.ask(refresh: true)
    #expect(session.calls.last == asked)
    session.finish(fixtures.credentials())
    session.signIn(fixtures.logins("saml"))
    #expect(session.calls.last == fixtures.exchange(fixtures.map(["saml"])))
  }

  @Test func aRefusedLoginLeavesTheRoleAlone() {
    var session = SessionDriver(.password)
    session.login(fixtures.logins("saml"), role: Fixtures.role)
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.login(fixtures.password("alice"))
    session.finish(fixtures.refusedPassword)
    session.advance(by: 60)
    session.ask(refresh: true)
    #expect(
      session.calls.last == fixtures.exchange(fixtures.map(["saml"]), role: Fixtures.role))
  }

  @Test func theyAreForgottenOnLogout() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.send(.loggedOut)
    #expect(session.machine.logins.isEmpty)
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.google))
    #expect(session.calls == [.getID(logins: fixtures.map([Fixtures.google]))])
  }

  @Test func thereIsNoTokenToGive() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    let token = session.ask(.token)
    session.advance(by: 5)
    #expect(session.answer(to: token) == .refused(.signInRequired))
    #expect(session.refusal(of: token)?.message == "this sign-in has no developer token")
  }
}
