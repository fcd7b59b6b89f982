import CredCore
import Testing

/// Cognito's corrections where no backend is asked: each at most once, never a loop.
@Suite struct SignInRemedyTests {
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
  func loginsGetTheirIdentityAnewOnce(_ failureClass: FailureClass) {
    var session = refreshing(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(failureClass, .tokenRejected))
    #expect(session.calls.last == .getID(logins: facebook))
    session.finish(.identity(fixtures.other))
    #expect(session.calls.last == fixtures.exchange(facebook, of: fixtures.other))
    session.finish(fixtures.failed(failureClass, .tokenRejected))
    #expect(session.openCalls.isEmpty)
    #expect(session.calls.count == 3)
    #expect(session.machine.state == .signedIn(.logins))
  }

  @Test func loginsThatDoNotMatchAnOldIdentityFindTheirOwn() {
    var session = refreshing(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(.conflict, .poolMisconfigured))
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.identityChanges == [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  @Test(arguments: [FailureClass.newIdentity, .dropIdentityThenNewToken])
  func aTokenAtHandHasNoOtherIdentity(_ failureClass: FailureClass) {
    var session = refreshing(fixtures.tokenAtHand())
    session.finish(fixtures.failed(failureClass, .tokenRejected))
    #expect(session.openCalls.isEmpty)
    #expect(session.calls.count == 1)
    #expect(session.machine.identityID == fixtures.identity)
  }

  @Test func aPasswordsSessionIsCorrectedAsTheHostIs() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.advance(by: 60)
    session.forgetAll()
    let get = session.ask(refresh: true)
    session.finish(fixtures.failed(.dropIdentityThenNewToken, .tokenRejected))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.refusedToken)
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    let alice = fixtures.session("alice")
    #expect(
      session.calls == [
        fixtures.exchange(), fixtures.callback(session: alice), fixtures.exchange(fixtures.other),
        fixtures.callback(fixtures.other, session: alice), fixtures.exchange(fixtures.other),
      ])
    #expect(session.answer(to: get) == .credentials)
    #expect(session.identityChanges == [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  /// Whatever fails, and however often, a sign-in comes to an end with one answer.
  @Test(
    arguments: [SessionPlan.BackendTrust.none, .host, .password],
    [ProfileSettings.Flow.enhanced, .basic]
  )
  func aSignInEndsWhateverFails(_ backend: SessionPlan.BackendTrust, _ flow: ProfileSettings.Flow) {
    let signIns = [
      fixtures.tokenAtHand(), fixtures.logins(Fixtures.facebook), fixtures.password("alice"),
    ]
    for signIn in signIns {
      for failureClass in SessionWalk.failures {
        var session = SessionDriver(plan: SessionPlan(backend: backend, flow: flow))
        let login = session.login(signIn)
        for _ in 0..<20 where !session.openCalls.isEmpty {
          session.finish(fixtures.failed(failureClass, .tokenRejected), after: 0)
        }
        #expect(session.openCalls.isEmpty)
        #expect(session.answer(to: login) != nil)
        #expect(session.calls.count <= 4)
        // Nothing is permanent: a good sign-in heals it.
        session.forget()
        let again = session.login(fixtures.tokenAtHand())
        session.finish(fixtures.credentials())
        #expect(session.answer(to: again) == .state)
      }
    }
  }
}
