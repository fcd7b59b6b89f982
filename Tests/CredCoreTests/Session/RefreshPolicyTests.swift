import SeededRandom
import TestSupport
import Testing

@testable import CredCore

/// The arithmetic of lifetimes, for all that upstreams grant.
struct RefreshPolicyTests {
  static let lifetimes = stride(from: 60.0, through: 12 * 3600, by: 30).map {
    Duration.seconds(1) * $0
  }
  static let jitters = [0, 0.001, 0.25, 0.5, 0.75, 0.999]
  let received = Instant.seconds(1_000_000)

  @Test(arguments: jitters)
  func theInstantsOfALifetimeAreInOrder(_ jitter: Double) {
    let wrong = Self.lifetimes.filter { lifetime in
      let expires = received + lifetime
      let refresh = RefreshPolicy.refreshTime(
        received: received, lifetime: lifetime, jitter: jitter)
      let fresh = RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime)
      let servable = RefreshPolicy.servableUntil(expires: expires, lifetime: lifetime)
      return received >= refresh || refresh >= fresh || fresh >= servable || servable >= expires
    }
    expect(wrong, equals: [])
  }

  @Test(arguments: jitters)
  func twentyMinutesAreLeftAtTheRefreshWhereTheLifetimeAllows(_ jitter: Double) {
    for lifetime in Self.lifetimes where lifetime >= .seconds(27 * 60) {
      let refresh = RefreshPolicy.refreshTime(
        received: received, lifetime: lifetime, jitter: jitter)
      expect(received + lifetime - refresh >= .seconds(20 * 60))
    }
  }

  @Test(arguments: jitters)
  func evenAShortLifetimeIsRenewedWithAPause(_ jitter: Double) {
    for lifetime in Self.lifetimes {
      let refresh = RefreshPolicy.refreshTime(
        received: received, lifetime: lifetime, jitter: jitter)
      expect(refresh - received >= lifetime * 0.199)
    }
  }

  @Test(arguments: jitters)
  func anHourIsRenewedAroundItsHalf(_ jitter: Double) {
    let refresh = RefreshPolicy.refreshTime(
      received: received, lifetime: .seconds(3600), jitter: jitter)
    expect((.seconds(1620)...(.seconds(1980))).contains(refresh - received))
  }

  @Test func theJitterSpreadsSessionsThatBeganTogether() {
    let early = RefreshPolicy.refreshTime(received: received, lifetime: .seconds(3600), jitter: 0)
    let late = RefreshPolicy.refreshTime(
      received: received, lifetime: .seconds(3600), jitter: 0.999)
    expect(late - early > .seconds(350))
  }

  @Test func freshCredentialsHaveMoreThanFifteenMinutesLeft() {
    for lifetime in Self.lifetimes where lifetime >= .seconds(30 * 60) {
      let expires = received + lifetime
      expect(
        expires - RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime)
          >= .seconds(15 * 60))
    }
  }

  @Test func theLastMinuteOfAnHourAndTheLastTenthOfAMinuteAreWithheld() {
    let hour = received + .seconds(3600)
    let minute = received + .seconds(60)
    expect(
      RefreshPolicy.servableUntil(expires: hour, lifetime: .seconds(3600)),
      equals: hour - .seconds(60))
    expect(
      RefreshPolicy.servableUntil(expires: minute, lifetime: .seconds(60)),
      equals: minute - .seconds(6))
    expect(
      RefreshPolicy.tokenUsableUntil(expires: hour, lifetime: .seconds(3600)),
      equals: hour - .seconds(60)
    )
    expect(
      RefreshPolicy.tokenUsableUntil(expires: minute, lifetime: .seconds(60)),
      equals: minute
        - .seconds(6))
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max / 2), .zero])
  func absurdLifetimesDoNotTrap(_ lifetime: Duration) {
    let refresh = RefreshPolicy.refreshTime(received: received, lifetime: lifetime, jitter: 0.5)
    expect(refresh >= received)
    expect(RefreshPolicy.freshUntil(expires: received + lifetime, lifetime: lifetime) >= received)
  }
}

struct BackOffTests {
  @Test(arguments: 0..<50 as Range<UInt64>)
  func pausesStayWithinTheirBounds(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var backOff = BackOff()
    var ceiling = Duration.seconds(3)
    for attempt in 1...40 {
      let pause = backOff.failed(
        .transient(retryAfter: nil), jitter: .random(in: 0..<1, using: &generator))
      expect(pause >= .seconds(1) && pause <= min(ceiling, .seconds(300)))
      ceiling = ceiling * 3
      expect(backOff.failures, equals: attempt)
    }
  }

