import CredCore
import Testing

/// A developer token at hand, with its IdentityId: the developer sign-in of AWSMobileClient.
@Suite struct SignInTokenTests {
  let fixtures = Fixtures()

  @Test func itIsExchangedWithoutAskingAnybody() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.tokenAtHand(), expires: 900)
    #expect(session.calls == [fixtures.exchange()])
    #expect(session.announcements == [])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(
      session.announcements == [
        fixtures.changed(nil, fixtures.identity), .state(.signedIn(.developerToken)),
        fixtures.refreshed,
      ])
  }

  @Test func anotherIdentityIsAdopted() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.tokenAtHand())
    session.forgetAll()
    session.signIn(fixtures.tokenAtHand(fixtures.other), as: fixtures.other)
    #expect(session.calls == [fixtures.exchange(fixtures.other)])
    #expect(
      session.announcements == [
        fixtures.changed(fixtures.identity, fixtures.other), fixtures.refreshed,
      ])
  }

  @Test func cognitosWordForTheIdentityGoesBeforeTheClients() {
    var session = SessionDriver(.none)
    session.login(fixtures.tokenAtHand())
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.machine.identityID == fixtures.other)
    #expect(session.identityChanges == [fixtures.changed(nil, fixtures.other)])
  }

  @Test func theOldUsersCredentialsAreNotServedMeanwhile() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.tokenAtHand())
    session.login(fixtures.tokenAtHand(fixtures.other))
    let get = session.ask()
    #expect(session.answer(to: get) == nil)
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aBadOneIsRefusedAndNobodyHearsOfIt() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.tokenAtHand())
    session.forgetAll()
    let login = session.login(fixtures.tokenAtHand(fixtures.other))
    session.finish(fixtures.refusedToken)
    #expect(session.answer(to: login) == .refused(.tokenRejected))
    #expect(session.machine.identityID == fixtures.identity)
    #expect(session.machine.state == .signedIn(.developerToken))
    #expect(session.announcements == [])
    #expect(session.calls.count == 1)
    let get = session.ask()
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func withCognitoAwayItIsKeptAndTriedAgain() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.tokenAtHand(), expires: 900)
    session.finish(fixtures.failed(.transient(retryAfter: nil), .cognitoUnavailable))
    #expect(session.answer(to: login) == .state)
    #expect(
      session.announcements == [
        fixtures.changed(nil, fixtures.identity), .state(.signedIn(.developerToken)),
      ])
    let get = session.ask(wait: .seconds(60))
    session.advance(by: 10)
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func whenItRunsOutTheTokensAreInvalidAndWhatIsValidIsServed() {
    var session = SessionDriver(.none)
    session.login(fixtures.tokenAtHand(), expires: 900)
    session.finish(fixtures.credentials(), after: 0)
    session.forgetAll()
    session.advance(by: 839)
    #expect(session.states == [])
    session.advance(by: 1)
    #expect(session.states == ["tokensInvalid"])
    #expect(session.machine.token == nil)
    let served = session.ask()
    #expect(session.answer(to: served) == .credentials)
    let waiting = session.ask(refresh: true, wait: .seconds(300))
    session.advance(by: 299)
    #expect(session.answer(to: waiting) == nil)
    #expect(session.calls == [])
    session.login(fixtures.tokenAtHand(), expires: 900)
    session.finish(fixtures.credentials())
    #expect(session.answer(to: waiting) == .credentials)
    #expect(session.states == ["tokensInvalid", "signedIn"])
  }

  @Test func whoWaitsInVainLearnsThatItRanOut() {
    var session = SessionDriver(.none)
    session.login(fixtures.tokenAtHand(), expires: 900)
    session.finish(fixtures.credentials(30))
    session.advance(by: 900)
    let get = session.ask()
    session.advance(by: 5)
    #expect(session.answer(to: get) == .refused(.signInRequired))
    #expect(session.refusal(of: get)?.message == "the developer token has run out")
  }

  @Test func anExchangeThatHasBegunIsWorthTheTokensEnd() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.tokenAtHand(), expires: 10)
    session.advance(by: 15)
    #expect(session.states == [])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(session.states == ["signedIn", "tokensInvalid"])
  }

  @Test func oneThatSeemsToBeOverIsCognitosToJudge() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.tokenAtHand(), expires: -3600)
    #expect(session.calls == [fixtures.exchange()])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(session.states == ["signedIn"])
  }

  @Test func oneThatIsRefusedLaterNeedsALogin() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.tokenAtHand())
    session.forgetAll()
    session.advance(by: 60)
    let get = session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.refusedToken)
    #expect(session.states == ["tokensInvalid"])
    #expect(session.openCalls.isEmpty)
    #expect(session.machine.token == nil)
    let late = session.ask(refresh: true, wait: .zero)
    #expect(session.refusal(of: late)?.message.contains("no longer accepted") == true)
    session.signIn(fixtures.tokenAtHand())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func itIsWhatATokenRequestGets() {
    var session = SessionDriver(.none)
    session.login(fixtures.tokenAtHand(), expires: 900)
    session.finish(fixtures.credentials())
    let token = session.ask(.token)
    #expect(session.answer(to: token) == .token)
    #expect(session.calls.count == 1)
  }

  @Test func nobodyGetsItBeforeItIsAccepted() {
    var session = SessionDriver(.none)
    let token = session.ask(.token, wait: .seconds(60))
    session.login(fixtures.tokenAtHand(), expires: 900)
    #expect(session.answer(to: token) == nil)
    session.finish(fixtures.refusedToken)
    #expect(session.answer(to: token) == nil)
    session.login(fixtures.tokenAtHand(), expires: 900)
    session.finish(fixtures.credentials())
    #expect(session.answer(to: token) == .token)
  }

  // MARK: Beside a backend

  @Test func aBackendThatTrustsTheHostHasTheNextOne() {
    var session = SessionDriver(.host)
    session.login(fixtures.tokenAtHand(fixtures.other), expires: 900)
    session.finish(fixtures.credentials(of: fixtures.other))
    session.forgetAll()
    session.advance(by: 1000)
    #expect(session.announcements == [])
    session.ask(refresh: true)
    // Whose the client's identity is, the backend does not say: it must not link its user with it.
    #expect(session.calls == [fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.machine.state == .signedIn(.host))
    #expect(session.identityChanges == [fixtures.changed(fixtures.other, fixtures.identity)])
  }

  @Test func itHasOneInTheMiddleOfARefreshToo() {
    var session = SessionDriver(.host)
    session.signIn(fixtures.tokenAtHand())
    session.forgetAll()
    session.advance(by: 60)
    let get = session.ask(refresh: true)
    session.finish(fixtures.refusedToken)
    #expect(session.calls == [fixtures.exchange(), fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
    #expect(session.states == [])
  }

  @Test func aBadTokenIsABadSignInThereToo() {
    var session = SessionDriver(.host)
    let login = session.login(fixtures.tokenAtHand())
    session.finish(fixtures.refusedToken)
    #expect(session.answer(to: login) == .refused(.tokenRejected))
    #expect(session.machine.state == .signedOut(byUser: false))
    #expect(session.calls.count == 1)
  }
}
