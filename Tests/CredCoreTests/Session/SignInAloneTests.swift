import CredCore
import TestSupport
import Testing

/// `login` with logins that stand alone, and with an identity that the client chose.
struct SignInAloneTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  private func alone(_ identity: IdentityID? = nil) -> SignInInput {
    .logins(facebook, identityID: identity, isAlone: true)
  }

  private func chosen() -> SignInInput { .logins(facebook, identityID: fixtures.other) }

  // MARK: Alone

  @Test func loginsAloneAreNotShownToTheBackendAndReplaceItsUser() {
    var session = SessionDriver(.host)
    session.signIn()
    session.forgetAll()
    let login = session.login(alone())
    expect(session.calls, equals: [.getID(logins: facebook)])
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.state, equals: .signedIn(.logins))
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.identity, fixtures.other)])
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    expect(session.calls, equals: [fixtures.exchange(facebook, of: fixtures.other)])
    // The host's own word ends it again.
    session.finish(fixtures.credentials(of: fixtures.other))
    session.login(.host)
    expect(session.calls.last, equals: fixtures.callback())
  }

  @Test func loginsAloneAreNotLinkedToLoginsThatAreThere() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.google))
    session.forgetAll()
    session.login(alone())
    expect(session.calls, equals: [.getID(logins: facebook)])
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.machine.logins, equals: facebook)
    expect(session.machine.identityID, equals: fixtures.other)
  }

  @Test func loginsAloneTakeNoGuestsIdentity() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.forgetAll()
    session.login(alone())
    expect(session.calls, equals: [.getID(logins: facebook)])
  }

  @Test func refusedLoginsAloneChangeNothing() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    let login = session.login(alone())
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: login), equals: .refused(.tokenRejected))
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.machine.credentials != nil)
    expect(session.identityChanges, equals: [])
  }

  @Test func withABackendThatTrustsTheHostLoginsAreLinkedAfterAClientsToken() {
    var session = SessionDriver(.host)
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.facebook))
    // The client's identity is not the backend's word.
    expect(session.calls, equals: [fixtures.callback(logins: facebook, session: nil)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.state, equals: .signedIn(.host))
  }

  // MARK: An identity that the client chose

  @Test func aChosenIdentityGoesToCognitoWithTheClientsLogins() {
    var session = SessionDriver(.none)
    let login = session.login(chosen())
    expect(session.calls, equals: [fixtures.exchange(facebook, of: fixtures.other)])
    expect(session.machine.identityID == nil)
    expect(session.machine.snapshot.identityID == nil)
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.snapshot.identityID, equals: fixtures.other)
    session.restart()
    expect(session.machine.identityID, equals: fixtures.other)
  }

  @Test(arguments: [
    FailureClass.transient(retryAfter: nil), .throttled(retryAfter: nil), .newTokenOnce,
    .dropIdentityThenNewToken, .newIdentity, .conflict, .poolMisconfigured,
  ])
  func aChosenIdentityThatCognitoDidNotAcceptIsForgotten(_ failureClass: FailureClass) {
    for before in [SessionDriver(.none), SessionDriver(.none, guests: true)] {
      var session = before
      if session.machine.plan.allowsGuests { session.beGuest() }
      let held = session.machine.snapshot
      session.forgetAll()
      let login = session.login(chosen())
      session.finish(fixtures.failed(failureClass, .cognitoUnavailable))
      // No other identity takes its place, and nothing is accepted on trust.
      expect(session.answer(to: login), equals: .refused(.cognitoUnavailable))
      expect(session.calls, equals: [fixtures.exchange(facebook, of: fixtures.other)])
      expect(session.machine.snapshot.identityID, equals: held.identityID)
      expect(session.identityChanges, equals: [])
    }
  }

  @Test func aChosenIdentityIsNeverShownToABackend() {
    var session = SessionDriver(.host)
    session.login(alone(fixtures.other))
    expect(session.calls, equals: [fixtures.exchange(facebook, of: fixtures.other)])
    session.finish(fixtures.credentials(of: fixtures.other))
    session.login(.host)
    expect(session.calls.last, equals: fixtures.callback())
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    session.login(alone(fixtures.other))
    session.finish(fixtures.unavailable)
    session.advance(by: 10)
    session.ask(refresh: true)
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity, forced: true))
  }
}
