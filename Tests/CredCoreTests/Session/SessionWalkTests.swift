import CredCore
import TestSupport
import Testing

struct SessionWalkTests {
  @Test(
    arguments: [
      SessionPlan(backend: .host), SessionPlan(backend: .host, flow: .basic, allowsGuests: true),
      SessionPlan(backend: .password), SessionPlan(backend: .password, allowsGuests: true),
      SessionPlan(backend: .none, allowsGuests: true),
      SessionPlan(backend: .none, flow: .basic, allowsGuests: true),
      SessionPlan(backend: .none, tokenFileProvider: "oidc.example.com"),
      SessionPlan(backend: .host, tokenFileProvider: "oidc.example.com"),
      SessionPlan(backend: .provider(Fixtures.issuer)),
      SessionPlan(backend: .provider(Fixtures.issuer), flow: .basic, allowsGuests: true),
    ], 0..<UInt64(max(TestRounds.of(10), 2)))
  func randomEventsBreakNoPromise(_ plan: SessionPlan, _ seed: UInt64) {
    var walk = SessionWalk(plan, seed: seed, restarts: seed % 2 == 1)
    for _ in 0..<500 { walk.step() }
    expect(walk.violations.first == nil, "\(walk.violations.first ?? "")")
  }

  @Test func theWalkMakesManyCalls() {
    var walk = SessionWalk(SessionPlan(backend: .host), seed: 2)
    for _ in 0..<2000 { walk.step() }
    expect(walk.session.calls.count > 150)
    expect(walk.session.machine.refreshCount > 20)
  }

  /// An hour of impatient callers, one a second, while nothing works.
  @Test(arguments: SessionWalk.failures.prefix(TestRounds.isShort ? 4 : .max))
  func callsAreBoundedWhileEverythingFails(_ failureClass: FailureClass) {
    let fixtures = Fixtures()
    var session = SessionDriver()
    for _ in 0..<3600 {
      session.ask()
      for _ in 0..<20 where !session.openCalls.isEmpty {
        session.finish(fixtures.failed(failureClass), after: 0)
      }
      session.advance(by: 1)
      session.forget()
    }
    let attempts = session.machine.failures
    expect(attempts <= 3600 / 2)
    expect(session.calls.count <= 2 * attempts)
    expect(session.machine.waiterCount <= 5)
  }

  /// The same with valid credentials: then callers start no refresh earlier.
  @Test(arguments: SessionWalk.failures.prefix(TestRounds.isShort ? 4 : .max))
  func backOffIsKeptWhileTheCacheServes(_ failureClass: FailureClass) {
    let fixtures = Fixtures()
    var session = SessionDriver()
    session.signIn(fixtures, lifetime: 12 * 3600)
    session.advance(by: 7 * 3600)
    for _ in 0..<3600 {
      session.ask()
      for _ in 0..<20 where !session.openCalls.isEmpty {
        session.finish(fixtures.failed(failureClass), after: 0)
      }
      session.advance(by: 1)
      session.forget()
    }
    expect((4...60).contains(session.machine.failures))
    expect(session.machine.credentials != nil)
  }
}
