import TestSupport
import Testing

@testable import CredCore

/// Sign-ins that nothing renews end with their tokens, and watchers hear of it then.
struct SignInEndTests {
  let fixtures = Fixtures()

  private func social(_ ends: [String: Double]) -> SessionDriver {
    var session = SessionDriver(.none)
    session.login(.logins(fixtures.map(ends.keys.sorted())), loginsExpire: ends)
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(12 * 3600), after: 0)
    session.forgetAll()
    return session
  }

  private func states(_ session: SessionDriver) -> [SignInState] {
    session.announcements.compactMap { if case .state(let state) = $0 { state } else { nil } }
  }

  @Test func aSessionEndsWithItsLastLogin() {
    var session = social([Fixtures.google: 3600, Fixtures.facebook: 7200])
    session.advance(by: 7199)
    expect(states(session), equals: [])
    session.advance(by: 1)
    expect(states(session), equals: [.tokensInvalid(.logins)])
    // What is held serves on.
    let held = session.ask()
    expect(session.answer(to: held), equals: .credentials)
    session.forgetAll()
    let forced = session.ask(refresh: true, wait: .zero)
    expect(session.calls, equals: [])
    expect(
      session.refusal(of: forced)?.message,
      equals: "the token of graph.facebook.com has run out: sign in again")
  }

  @Test func aLoginThatDoesNotSayItsEndHasNone() {
    var session = social([Fixtures.google: 3600])
    session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.credentials(12 * 3600))
    session.forgetAll()
    session.advance(by: 7200)
    expect(states(session), equals: [])
    expect(session.machine.state, equals: .signedIn(.logins))
  }

  @Test func aNewTokenGoesOn() {
    var session = social([Fixtures.google: 3600])
    session.advance(by: 3600)
    session.login(fixtures.logins(Fixtures.google), loginsExpire: [Fixtures.google: 3600])
    session.finish(fixtures.credentials(12 * 3600))
    expect(states(session), equals: [.tokensInvalid(.logins), .signedIn(.logins)])
    expect(session.machine.identityID, equals: fixtures.identity)
  }

  /// The host slept, or the daemon was away.
  @Test func anEndThatWasMissedIsToldAtOnce() {
    var session = social([Fixtures.google: 3600])
    session.sleep(4000)
    session.restart()
    expect(session.machine.nextWake <= session.now)
    session.advance(by: 0)
    expect(states(session), equals: [.tokensInvalid(.logins)])
  }

  /// Cognito decides about a token that it has already.
  @Test func aCallUnderWayMayStillSucceed() {
    var session = social([Fixtures.google: 3600])
    session.advance(by: 3599)
    session.ask(refresh: true)
    session.advance(by: 2)
    expect(states(session), equals: [])
    session.finish(fixtures.credentials(12 * 3600), after: 0)
    expect(states(session), equals: [.tokensInvalid(.logins)])
    expect(session.machine.credentials != nil)
  }

  // MARK: Another user

  @Test func aSecondPersonIsAnnouncedOnce() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.forgetAll()
    session.signIn("alice")
    expect(states(session), equals: [])
    session.forgetAll()
    session.login(fixtures.password("bob"))
    session.finish(fixtures.failed(.signInFailed, .signInFailed))
    expect(states(session), equals: [])
    session.signIn("bob")
    expect(states(session).map(\.reported), equals: [.signedIn])
    let user = session.machine.signedIn(hostName: nil) { _ in WallTime(milliseconds: 0) }
    expect(user?.username, equals: "bob")
  }

  @Test func aSecondPersonAtAProviderIsAnnounced() {
    var session = SessionDriver.ofTokensAlone()
    session.login(fixtures.poolSignIn(at: session.now))
    session.forgetAll()
    session.login(fixtures.poolSignIn("bob", at: session.now))
    expect(states(session).map(\.reported), equals: [.signedIn])
    session.forgetAll()
    session.login(fixtures.poolSignIn("bob", at: session.now))
    expect(states(session), equals: [])
  }

  /// The file has another person's token from now on.
  @Test func aTokenFileOfAnotherPersonIsAnnounced() {
    var session = SessionDriver(.none, tokenFileProvider: Fixtures.google)
    let token = { (subject: String) in
      UpstreamOutcome.fileToken(Secret(SampleJWT.text(#"{"sub":"\#(subject)"}"#)))
    }
    session.ask()
    session.finish(token("1"))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(token("1"))
    expect(states(session), equals: [])
    session.finish(fixtures.credentials())
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(token("2"))
    expect(states(session), equals: [.signedIn(.tokenFile)])
  }
}
