import CredCore
import TestSupport
import Testing

/// Renewal before a caller has to wait, and the end of what is held.
struct RenewalTests {
  let fixtures = Fixtures()

  // MARK: Ahead of time

  @Test func credentialsInUseAreRenewedAtHalfOfTheirLifetime() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1)
    session.useCache()
    session.advance(by: 0.45 * 3600 - 2)
    expect(session.calls, equals: [])
    session.advance(by: 0.1 * 3600 + 2)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.refreshCount, equals: 2)
  }

  @Test func unusedCredentialsAreNotRenewed() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 24 * 3600)
    expect(session.calls, equals: [])
    expect(session.machine.nextWake, equals: .distantFuture)
    expect(session.machine.identityID, equals: fixtures.identity)
  }

  @Test func oneUseCausesOneRenewal() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1)
    session.useCache()
    session.advance(by: 2000)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    session.advance(by: 24 * 3600)
    expect(session.machine.refreshCount, equals: 2)
    expect(session.calls.count, equals: 2)
  }

  @Test func aCallerAfterAnOverdueRenewalStartsItAndDoesNotWait() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2100)
    expect(session.calls, equals: [])
    let waiter = session.ask()
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.calls.count, equals: 1)
  }

  @Test func theCacheAnswersUntilThereIsSomethingToDecide() {
    var session = SessionDriver()
    expect(session.machine.quietUntil < session.now)
    session.signIn()
    expect(session.machine.quietUntil, equals: session.machine.credentials?.refreshAt)
  }

  // MARK: Expiry

  @Test func credentialsAreDroppedWhenTheyExpire() {
    var session = SessionDriver()
    session.signIn()
    let before = session.now
    session.advance(by: 839)
    expect(session.machine.token != nil)
    session.advance(by: 1)
    expect(session.machine.token == nil)
    session.forget()
    session.advance(to: before + .seconds(3539))
    expect(session.machine.credentials != nil)
    session.advance(by: 1)
    expect(session.machine.credentials == nil)
    expect(session.actions, equals: [.credentialsChanged])
    expect(session.machine.nextWake, equals: .distantFuture)
  }

  @Test func credentialsThatExpiredDuringSuspendAreNotHandedOut() {
    var session = SessionDriver()
    session.signIn()
    session.sleep(8 * 3600)
    let waiter = session.ask()
    expect(session.answer(to: waiter) == nil)
    expect(session.actions.first, equals: .credentialsChanged)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.failed())
    expect(session.announcements, equals: [], "nothing is degraded: there is nothing left")
  }

  @Test func aFailedRefreshKeepsValidCredentials() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1)
    session.useCache()
    for minute in 1..<59 {
      session.advance(to: .seconds(1000) + .seconds(60 * minute))
      session.finish(fixtures.failed(), after: 0)
      let waiter = session.ask(wait: .zero)
      expect(session.answer(to: waiter), equals: .credentials)
      session.finish(fixtures.failed(), after: 0)
    }
    session.advance(to: .seconds(1000) + .seconds(3540))
    let late = session.ask(wait: .zero)
    expect(session.answer(to: late) != .credentials)
    expect(session.answer(to: late) != nil)
  }

  // MARK: Tokens

  @Test func aTokenIsExchangedAgainUntilItsEnd() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: 3600 * 4)
    session.advance(by: 1801)
    session.askForAWholeHour()
    expect(session.calls, equals: [fixtures.exchange()])
    session.finish(fixtures.credentials())
    session.advance(to: .seconds(1000) + .seconds(4 * 3600 - 60))
    session.ask()
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity))
  }

  @Test func aTokenOfUnknownLifetimeIsUsedOnce() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: nil)
    session.advance(by: 1)
    session.askForAWholeHour()
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
    expect(session.machine.token == nil)
    session.finish(fixtures.token(nil))
    session.finish(fixtures.credentials())
    expect(session.calls, equals: [fixtures.callback(fixtures.identity), fixtures.exchange()])
  }

  @Test func aTokenOfUnknownLifetimeIsGivenToItsWaiters() {
    var session = SessionDriver()
    let first = session.ask(.token)
    session.finish(fixtures.token(nil))
    expect(session.answer(to: first), equals: .token)
    session.advance(by: 1)
    let second = session.ask(.token)
    expect(session.answer(to: second) == nil)
    session.finish(fixtures.token(nil))
    expect(session.answer(to: second), equals: .token)
    expect(session.calls.count, equals: 2)
  }

  @Test func aHeldTokenIsGivenAtOnce() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 800)
    let waiter = session.ask(.token, wait: .zero)
    expect(session.answer(to: waiter), equals: .token)
    expect(session.calls, equals: [])
  }

  @Test(arguments: [0.0, -1, -7200])
  func anExpiredTokenIsRequestedOnceMore(_ lifetime: Double) {
    var session = SessionDriver()
    let credentials = session.ask()
    let token = session.ask(.token)
    session.finish(fixtures.token(lifetime))
    expect(session.calls, equals: [fixtures.callback(), fixtures.callback(forced: true)])
    session.finish(fixtures.token(lifetime))
    expect(session.answer(to: credentials), equals: .refused(.tokenRejected))
    expect(session.answer(to: token), equals: .refused(.tokenRejected))
    expect(session.calls.count, equals: 2)
    expect(session.machine.token == nil)
  }

  @Test(arguments: [0.0, -1, -7200])
  func expiredCredentialsAreAFailure(_ lifetime: Double) {
    var session = SessionDriver()
    let waiter = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials(lifetime))
    expect(session.calls.count, equals: 2)
    expect(session.machine.credentials == nil)
    session.advance(by: 5)
    expect(session.calls.count, equals: 3)
    expect(session.answer(to: waiter), equals: .refused(.timeout))
  }
}
