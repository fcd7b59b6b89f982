import CredCore
import TestSupport
import Testing

/// One refresh for all callers, which no caller disturbs.
struct SingleFlightTests {
  let fixtures = Fixtures()

  @Test func aColdGetMakesOneCallbackAndOneExchange() {
    var session = SessionDriver()
    let waiter = session.ask()
    expect(session.calls, equals: [fixtures.callback()])
    session.finish(fixtures.token())
    // The developer token goes to Cognito with the backend's identity: never through GetId.
    expect(session.calls, equals: [fixtures.callback(), fixtures.exchange()])
    expect(session.answer(to: waiter) == nil)
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.calls.count, equals: 2)
    expect(session.machine.state, equals: .signedIn(.host))
    expect(session.machine.refreshCount, equals: 1)
  }

  @Test func theReplyIsRenderedBeforeItIsGiven() {
    var session = SessionDriver()
    let waiter = session.ask()
    session.finish(fixtures.token())
    let actions = session.finish(fixtures.credentials())
    expect(
      actions,
      equals: [
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
    expect(session.calls.count, equals: 2)
    expect((waiters + [late]).allSatisfy { session.answer(to: $0) == .credentials })
    expect(session.actions.count { $0 == .giveCredentials(late) }, equals: 1)
    expect(session.machine.waiterCount, equals: 0)
  }

  @Test func refreshContinuesWhenItsFirstCallerLeaves() {
    var session = SessionDriver()
    let first = session.ask()
    let second = session.ask()
    session.leave(first)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: first) == nil)
    expect(session.answer(to: second), equals: .credentials)
    expect(session.calls.count, equals: 2)
  }

  @Test func refreshContinuesWhenItsLastCallerLeaves() {
    var session = SessionDriver()
    session.leave(session.ask())
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    let next = session.ask()
    expect(session.answer(to: next), equals: .credentials)
    expect(session.calls.count, equals: 2)
  }

  @Test func aCallerThatLeavesDuringAPauseCancelsTheRetry() {
    var session = SessionDriver()
    let waiter = session.ask(wait: .seconds(300))
    session.finish(fixtures.failed())
    expect(session.wakesIn < .seconds(4))
    session.leave(waiter)
    expect(session.machine.nextWake, equals: .distantFuture)
    expect(session.calls.count, equals: 1)
  }

  @Test func anUnknownWaiterThatLeavesIsIgnored() {
    var session = SessionDriver()
    let waiter = session.ask()
    session.leave(99)
    session.finish(fixtures.failed(.unknownUser))
    expect(session.answer(to: waiter), equals: .refused(.backendUnavailable))
  }

  @Test func aRepeatedOutcomeIsIgnored() {
    var session = SessionDriver()
    session.ask()
    session.finish(call: 1, fixtures.token())
    session.forget()
    expect(session.finish(call: 1, fixtures.token(of: fixtures.other)), equals: [])
    expect(session.finish(call: 1, fixtures.failed()), equals: [])
    expect(session.finish(call: 77, fixtures.credentials()), equals: [])
    expect(session.machine.identityID, equals: fixtures.identity)
    session.finish(call: 2, fixtures.credentials())
    expect(session.finish(call: 2, fixtures.failed()), equals: [])
    expect(session.machine.lastFailure == nil)
  }

  @Test func aTokenRequestMakesNoExchange() {
    var session = SessionDriver()
    let waiter = session.ask(.token)
    session.finish(fixtures.token())
    expect(session.answer(to: waiter), equals: .token)
    expect(session.calls, equals: [fixtures.callback()])
    expect(session.machine.credentials == nil)
  }

  @Test func aCallerForCredentialsJoinsARefreshForAToken() {
    var session = SessionDriver()
    let token = session.ask(.token)
    session.advance(by: 0.1)
    let credentials = session.ask()
    session.finish(fixtures.token())
    expect(session.answer(to: token), equals: .token)
    expect(session.calls, equals: [fixtures.callback(), fixtures.exchange()])
    session.finish(fixtures.credentials())
    expect(session.answer(to: credentials), equals: .credentials)
    expect(session.calls.count, equals: 2)
  }

  @Test func aCallerForATokenJoinsARefreshForCredentials() {
    var session = SessionDriver()
    session.ask()
    let token = session.ask(.token)
    session.finish(fixtures.token())
    expect(session.answer(to: token), equals: .token)
    expect(session.calls.count, equals: 2)
  }

  @Test func aTokenThatDoesNotSuitAWaiterIsFetchedAnewAfterTheExchange() {
    var session = SessionDriver()
    session.signIn(tokenLifetime: 900)
    session.advance(by: 800)
    session.askForAWholeHour()
    let token = session.ask(.token, minimumLife: .seconds(600))
    expect(session.calls, equals: [fixtures.exchange()])
    session.finish(fixtures.credentials())
    expect(session.calls, equals: [fixtures.exchange(), fixtures.callback(fixtures.identity)])
    session.finish(fixtures.token())
    expect(session.answer(to: token), equals: .token)
    expect(session.calls.count, equals: 2)
  }
}
