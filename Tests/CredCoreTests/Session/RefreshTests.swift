import CredCore
import Testing

/// One refresh for all callers, which no caller disturbs.
@Suite struct SingleFlightTests {
  let fixtures = Fixtures()

  @Test func aColdGetMakesOneCallbackAndOneExchange() {
    var session = SessionDriver()
    let waiter = session.ask()
    #expect(session.calls == [fixtures.callback()])
    session.finish(fixtures.token())
    // The developer token goes to Cognito with the backend's identity: never through GetId.
    #expect(session.calls == [fixtures.callback(), fixtures.exchange()])
    #expect(session.answer(to: waiter) == nil)
    session.finish(fixtures.credentials())
    #expect(session.answer(to: waiter) == .credentials)
    #expect(session.calls.count == 2)
    #expect(session.machine.state == .signedIn(.host))
    #expect(session.machine.refreshCount == 1)
  }

  @Test func theReplyIsRenderedBeforeItIsGiven() {
    var session = SessionDriver()
    let waiter = session.ask()
    session.finish(fixtures.token())
    let actions = session.finish(fixtures.credentials())
    #expect(
      actions == [
        .credentialsChanged, .announce(.refreshed(expiration: WallTime(milliseconds: 0))),
        .giveCredentials(waiter),
      ])
  }

  @Test func aHundredCallersShareOneRefresh() {
    var session = SessionDriver()
    let waiters = (0..<100).map { _ in
      session.advance(by: 0.001)
      return session.ask()
    }
    session.finish(fixtures.token())
    let late = session.ask()
    session.finish(fixtures.credentials())
    #expect(session.calls.count == 2)
    #expect((waiters + [late]).allSatisfy { session.answer(to: $0) == .credentials })
    #expect(session.actions.count { $0 == .giveCredentials(late) } == 1)
    #expect(session.machine.waiterCount == 0)
  }

  @Test func refreshContinuesWhenItsFirstCallerLeaves() {
    var session = SessionDriver()
    let first = session.ask()
    let second = session.ask()
    session.leave(first)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: first) == nil)
    #expect(session.answer(to: second) == .credentials)
    #expect(session.calls.count == 2)
  }

  @Test func refreshContinuesWhenItsLastCallerLeaves() {
    var session = SessionDriver()
    session.leave(session.ask())
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    let next = session.ask()
    #expect(session.answer(to: next) == .credentials)
    #expect(session.calls.count == 2)
  }

  @Test func aCallerThatLeavesDuringAPauseCancelsTheRetry() {
    var session = SessionDriver()
    let waiter = session.ask(wait: .seconds(300))
    session.finish(fixtures.failed())
    #expect(session.wakesIn < .seconds(4))
    session.leave(waiter)
    #expect(session.machine.nextWake == .distantFuture)
    #expect(session.calls.count == 1)
  }

  @Test func anUnknownWaiterThatLeavesIsIgnored() {
    var session = SessionDriver()
    let waiter = session.ask()
    session.leave(99)
    session.finish(fixtures.failed(.unknownUser))
    #expect(session.answer(to: waiter) == .refused(.backendUnavailable))
  }

  @Test func aRepeatedOutcomeIsIgnored() {
    var session = SessionDriver()
    session.ask()
    session.finish(call: 1, fixtures.token())
    session.forget()
    #expect(session.finish(call: 1, fixtures.token(of: fixtures.other)) == [])
    #expect(session.finish(call: 1, fixtures.failed()) == [])
    #expect(session.finish(call: 77, fixtures.credentials()) == [])
    #expect(session.machine.identityID == fixtures.identity)
    session.finish(call: 2, fixtures.credentials())
    #expect(session.finish(call: 2, fixtures.failed()) == [])
    #expect(session.machine.lastFailure == nil)
  }

  @Test func aTokenRequestMakesNoExchange() {
    var session = SessionDriver()
    let waiter = session.ask(.token)
    session.finish(fixtures.token())
    #expect(session.answer(to: waiter) == .token)
    #expect(session.calls == [fixtures.callback()])
    #expect(session.machine.credentials == nil)
  }

  @Test func aCallerForCredentialsJoinsARefreshForAToken() {
    var session = SessionDriver()
    let token = session.ask(.token)
    session.advance(by: 0.1)
    let credentials = session.ask()
    session.finish(fixtures.token())
    #expect(session.answer(to: token) == .token)
    #expect(session.calls == [fixtures.callback(), fixtures.exchange()])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: credentials) == .credentials)
    #expect(session.calls.count == 2)
  }

  @Test func aCallerForATokenJoinsARefreshForCredentials() {
    var session = SessionDriver()
    session.ask()
    let token = session.ask(.token)
    session.finish(fixtures.token())
    #expect(session.answer(to: token) == .token)
    #expect(session.calls.count == 2)
  }

  @Test func aTokenThatDoesNotSuitAWaiterIsFetchedAnewAfterTheExchange() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: 900)
    session.advance(by: 800)
    session.ask(refresh: true)
    let token = session.ask(.token, minimumLife: .seconds(600))
    #expect(session.calls == [fixtures.exchange()])
    session.finish(fixtures.credentials())
    #expect(session.calls == [fixtures.exchange(), fixtures.callback(fixtures.identity)])
    session.finish(fixtures.token())
    #expect(session.answer(to: token) == .token)
    #expect(session.calls.count == 2)
  }
}

