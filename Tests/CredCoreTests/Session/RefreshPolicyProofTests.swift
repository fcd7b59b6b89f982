import Testing

@testable import CredCore

/// What the policy promises, over every lifetime from a minute to twelve hours, second by second.
@Suite struct RefreshPolicyProofTests {
  static let lifetimes = 60...43_200
  let received = Instant.seconds(1_000_000)

  private func refresh(_ lifetime: Duration, _ jitter: Double) -> Duration {
    RefreshPolicy.refreshTime(received: received, lifetime: lifetime, jitter: jitter) - received
  }

  @Test func everyLifetimeIsRenewedInTimeAndSpread() {
    var dice = SeededGenerator(seed: 1)
    var wrong: [String] = []
    for seconds in Self.lifetimes {
      let lifetime = Duration.seconds(seconds)
      let (earliest, latest) = (refresh(lifetime, 0), refresh(lifetime, 1))
      let between = refresh(lifetime, .random(in: 0..<1, using: &dice))
      let isWithin = earliest <= between && between <= latest
      let keepsReserve = seconds < 1600 || lifetime - latest >= .seconds(20 * 60)
      let isEarlyEnough = latest <= lifetime * 0.551
      let isLateEnough = earliest >= lifetime * 0.199
      let isSpread = latest - earliest >= lifetime * 0.045
      if !(isWithin && keepsReserve && isEarlyEnough && isLateEnough && isSpread) {
        wrong.append("\(seconds) s: \(earliest) to \(latest)")
      }
    }
    #expect(wrong.prefix(5) == [])
  }

  @Test func whatIsHandedOutIsNeverExpired() {
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
    #expect(wrong.prefix(5) == [])
  }

  /// 100,000 sessions that began at once: no second has more than three times its even share.
  @Test(arguments: [900, 1800, 3600, 43_200])
  func aHerdIsSpread(_ seconds: Int) {
    var dice = SeededGenerator(seed: 7)
    let lifetime = Duration.seconds(seconds)
    var due: [Int64: Int] = [:]
    for _ in 0..<100_000 {
      let at = refresh(lifetime, .random(in: 0..<1, using: &dice))
      due[at.components.seconds, default: 0] += 1
    }
    let window = refresh(lifetime, 1) - refresh(lifetime, 0)
    #expect(Double(due.values.max() ?? 0) <= 3 * 100_000 / window.inSeconds)
  }
}

/// 100,000 sessions whose refresh is overdue together, as after a restart.
@Suite struct HerdTests {
  @Test func overdueSessionsAreRenewedAtTheRateAndCallersGoFirst() {
    let rate = Rate.perSecond(200)
    var gate = AdmissionDriver(rate: rate, width: 32)
    for _ in 0..<100_000 { gate.ask() }
    let person = gate.ask(inPerson: true)
    // What does not fit is told to come back; what fits goes at the rate.
    #expect(gate.refused.count == 100_000 - Admission.queueLimit - gate.admitted.count)
    var done = 0
    for _ in 0..<100 {
      while done < gate.admitted.count {
        gate.end(gate.admitted[done])
        done += 1
      }
      gate.advance(by: 0.1)
    }
    let position = gate.admitted.firstIndex(of: person) ?? .max
    #expect(position <= rate.burst + 32)
    let seconds = 10.0
    #expect(Double(gate.admitted.count) <= 200 * seconds + Double(rate.burst))
    #expect(Double(gate.admitted.count) >= 200 * seconds * 0.95)
  }

  /// Who was told to come back does not come back in one moment either.
  @Test func thoseWhoFoundNoPlaceComeBackSpread() {
    var dice = SeededGenerator(seed: 3)
    var returns: [Int64: Int] = [:]
    for _ in 0..<90_000 {
      var backOff = BackOff()
      var at = Duration.zero
      for _ in 0..<6 {
        let jitter = Double.random(in: 0..<1, using: &dice)
        at += backOff.failed(.throttled(retryAfter: .seconds(5)), jitter: jitter)
      }
      returns[at.components.seconds, default: 0] += 1
    }
    #expect((returns.values.max() ?? 0) < 90_000 / 20)
  }
}