  @Test func pausesGrowToFiveMinutesAndStay() {
    var backOff = BackOff()
    let pauses = (0..<12).map { _ in backOff.failed(.throttled(retryAfter: nil), jitter: 0.999_999)
    }
    expect(pauses.last, equals: .seconds(300))
    expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test func theServerIsNeverAskedSoonerThanItWants() {
    var backOff = BackOff()
    expect(
      backOff.failed(.throttled(retryAfter: .seconds(3600)), jitter: 0), equals: .seconds(3600))
    expect(backOff.failed(.transient(retryAfter: .zero), jitter: 0), equals: .seconds(1))
  }

  @Test func sessionsWithTheSameRetryAfterComeBackSpread() {
    var (lucky, unlucky) = (BackOff(), BackOff())
    let asked = FailureClass.throttled(retryAfter: .seconds(30))
    expect(lucky.failed(asked, jitter: 0), equals: .seconds(30))
    expect(unlucky.failed(asked, jitter: 0.999) > .seconds(31))
  }

  @Test func aMistakenRetryAfterEndsNoSession() {
    var backOff = BackOff()
    let asked = FailureClass.throttled(retryAfter: .seconds(Int32.max))
    expect(backOff.failed(asked, jitter: 0), equals: .seconds(3600))
  }

  @Test(arguments: [FailureClass.conflict, .newTokenOnce, .signInRequired, .poolMisconfigured])
  func permanentFailuresPauseForFiveMinutes(_ failureClass: FailureClass) {
    var backOff = BackOff()
    expect(backOff.failed(failureClass, jitter: 0), equals: .seconds(300))
  }
}

/// The promises of the policy, for every lifetime from a minute to twelve hours, second by second.
struct RefreshPolicyProofTests {
  static let lifetimes = 60...43_200
  let received = Instant.seconds(1_000_000)

  private func refresh(_ lifetime: Duration, _ jitter: Double) -> Duration {
    RefreshPolicy.refreshTime(received: received, lifetime: lifetime, jitter: jitter) - received
  }

  @Test func everyLifetimeIsRenewedInTimeAndSpread() {
    var generator = SeededGenerator(seed: 1)
    var wrong: [String] = []
    for seconds in Self.lifetimes {
      let lifetime = Duration.seconds(seconds)
      let (earliest, latest) = (refresh(lifetime, 0), refresh(lifetime, 1))
      let between = refresh(lifetime, .random(in: 0..<1, using: &generator))
      let isWithin = earliest <= between && between <= latest
      let keepsReserve = seconds < 1600 || lifetime - latest >= .seconds(20 * 60)
      let isEarlyEnough = latest <= lifetime * 0.551
      let isLateEnough = earliest >= lifetime * 0.199
      let isSpread = latest - earliest >= lifetime * 0.045
      if !(isWithin && keepsReserve && isEarlyEnough && isLateEnough && isSpread) {
        wrong.append("\(seconds) s: \(earliest) to \(latest)")
      }
    }
    expect(wrong.prefix(5), equals: [])
  }

  @Test func credentialsHandedOutAreNeverExpired() {
    var wrong: [Int] = []
    for seconds in Self.lifetimes {
      let lifetime = Duration.seconds(seconds)
      let expires = received + lifetime
      let fresh = RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime)
      let servable = RefreshPolicy.servableUntil(expires: expires, lifetime: lifetime)
      let isInOrder = received + refresh(lifetime, 1) <= fresh && fresh < servable
      // A minute, or a tenth of a life that is short itself.
      let isBeforeTheEnd = expires - servable >= min(.seconds(60), lifetime * 0.099)
      if !(isInOrder && isBeforeTheEnd) { wrong.append(seconds) }
    }
    expect(wrong.prefix(5), equals: [])
  }

  /// 100,000 sessions that began at once: no second has more than three times its even share.
  @Test(arguments: [900, 1800, 3600, 43_200])
  func refreshesOfSessionsThatBeganTogetherAreSpread(_ seconds: Int) {
    var generator = SeededGenerator(seed: 7)
    let lifetime = Duration.seconds(seconds)
    var due: [Int64: Int] = [:]
    for _ in 0..<100_000 {
      let at = refresh(lifetime, .random(in: 0..<1, using: &generator))
      due[at.components.seconds, default: 0] += 1
    }
    let window = refresh(lifetime, 1) - refresh(lifetime, 0)
    expect(window > lifetime * 0.04)
    expect(Double(due.values.max() ?? 0) <= 3 * 100_000 / window.inSeconds)
  }
}

/// 100,000 sessions whose refresh is overdue together, as after a restart.
struct SpreadTests {
  @Test func overdueSessionsAreRenewedAtTheRateAndCallersGoFirst() {
    let rate = Rate.perSecond(200)
    var gate = AdmissionDriver(rate: rate, width: 32)
    for _ in 0..<100_000 { gate.ask() }
    let person = gate.ask(inPerson: true)
    // What does not fit is told to come back; what fits goes at the rate.
    expect(gate.refused.count, equals: 100_000 - Admission.queueLimit - gate.admitted.count)
    var done = 0
    for _ in 0..<100 {
      while done < gate.admitted.count {
        gate.end(gate.admitted[done])
        done += 1
      }
      gate.advance(by: 0.1)
    }
    let position = gate.admitted.firstIndex(of: person) ?? .max
    expect(position <= rate.burst + 32)
    let seconds = 10.0
    expect(Double(gate.admitted.count) <= 200 * seconds + Double(rate.burst))
    expect(Double(gate.admitted.count) >= 200 * seconds * 0.95)
  }

  /// Sessions that were told to come back do not come back at one moment.
  @Test func refusedSessionsComeBackSpread() {
    var generator = SeededGenerator(seed: 3)
    var returns: [Int64: Int] = [:]
    for _ in 0..<90_000 {
      var backOff = BackOff()
      var at = Duration.zero
      for _ in 0..<6 {
        let jitter = Double.random(in: 0..<1, using: &generator)
        at += backOff.failed(.throttled(retryAfter: .seconds(5)), jitter: jitter)
      }
      returns[at.components.seconds, default: 0] += 1
    }
    expect((returns.values.max() ?? 0) < 90_000 / 20)
  }
}