/// Renewal before a caller has to wait, and the end of what is held.
@Suite struct RenewalTests {
  let fixtures = Fixtures()

  // MARK: Ahead of time

  @Test func credentialsInUseAreRenewedAtHalfOfTheirLifetime() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1)
    session.useCache()
    session.advance(by: 0.45 * 3600 - 2)
    #expect(session.calls == [])
    session.advance(by: 0.1 * 3600 + 2)
    #expect(session.calls == [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.machine.refreshCount == 2)
  }

  @Test func unusedCredentialsAreNotRenewed() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 24 * 3600)
    #expect(session.calls == [])
    #expect(session.machine.nextWake == .distantFuture)
    #expect(session.machine.identityID == fixtures.identity)
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
    #expect(session.machine.refreshCount == 2)
    #expect(session.calls.count == 2)
  }

  @Test func aCallerAfterAnOverdueRenewalStartsItAndDoesNotWait() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 2100)
    #expect(session.calls == [])
    let waiter = session.ask()
    #expect(session.answer(to: waiter) == .credentials)
    #expect(session.calls.count == 1)
  }

  @Test func theCacheAnswersUntilThereIsSomethingToDecide() {
    var session = SessionDriver()
    #expect(session.machine.quietUntil < session.now)
    session.signIn()
    #expect(session.machine.quietUntil == session.machine.credentials?.refreshAt)
  }

  // MARK: Expiry

  @Test func credentialsAreDroppedWhenTheyExpire() {
    var session = SessionDriver()
    session.signIn()
    let before = session.now
    session.advance(by: 839)
    #expect(session.machine.token != nil)
    session.advance(by: 1)
    #expect(session.machine.token == nil)
    session.forget()
    session.advance(to: before + .seconds(3539))
    #expect(session.machine.credentials != nil)
    session.advance(by: 1)
    #expect(session.machine.credentials == nil)
    #expect(session.actions == [.credentialsChanged])
    #expect(session.machine.nextWake == .distantFuture)
  }

  @Test func credentialsThatExpiredDuringSuspendAreNotHandedOut() {
    var session = SessionDriver()
    session.signIn()
    session.sleep(8 * 3600)
    let waiter = session.ask()
    #expect(session.answer(to: waiter) == nil)
    #expect(session.actions.first == .credentialsChanged)
    #expect(session.calls == [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.failed())
    #expect(session.announcements == [], "nothing is degraded: there is nothing left")
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
      #expect(session.answer(to: waiter) == .credentials)
      session.finish(fixtures.failed(), after: 0)
    }
    session.advance(to: .seconds(1000) + .seconds(3540))
    let late = session.ask(wait: .zero)
    #expect(session.answer(to: late) != .credentials)
    #expect(session.answer(to: late) != nil)
  }

  // MARK: Tokens

  @Test func aTokenIsExchangedAgainUntilItsEnd() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: 3600 * 4)
    session.advance(by: 1801)
    session.ask(refresh: true)
    #expect(session.calls == [fixtures.exchange()])
    session.finish(fixtures.credentials())
    session.advance(to: .seconds(1000) + .seconds(4 * 3600 - 60))
    session.ask()
    #expect(session.calls.last == fixtures.callback(fixtures.identity))
  }

  @Test func aTokenOfUnknownLifetimeIsUsedOnce() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: nil)
    session.advance(by: 1)
    session.ask(refresh: true)
    #expect(session.calls == [fixtures.callback(fixtures.identity)])
    #expect(session.machine.token == nil)
    session.finish(fixtures.token(nil))
    session.finish(fixtures.credentials())
    #expect(session.calls == [fixtures.callback(fixtures.identity), fixtures.exchange()])
  }

  @Test func aTokenOfUnknownLifetimeIsGivenToItsWaiters() {
    var session = SessionDriver()
    let first = session.ask(.token)
    session.finish(fixtures.token(nil))
    #expect(session.answer(to: first) == .token)
    session.advance(by: 1)
    let second = session.ask(.token)
    #expect(session.answer(to: second) == nil)
    session.finish(fixtures.token(nil))
    #expect(session.answer(to: second) == .token)
    #expect(session.calls.count == 2)
  }

  @Test func aHeldTokenIsGivenAtOnce() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 800)
    let waiter = session.ask(.token, wait: .zero)
    #expect(session.answer(to: waiter) == .token)
    #expect(session.calls == [])
  }

  @Test(arguments: [0.0, -1, -7200])
  func anExpiredTokenIsRequestedOnceMore(_ lifetime: Double) {
    var session = SessionDriver()
    let credentials = session.ask()
    let token = session.ask(.token)
    session.finish(fixtures.token(lifetime))
    #expect(session.calls == [fixtures.callback(), fixtures.callback()])
    session.finish(fixtures.token(lifetime))
    #expect(session.answer(to: credentials) == .refused(.tokenRejected))
    #expect(session.answer(to: token) == .refused(.tokenRejected))
    #expect(session.calls.count == 2)
    #expect(session.machine.token == nil)
  }

  @Test(arguments: [0.0, -1, -7200])
  func expiredCredentialsAreAFailure(_ lifetime: Double) {
    var session = SessionDriver()
    let waiter = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials(lifetime))
    #expect(session.calls.count == 2)
    #expect(session.machine.credentials == nil)
    session.advance(by: 5)
    #expect(session.calls.count == 3)
    #expect(session.answer(to: waiter) == .refused(.timeout))
  }
}

