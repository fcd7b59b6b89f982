import CredCore
import Testing

/// Tokens that users brought run out; watchers hear of it before.
@Suite struct SignInExpiryTests {
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

  @Test func fiveMinutesBeforeItIsSaidOnce() {
    var session = social([Fixtures.google: 3600])
    session.advance(by: 3299)
    #expect(warnings(session) == [])
    session.advance(by: 1)
    let expected = "the token of accounts.google.com runs out in 300 s; sign in with a new one"
    #expect(warnings(session) == [expected])
    session.advance(by: 3600)
    #expect(warnings(session) == [expected])
  }

  @Test func eachProviderHasItsOwnEnd() {
    var session = social([Fixtures.google: 3600, Fixtures.facebook: 7200])
    session.advance(by: 7000)
    #expect(warnings(session).count == 2)
  }

  @Test func laterLoginsDoNotHideAnEarlierOnesEnd() {
    var session = social([Fixtures.google: 3600])
    session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.credentials(12 * 3600))
    session.advance(by: 3400)
    #expect(warnings(session).count == 1)
  }

  @Test func aNewTokenPutsItOff() {
    var session = social([Fixtures.google: 3600])
    session.advance(by: 3000)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 3600])
    session.finish(fixtures.credentials(12 * 3600))
    session.advance(by: 3200)
    #expect(warnings(session) == [])
    session.advance(by: 200)
    #expect(warnings(session).count == 1)
  }

  @Test func oneThatEndsSoonIsNamedWhenItIsAccepted() {
    var session = SessionDriver(.none)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 60])
    #expect(warnings(session) == [])
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    #expect(
      warnings(session) == [
        "the token of accounts.google.com runs out in 60 s; sign in with a new one"
      ])
  }

  @Test func aRefusedOneIsNotWorthAWarning() {
    var session = SessionDriver(.none)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 600])
    session.finish(fixtures.refusedToken)
    session.advance(by: 600)
    #expect(warnings(session) == [])
    #expect(session.machine.nextWake == .distantFuture)
  }

  @Test func whatIsForgottenIsNotEither() {
    for event in [SessionMachine.Event.loggedOut, .cleared(.identity)] {
      var session = social([Fixtures.google: 600])
      session.send(event)
      session.advance(by: 600)
      #expect(warnings(session) == [])
    }
  }

  @Test func aDeveloperTokenIsWarnedOfWhereNobodyHasTheNext() {
    var alone = SessionDriver(.none)
    alone.login(fixtures.tokenAtHand(), expires: 900)
    alone.finish(fixtures.credentials())
    alone.advance(by: 600)
    #expect(warnings(alone).count == 1)
    var backed = SessionDriver(.host)
    backed.login(fixtures.tokenAtHand(), expires: 900)
    backed.finish(fixtures.credentials())
    backed.advance(by: 900)
    #expect(warnings(backed) == [])
  }

  @Test func ofSeveralLoginsTheOneThatIsOverIsLeftOut() {
    var session = social([Fixtures.google: 600, Fixtures.facebook: 7200])
    session.advance(by: 700)
    session.ask(refresh: true)
    #expect(session.calls.last == fixtures.exchange(fixtures.map([Fixtures.facebook])))
  }

  @Test func theLastOneIsCognitosToRefuse() {
    var session = social([Fixtures.google: 600])
    session.advance(by: 700)
    session.ask(refresh: true)
    #expect(session.calls.last == fixtures.exchange(fixtures.map([Fixtures.google])))
    session.finish(fixtures.refusedToken)
    #expect(session.machine.state == .tokensInvalid(.logins))
  }
}
