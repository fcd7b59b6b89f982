import CredCore
import TestSupport
import Testing

/// How long a caller waits, and for what.
struct WaiterTests {
  let fixtures = Fixtures()

  // MARK: Deadlines

  @Test func everyWaitEndsAtItsDeadline() {
    var session = SessionDriver()
    let short = session.ask(wait: .seconds(2))
    let long = session.ask(wait: .seconds(7))
    expect(session.wakesIn, equals: .seconds(2))
    session.advance(by: 2)
    expect(session.answer(to: short), equals: .refused(.timeout))
    expect(session.answer(to: long) == nil)
    session.advance(by: 5)
    expect(session.answer(to: long), equals: .refused(.timeout))
    expect(session.machine.waiterCount, equals: 0)
    // The refresh goes on; the next caller gets its result.
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.credentials != nil)
    expect(session.calls.count, equals: 2)
  }

  @Test func aWaitThatEndsDuringTheNextTryHearsWhyTheLastOneFailed() {
    var session = SessionDriver()
    let waiter = session.ask(wait: .seconds(30))
    session.finish(.failed(.transport(.connect, from: .backend("corp"))))
    expect(session.answer(to: waiter) == nil)
    // The next try is under way when the wait ends.
    while session.calls.count < 2 { session.advance(by: 1) }
    session.advance(by: 30)
    expect(session.answer(to: waiter), equals: .refused(.timeout))
    let error = session.refusal(of: waiter)
    expect(
      error?.message,
      equals: "no answer from upstream yet; the refresh goes on; the try before failed: "
        + "backend 'corp' cannot be reached; check the network, the URL and the proxy")
    expect(error?.retryAfter, equals: .seconds(1))
  }

  @Test func aNewCallerDuringACallEndsNoOtherWait() {
    var session = SessionDriver()
    let short = session.ask(wait: .seconds(2))
    session.sleep(3)
    let impatient = session.ask(wait: .zero)
    expect(session.answer(to: impatient), equals: .refused(.timeout))
    expect(session.answer(to: short) == nil)
    // Their own time is an event, and it is due.
    expect(session.machine.nextWake <= session.now)
    session.advance(by: 0)
    expect(session.answer(to: short), equals: .refused(.timeout))
  }

  @Test func aCallerThatDoesNotWaitStartsARefresh() {
    var session = SessionDriver()
    let waiter = session.ask(wait: .zero)
    expect(session.answer(to: waiter), equals: .refused(.timeout))
    expect(session.refusal(of: waiter)?.retryAfter, equals: .seconds(1))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    let next = session.ask(wait: .zero)
    expect(session.answer(to: next), equals: .credentials)
  }

  @Test func aCallerThatDoesNotWaitTakesValidCredentials() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2800)
    let waiter = session.ask(wait: .zero)
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
  }

  // MARK: Less than 15 minutes left

  @Test func belowFifteenMinutesAGetWaitsTwoSecondsForFresherCredentials() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2701)
    let waiter = session.ask()
    expect(session.answer(to: waiter) == nil)
    expect(session.wakesIn, equals: .seconds(2))
    session.advance(by: 1.999)
    expect(session.answer(to: waiter) == nil)
    session.advance(by: 0.001)
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.calls.count, equals: 1)
  }

  @Test func fresherCredentialsThatArriveInTimeAreGiven() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2701)
    let waiter = session.ask()
    session.finish(fixtures.token(), after: 0.5)
    session.finish(fixtures.credentials(), after: 0.5)
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.machine.refreshCount, equals: 2)
    expect(session.wakesIn > .seconds(600))
  }

  @Test func afterAFailureValidCredentialsAreGivenAtOnce() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2701)
    let first = session.ask()
    session.finish(fixtures.failed())
    expect(session.answer(to: first), equals: .credentials)
    let second = session.ask()
    expect(session.answer(to: second), equals: .credentials)
    expect(session.calls.count, equals: 1)
  }

  @Test func aboveFifteenMinutesAGetDoesNotWait() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2699)
    let waiter = session.ask()
    expect(session.answer(to: waiter), equals: .credentials)
    // The renewal was due, and begins behind the answer.
    expect(session.calls.count, equals: 1)
  }

  // MARK: refresh

  @Test func aForcedRefreshIsNotAnsweredFromTheCache() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    let waiter = session.ask(refresh: true)
    expect(session.answer(to: waiter) == nil)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity, forced: true)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
  }

  /// What the backend says of a user may have changed since it gave the held token.
  @Test func aForcedRefreshAsksTheBackendAlthoughTheTokenIsGood() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: 86_400)
    session.advance(by: 60)
    let held = session.machine.token
    let waiter = session.ask(refresh: true)
    session.finish(fixtures.failed())
    // A backend that is away costs neither the token nor the credentials.
    expect(session.machine.token, equals: held)
    expect(session.machine.credentials != nil)
    session.advance(by: 3)
    expect(session.calls.allSatisfy { $0 == fixtures.callback(fixtures.identity, forced: true) })
    session.finish(fixtures.token(of: fixtures.other))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: waiter), equals: .credentials)
    // Others are content with what it brought.
    session.advance(by: 60)
    session.askForAWholeHour()
    expect(session.calls.last, equals: fixtures.exchange(fixtures.other))
  }

  @Test func aForcedRefreshIsNotServedByOneThatTookTheHeldToken() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    let plain = session.askForAWholeHour()
    let forced = session.ask(refresh: true)
    session.finish(fixtures.credentials())
    expect(session.answer(to: plain), equals: .credentials)
    expect(session.answer(to: forced) == nil)
    session.advance(by: 1)
    expect(session.calls.last, equals: fixtures.callback(fixtures.identity, forced: true))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: forced), equals: .credentials)
  }

  @Test func aForcedTokenIsANewOne() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    let waiter = session.ask(.token, refresh: true)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity, forced: true)])
    session.finish(fixtures.token())
    expect(session.answer(to: waiter), equals: .token)
    expect(session.calls.count, equals: 1)
  }

  @Test func forcedRefreshesAreASecondApart() {
    var session = SessionDriver()
    session.signIn()
    let waiters = (0..<50).map { _ in
      session.advance(by: 0.01)
      return session.ask(refresh: true)
    }
    expect(session.calls, equals: [])
    expect(session.wakesIn, equals: .milliseconds(500))
    session.advance(by: 0.5)
    expect(session.calls.count, equals: 1)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(waiters.allSatisfy { session.answer(to: $0) == .credentials })
    expect(session.calls.count, equals: 2)
  }

  @Test func aForcedRefreshWithoutAWaitIsToldToTryAgain() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 0.25)
    let none = session.ask(refresh: true, wait: .zero)
    expect(session.answer(to: none), equals: .refused(.tooManyRequests))
    expect(session.refusal(of: none)?.retryAfter, equals: .milliseconds(750))
    let short = session.ask(refresh: true, wait: .milliseconds(500))
    session.advance(by: 0.5)
    expect(session.answer(to: short), equals: .refused(.tooManyRequests))
    expect(session.calls, equals: [])
  }

  @Test func aFailedForcedRefreshIsReportedAndKeepsTheCredentials() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    let forced = session.ask(refresh: true)
    session.finish(fixtures.failed(.permanentConfiguration, .backendRejected))
    expect(session.answer(to: forced), equals: .refused(.backendRejected))
    let plain = session.ask()
    expect(session.answer(to: plain), equals: .credentials)
  }

  // MARK: min_ttl

  @Test func aMinimumLifeIsServedFromTheCacheIfItSuffices() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 600)
    let exact = session.ask(minimumLife: .seconds(3000))
    expect(session.answer(to: exact), equals: .credentials)
    let modest = session.ask(minimumLife: .zero)
    expect(session.answer(to: modest), equals: .credentials)
    expect(session.calls, equals: [])
  }

  @Test func aMinimumLifeAboveTheRemainingOneForcesARefresh() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 601)
    let waiter = session.ask(minimumLife: .seconds(3000))
    expect(session.answer(to: waiter) == nil)
    expect(session.calls, equals: [fixtures.exchange()])
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
  }

  @Test func aMinimumLifeBelowFifteenMinutesIsServedAtOnce() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 3000)
    let waiter = session.ask(minimumLife: .seconds(300))
    expect(session.answer(to: waiter), equals: .credentials)
  }

  @Test func aKnownImpossibleMinimumLifeIsRefusedAtOnce() {
    var session = SessionDriver()
    session.signIn()
    let waiter = session.ask(minimumLife: .seconds(3601))
    expect(session.answer(to: waiter), equals: .refused(.invalidRequest))
    expect(
      session.refusal(of: waiter)?.message,
      equals: "min_ttl asks for 3601 s, but credentials of this profile last 3600 s")
    expect(session.calls, equals: [])
  }

  @Test func anImpossibleMinimumLifeIsRefusedAfterOneRefresh() {
    var session = SessionDriver()
    let waiter = session.ask(minimumLife: .seconds(7200), wait: .seconds(300))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .refused(.invalidRequest))
    expect(session.calls.count, equals: 2)
  }

  @Test func aForcedRefreshShowsWhetherLifetimesHaveGrown() {
    var session = SessionDriver()
    session.signIn(lifetime: 900)
    session.advance(by: 60)
    let waiter = session.ask(minimumLife: .seconds(1800), refresh: true)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity, forced: true)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials(3600))
    expect(session.answer(to: waiter), equals: .credentials)
  }

  @Test func aMinimumLifeNearTheWholeCausesFewRefreshes() {
    var session = SessionDriver()
    session.signIn()
    for _ in 0..<1000 {
      session.advance(by: 0.01)
      session.ask(minimumLife: .seconds(3600), wait: .seconds(1))
      session.finish(fixtures.credentials(), after: 0)
    }
    expect((9...10).contains(session.calls.count))
  }

  @Test func aTokensMinimumLifeMayBeImpossibleToo() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: 900)
    session.advance(by: 100)
    let possible = session.ask(.token, minimumLife: .seconds(850))
    session.finish(fixtures.token(900))
    expect(session.answer(to: possible), equals: .token)
    session.advance(by: 100)
    let impossible = session.ask(.token, minimumLife: .seconds(1000))
    session.finish(fixtures.token(900))
    expect(session.answer(to: impossible), equals: .refused(.invalidRequest))
    expect(session.calls.count, equals: 2)
  }
}