/// Failures: pauses, what callers are told, and that every one of them heals.
@Suite struct RefreshFailureTests {
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
    #expect(session.answer(to: waiter) == nil)
    session.advance(by: 3)
    #expect(session.calls == [fixtures.callback(), fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: waiter) == .credentials)
    #expect(session.machine.failures == 0)
  }

  @Test func aCallerDoesNotWaitForAPauseThatOutlastsIt() {
    var session = SessionDriver()
    let waiter = session.ask(wait: .seconds(5))
    session.finish(fixtures.failed(.throttled(retryAfter: .seconds(30)), .throttled))
    #expect(session.answer(to: waiter) == .refused(.throttled))
    #expect(session.refusal(of: waiter)?.retryAfter == .seconds(30))
    #expect(session.machine.nextWake == .distantFuture)
  }

  @Test func retryAfterBindsCallersToo() {
    var session = SessionDriver()
    fail(&session, .throttled(retryAfter: .seconds(30)))
    session.advance(by: 29)
    let early = session.ask(wait: .zero)
    #expect(session.answer(to: early) == .refused(.backendUnavailable))
    #expect(session.refusal(of: early)?.retryAfter == .seconds(1))
    #expect(session.calls.count == 1)
    session.advance(by: 1)
    session.ask()
    #expect(session.calls.count == 2)
  }

  @Test func retryAfterIsHonouredBeyondTheLongestPause() {
    var session = SessionDriver()
    fail(&session, .transient(retryAfter: .seconds(900)))
    session.advance(by: 899)
    session.ask(wait: .zero)
    #expect(session.calls.count == 1)
    session.advance(by: 1)
    session.ask(wait: .zero)
    #expect(session.calls.count == 2)
  }

  @Test func aNewCallerEndsALongPause() {
    var session = SessionDriver()
    fail(&session, .permanentConfiguration)
    session.advance(by: 4.9)
    let early = session.ask(wait: .seconds(60))
    #expect(session.answer(to: early) == .refused(.backendUnavailable))
    #expect(session.calls.count == 1)
    session.advance(by: 0.1)
    let patient = session.ask()
    #expect(session.calls.count == 2)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: patient) == .credentials)
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
    #expect(session.calls.count == 1)
    session.advance(by: 10)
    #expect(session.calls.count == 2)
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
    #expect(pauses.allSatisfy { (.seconds(1)...(.seconds(300))).contains($0) })
    #expect(pauses.prefix(2).allSatisfy { $0 <= .seconds(9) })
    #expect(pauses.max().map { $0 > .seconds(60) } ?? false)
    #expect(session.machine.failures == 30)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    session.advance(by: 1801)
    session.ask(refresh: true, wait: .zero)
    session.finish(fixtures.failed(), after: 0)
    #expect(session.machine.failures == 1)
    #expect(session.wakesIn <= .seconds(3))
  }

  @Test func anUnusedSessionIsNotTriedAgain() {
    var session = SessionDriver()
    fail(&session)
    session.advance(by: 24 * 3600)
    #expect(session.calls.count == 1)
    #expect(session.machine.nextRefresh.at == nil)
  }

  @Test func aFailedBackgroundRefreshIsTriedAgainBeforeExpiry() {
    var session = SessionDriver()
    session.signIn(lifetime: 3600)
    session.advance(by: 1)
    session.useCache()
    // Without further callers it fails once, in the background, and must not stay failed.
    session.advance(to: .seconds(1000) + .seconds(2700))
    #expect(session.calls.count == 1)
    session.finish(fixtures.failed(), after: 0)
    session.advance(by: 300)
    #expect(session.calls.count == 2)
    session.finish(fixtures.token(), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    #expect(session.machine.failures == 0)
    #expect(session.machine.refreshCount == 2)
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
    #expect(session.answer(to: waiter) == .refused(.backendRejected))
    #expect(session.refusal(of: waiter)?.message == "it failed")
    // No RetryAfter where a person must act first. A later caller starts a refresh all the same.
    #expect(session.refusal(of: waiter)?.retryAfter == nil)
    #expect(session.calls.count == 1)
    session.advance(by: 5)
    let next = session.ask()
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: next) == .credentials)
    #expect(session.machine.lastFailure?.failure.failureClass == failureClass)
  }

  @Test func watchersAreToldOfAFailedRefresh() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(fixtures.failed())
    #expect(session.announcements == [.degraded(fixtures.failure())])
    #expect(session.machine.state == .signedIn(.host))
  }

  @Test func anUnavailableUpstreamSignsNoUserOut() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 4 * 3600)
    for _ in 0..<50 {
      session.advance(by: 300)
      fail(&session)
    }
    #expect(session.machine.state == .signedIn(.host))
    #expect(session.machine.identityID == fixtures.identity)
    #expect(!session.announcements.contains { if case .state = $0 { true } else { false } })
  }

  @Test func aPauseIsReportedInWords() {
    var session = SessionDriver()
    #expect(session.machine.nextRefresh.reason == "when somebody asks")
    session.ask()
    #expect(session.machine.nextRefresh.reason == "under way")
    session.finish(fixtures.failed())
    #expect(session.machine.nextRefresh.reason == "after a failure")
    #expect(session.machine.nextRefresh.at == session.machine.nextWake)
    #expect(SessionDriver(.password).machine.nextRefresh.reason == "after a sign-in")
  }
}
