import CredCore
import TestSupport
import Testing

/// Failures: pauses, what callers are told, and that every one of them heals.
struct RefreshFailureTests {
  let fixtures = Fixtures()

  /// How the attempt goes on that a caller starts now; the pause after it.
  private func fail(
    _ session: inout SessionDriver, _ failureClass: FailureClass = .transient(retryAfter: nil)
  ) {
    session.ask(wait: .zero)
    session.finish(fixtures.failed(failureClass), after: 0)
  }

  // MARK: Pauses

  @Test func aCallerWaitsThroughAShortPause() {
    var session = SessionDriver()
    let waiter = session.ask()
    session.finish(fixtures.failed())
    expect(session.answer(to: waiter) == nil)
    session.advance(by: 3)
    expect(session.calls, equals: [fixtures.callback(), fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.machine.failures, equals: 0)
  }

  @Test func aCallerDoesNotWaitForAPauseThatOutlastsIt() {
    var session = SessionDriver()
    let waiter = session.ask(wait: .seconds(5))
    session.finish(fixtures.failed(.throttled(retryAfter: .seconds(30)), .throttled))
    expect(session.answer(to: waiter), equals: .refused(.throttled))
    expect(session.refusal(of: waiter)?.retryAfter, equals: .seconds(30))
    expect(session.machine.nextWake, equals: .distantFuture)
  }

  @Test func retryAfterBindsCallersToo() {
    var session = SessionDriver()
    fail(&session, .throttled(retryAfter: .seconds(30)))
    session.advance(by: 29)
    let early = session.ask(wait: .zero)
    expect(session.answer(to: early), equals: .refused(.backendUnavailable))
    expect(session.refusal(of: early)?.retryAfter, equals: .seconds(1))
    expect(session.calls.count, equals: 1)
    session.advance(by: 1)
    session.ask()
    expect(session.calls.count, equals: 2)
  }

  @Test func retryAfterIsHonouredBeyondTheLongestPause() {
    var session = SessionDriver()
    fail(&session, .transient(retryAfter: .seconds(900)))
    session.advance(by: 899)
    session.ask(wait: .zero)
    expect(session.calls.count, equals: 1)
    session.advance(by: 1)
    session.ask(wait: .zero)
    expect(session.calls.count, equals: 2)
  }

  @Test func aNewCallerEndsALongPause() {
    var session = SessionDriver()
    fail(&session, .permanentConfiguration)
    session.advance(by: 4.9)
    let early = session.ask(wait: .seconds(60))
    expect(session.answer(to: early), equals: .refused(.backendUnavailable))
    expect(session.calls.count, equals: 1)
    session.advance(by: 0.1)
    let patient = session.ask()
    expect(session.calls.count, equals: 2)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: patient), equals: .credentials)
  }

  /// One that comes a moment earlier waits no longer for it; one that has waited for an attempt does.
  @Test func aNewCallerThatWaitsShortensALongPauseOnce() {
    var session = SessionDriver()
    session.ask(wait: .seconds(100_000))
    failUntilThePauseIsLong(&session)
    session.advance(by: 1)
    let patient = session.ask(wait: .seconds(100_000))
    expect(session.wakesIn, equals: .seconds(4))
    let calls = session.calls.count
    session.advance(by: 4)
    expect(session.calls.count, equals: calls + 1)
    failUntilThePauseIsLong(&session)
    session.advance(to: session.machine.nextWake)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: patient), equals: .credentials)
  }

  private func failUntilThePauseIsLong(_ session: inout SessionDriver) {
    for _ in 0..<100 {
      session.finish(fixtures.failed(), after: 0)
      if session.wakesIn > .seconds(20) { return }
      session.advance(to: session.machine.nextWake)
    }
    Issue.record("no pause was long")
  }

  @Test func aCallerServedFromTheCacheEndsNoPause() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2000)
    session.ask()
    session.finish(fixtures.failed(.permanentConfiguration), after: 0)
    for _ in 0..<290 {
      session.advance(by: 1)
      session.ask()
    }
    expect(session.calls.count, equals: 1)
    session.advance(by: 10)
    expect(session.calls.count, equals: 2)
  }

  @Test func pausesGrowWithFailuresAndAreResetByASuccess() {
    var session = SessionDriver()
    session.signIn(lifetime: 12 * 3600)
    session.advance(by: 7 * 3600)
    session.useCache()
    session.ask()
    var pauses: [Duration] = []
    for _ in 0..<30 {
      session.finish(fixtures.failed(), after: 0)
      pauses.append(session.wakesIn)
      session.advance(to: session.machine.nextWake)
    }
    expect(pauses.allSatisfy { (.seconds(1)...(.seconds(300))).contains($0) })
    expect(pauses.prefix(2).allSatisfy { $0 <= .seconds(9) })
    expect(pauses.max().map { $0 > .seconds(60) } ?? false)
    expect(session.machine.failures, equals: 30)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    session.advance(by: 1801)
    session.ask(refresh: true, wait: .zero)
    session.finish(fixtures.failed(), after: 0)
    expect(session.machine.failures, equals: 1)
    expect(session.wakesIn <= .seconds(3))
  }

  @Test func anUnusedSessionIsNotTriedAgain() {
    var session = SessionDriver()
    fail(&session)
    session.advance(by: 24 * 3600)
    expect(session.calls.count, equals: 1)
    expect(session.machine.nextRefresh.at == nil)
  }

  @Test func aFailedBackgroundRefreshIsTriedAgainBeforeExpiry() {
    var session = SessionDriver()
    session.signIn(lifetime: 3600)
    session.advance(by: 1)
    session.useCache()
    // Without further callers it fails once, in the background, and must not stay failed.
    session.advance(to: .seconds(1000) + .seconds(2700))
    expect(session.calls.count, equals: 1)
    session.finish(fixtures.failed(), after: 0)
    session.advance(by: 300)
    expect(session.calls.count, equals: 2)
    session.finish(fixtures.token(), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    expect(session.machine.failures, equals: 0)
    expect(session.machine.refreshCount, equals: 2)
  }

  // MARK: Words

  @Test(arguments: [
    FailureClass.signInFailed, .refusedByBackend, .unknownUser, .conflict, .poolMisconfigured,
    .permanentConfiguration,
  ])
  func aPermanentFailureIsToldAtOnceAndTriedAgainLater(_ failureClass: FailureClass) {
    var session = SessionDriver()
    let waiter = session.ask(wait: .seconds(300))
    session.finish(fixtures.failed(failureClass, .backendRejected))
    expect(session.answer(to: waiter), equals: .refused(.backendRejected))
    expect(session.refusal(of: waiter)?.message, equals: "it failed")
    // No RetryAfter where a person must act first. A later caller starts a refresh all the same.
    expect(session.refusal(of: waiter)?.retryAfter == nil)
    expect(session.calls.count, equals: 1)
    expect(session.machine.lastFailure?.failure.failureClass, equals: failureClass)
    session.advance(by: 5)
    let next = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: next), equals: .credentials)
    expect(session.machine.lastFailure == nil, "it is over")
  }

  @Test func watchersAreToldOfAFailedRefresh() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(fixtures.failed())
    expect(session.announcements, equals: [.degraded(fixtures.failure())])
    expect(session.machine.state, equals: .signedIn(.host))
  }

  @Test func anUnavailableUpstreamSignsNoUserOut() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 4 * 3600)
    for _ in 0..<50 {
      session.advance(by: 300)
      fail(&session)
    }
    expect(session.machine.state, equals: .signedIn(.host))
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(!session.announcements.contains { if case .state = $0 { true } else { false } })
  }

  @Test func aPauseIsReportedInWords() {
    var session = SessionDriver()
    expect(session.machine.nextRefresh.reason, equals: "when somebody asks")
    session.ask()
    expect(session.machine.nextRefresh.reason, equals: "under way")
    session.finish(fixtures.failed())
    expect(session.machine.nextRefresh.reason, equals: "after a failure")
    expect(session.machine.nextRefresh.at, equals: session.machine.nextWake)
    expect(SessionDriver(.password).machine.nextRefresh.reason, equals: "after a sign-in")
  }
}
