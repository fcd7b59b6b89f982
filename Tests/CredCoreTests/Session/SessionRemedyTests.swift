import CredCore
import Testing

/// What Cognito's errors ask for, each exactly once in an attempt.
@Suite struct SessionRemedyTests {
  let fixtures = Fixtures()

  /// In the middle of a refresh whose exchange goes with a token that was kept.
  private func exchanging() -> SessionDriver {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.forget()
    return session
  }

  @Test func aRefusedTokenIsFetchedAnewOnce() {
    var session = exchanging()
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    #expect(session.calls == [fixtures.exchange(), fixtures.callback(fixtures.identity)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.calls.count == 3)
    #expect(session.answer(to: 2) == .credentials)
    #expect(session.machine.failures == 0)
  }

  @Test func aNewTokenThatIsRefusedTooEndsTheRefresh() {
    var session = exchanging()
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    session.finish(fixtures.token())
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    #expect(session.calls.count == 3)
    #expect(session.answer(to: 2) == .refused(.tokenRejected))
    #expect(session.machine.state == .signedIn(.host))
    #expect(session.machine.credentials != nil)
    // The next attempt does not begin with the token that was refused.
    #expect(session.machine.token == nil)
    session.advance(by: 5)
    session.ask(refresh: true)
    #expect(session.calls.last == fixtures.callback(fixtures.identity))
  }

  @Test func aForbiddenIdentityIsDroppedOnce() {
    var session = exchanging()
    session.finish(fixtures.failed(.dropIdentityThenNewToken, .tokenRejected))
    #expect(session.calls.last == fixtures.callback(nil))
    session.finish(fixtures.token(of: fixtures.other))
    #expect(session.calls.last == fixtures.exchange(fixtures.other))
    session.finish(fixtures.failed(.dropIdentityThenNewToken, .tokenRejected))
    #expect(session.calls.count == 3)
    #expect(session.answer(to: 2) == .refused(.tokenRejected))
    #expect(
      session.announcements.first
        == .identityChanged(previous: fixtures.identity, current: fixtures.other))
  }

  @Test func anIdentityThatIsGoneIsReplacedOnce() {
    var session = exchanging()
    session.finish(fixtures.failed(.newIdentity, .poolMisconfigured))
    #expect(session.calls.last == fixtures.callback(nil))
    session.finish(fixtures.token(of: fixtures.other))
    session.finish(fixtures.failed(.newIdentity, .poolMisconfigured))
    #expect(session.calls.count == 3)
    #expect(session.answer(to: 2) == .refused(.poolMisconfigured))
  }

  @Test func aBackendIsAskedOnceMoreWithoutTheIdentity() {
    var session = SessionDriver(identityID: Fixtures().identity)
    let waiter = session.ask()
    #expect(session.calls == [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    #expect(session.calls.last == fixtures.callback(nil))
    session.finish(fixtures.failed(.retryWithoutIdentity, .identityConflict))
    #expect(session.calls.count == 2)
    #expect(session.answer(to: waiter) == .refused(.identityConflict))
    #expect(session.machine.identityID == fixtures.identity)
  }

  @Test func differentRemediesMayFollowEachOtherButNoneTwice() {
    var session = exchanging()
    let all: [FailureClass] = [
      .newTokenOnce, .dropIdentityThenNewToken, .retryWithoutIdentity, .newIdentity,
    ]
    // Whatever fails, and however often, an attempt comes to an end.
    for round in 0..<20 {
      session.finish(fixtures.failed(all[round % 4], .tokenRejected))
    }
    #expect(session.calls.count == 5)
    #expect(session.answer(to: 2) == .refused(.tokenRejected))
    #expect(session.openCalls.isEmpty)
  }

  @Test func theRemediesOfAnAttemptAreThereAgainForTheNext() {
    var session = exchanging()
    for _ in 0..<3 {
      session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
      session.finish(fixtures.token())
    }
    #expect(session.machine.failures == 1)
    session.advance(by: 5)
    session.ask(refresh: true)
    let before = session.calls.count
    session.finish(fixtures.token())
    session.finish(fixtures.failed(.newTokenOnce, .tokenRejected))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.calls.count == before + 3)
    #expect(session.machine.failures == 0)
  }

  // MARK: Identities

  @Test func theBackendsIdentityIsAdopted() {
    var session = SessionDriver(identityID: Fixtures().identity)
    session.ask()
    session.finish(fixtures.token(of: fixtures.other))
    #expect(session.machine.identityID == fixtures.other)
    #expect(session.calls.last == fixtures.exchange(fixtures.other))
    #expect(
      session.announcements.first
        == .identityChanged(previous: fixtures.identity, current: fixtures.other))
  }

  @Test func cognitosIdentityIsAdopted() {
    var session = SessionDriver()
    session.ask()
    session.finish(fixtures.token())
    session.forget()
    session.finish(fixtures.credentials(of: fixtures.other))
    #expect(session.machine.identityID == fixtures.other)
    #expect(
      session.announcements == [
        .identityChanged(previous: fixtures.identity, current: fixtures.other),
        .refreshed(expiration: WallTime(milliseconds: 0)),
      ])
  }

  @Test func theSameIdentityIsNoNews() {
    var session = exchanging()
    session.finish(fixtures.credentials())
    #expect(session.announcements == [.refreshed(expiration: WallTime(milliseconds: 0))])
  }

  @Test func theFirstSignInIsAnnouncedOnce() {
    var session = SessionDriver()
    session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(
      session.announcements == [
        .identityChanged(previous: nil, current: fixtures.identity), .state(.signedIn(.host)),
        .refreshed(expiration: WallTime(milliseconds: 0)),
      ])
  }
}
