import CredCore
import Testing

/// Logins beside a backend: it is told of them, links them, and says which identity results.
@Suite struct SignInLinkTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  @Test func theCallbackCarriesThemAndTheIdentityThatResultsIsAdopted() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    #expect(
      session.calls == [fixtures.callback(fixtures.identity, logins: facebook, session: nil)])
    session.finish(fixtures.token(of: fixtures.other))
    #expect(session.calls.last == fixtures.exchange(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.answer(to: login) == .state)
    #expect(session.machine.state == .signedIn(.host))
    #expect(
      session.announcements == [
        fixtures.changed(fixtures.identity, fixtures.other), fixtures.refreshed,
      ])
  }

  @Test func aPasswordsSessionCarriesThemToo() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.login(fixtures.logins(Fixtures.facebook))
    let alice = fixtures.session("alice")
    #expect(
      session.calls.last == fixtures.callback(fixtures.identity, logins: facebook, session: alice))
  }

  @Test func aColdSessionSignsInWithThem() {
    var session = SessionDriver()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    #expect(session.calls == [fixtures.callback(logins: facebook, session: nil)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(session.states == ["signedIn"])
  }

  @Test func aGuestOfAProfileWithABackendIsLinked() {
    var session = SessionDriver(.host, guests: true)
    session.send(.loggedOut)
    session.beGuest()
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.facebook))
    #expect(
      session.calls == [fixtures.callback(fixtures.identity, logins: facebook, session: nil)])
  }

  @Test func whatIsValidStaysUntilTheBackendHasAnswered() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    let before = session.ask()
    #expect(session.answer(to: before) == .credentials)
    session.finish(fixtures.away)
    // The user is signed in as before; the link is tried again.
    #expect(session.answer(to: login) == .state)
    let after = session.ask()
    #expect(session.answer(to: after) == .credentials)
    #expect(session.machine.logins == facebook)
  }

  @Test func aRefusedLinkChangesNothing() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(.permanentConfiguration, .backendRejected))
    #expect(session.answer(to: login) == .refused(.backendRejected))
    #expect(session.machine.logins.isEmpty)
    #expect(session.machine.token != nil)
    #expect(session.announcements == [])
    // It is no failure of the session itself.
    #expect(session.machine.failures == 0)
    let get = session.ask()
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aLinkedLoginThatIsOverIsNotSentAnyMore() {
    var session = SessionDriver()
    session.signIn(lifetime: 7200)
    session.login(
      fixtures.logins(Fixtures.facebook), loginsExpire: [Fixtures.facebook: 600])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials(7200))
    session.advance(by: 1000)
    session.ask(refresh: true)
    #expect(session.calls.last == fixtures.callback(fixtures.identity))
  }

  @Test func withNobodySignedInAtAPasswordsBackendTheySpeakForThemselves() {
    var session = SessionDriver(.password)
    session.login(fixtures.logins(Fixtures.facebook))
    #expect(session.calls == [.getID(logins: facebook)])
  }
}
