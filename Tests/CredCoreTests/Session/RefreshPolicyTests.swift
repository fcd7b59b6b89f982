import Testing

@testable import CredCore

/// The arithmetic of lifetimes, over all that upstreams grant.
@Suite struct RefreshPolicyTests {
  static let lifetimes = stride(from: 60.0, through: 12 * 3600, by: 30).map {
    Duration.seconds(1) * $0
  }
  static let jitters = [0, 0.001, 0.25, 0.5, 0.75, 0.999]
  let received = Instant.seconds(1_000_000)

  @Test(arguments: jitters)
  func theTimesOfALifetimeAreInOrder(_ jitter: Double) {
    let wrong = Self.lifetimes.filter { lifetime in
      let expires = received + lifetime
      let refresh = RefreshPolicy.refreshTime(
        received: received, lifetime: lifetime, jitter: jitter)
      let fresh = RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime)
      let servable = RefreshPolicy.servableUntil(expires: expires, lifetime: lifetime)
      return received >= refresh || refresh >= fresh || fresh >= servable || servable >= expires
    }
    #expect(wrong == [])
  }

  @Test(arguments: jitters)
  func twentyMinutesAreLeftAtTheRefreshWhereTheLifetimeAllows(_ jitter: Double) {
    for lifetime in Self.lifetimes where lifetime >= .seconds(27 * 60) {
      let refresh = RefreshPolicy.refreshTime(
        received: received, lifetime: lifetime, jitter: jitter)
      #expect(received + lifetime - refresh >= .seconds(20 * 60))
    }
  }

  @Test(arguments: jitters)
  func noLifetimeIsTooShortForAPause(_ jitter: Double) {
    for lifetime in Self.lifetimes {
      let refresh = RefreshPolicy.refreshTime(
        received: received, lifetime: lifetime, jitter: jitter)
      #expect(refresh - received >= lifetime * 0.199)
    }
  }

  @Test(arguments: jitters)
  func anHourIsRenewedAroundItsHalf(_ jitter: Double) {
    let refresh = RefreshPolicy.refreshTime(
      received: received, lifetime: .seconds(3600), jitter: jitter)
    #expect((.seconds(1620)...(.seconds(1980))).contains(refresh - received))
  }

  @Test func theJitterSpreadsSessionsThatBeganTogether() {
    let early = RefreshPolicy.refreshTime(received: received, lifetime: .seconds(3600), jitter: 0)
    let late = RefreshPolicy.refreshTime(
      received: received, lifetime: .seconds(3600), jitter: 0.999)
    #expect(late - early > .seconds(350))
  }

  @Test func moreThanFifteenMinutesAreLeftOfWhatIsFresh() {
    for lifetime in Self.lifetimes where lifetime >= .seconds(30 * 60) {
      let expires = received + lifetime
      #expect(
        expires - RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime)
          >= .seconds(15 * 60))
    }
  }

  @Test func aMinuteIsKeptBackOfAnHourAndATenthOfAMinute() {
    let hour = received + .seconds(3600)
    let minute = received + .seconds(60)
    #expect(
      RefreshPolicy.servableUntil(expires: hour, lifetime: .seconds(3600)) == hour - .seconds(60))
    #expect(
      RefreshPolicy.servableUntil(expires: minute, lifetime: .seconds(60)) == minute - .seconds(6))
    #expect(
      RefreshPolicy.tokenUsableUntil(expires: hour, lifetime: .seconds(3600)) == hour - .seconds(60)
    )
    #expect(
      RefreshPolicy.tokenUsableUntil(expires: minute, lifetime: .seconds(60)) == minute
        - .seconds(6))
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max / 2), .zero])
  func absurdLifetimesAreNoCrash(_ lifetime: Duration) {
    let refresh = RefreshPolicy.refreshTime(received: received, lifetime: lifetime, jitter: 0.5)
    #expect(refresh >= received)
    #expect(RefreshPolicy.freshUntil(expires: received + lifetime, lifetime: lifetime) >= received)
  }
}

@Suite struct BackOffTests {
  @Test(arguments: 0..<50 as Range<UInt64>)
  func pausesStayWithinTheirBounds(_ seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    var backOff = BackOff()
    var ceiling = Duration.seconds(3)
    for attempt in 1...40 {
      let pause = backOff.failed(
        .transient(retryAfter: nil), jitter: .random(in: 0..<1, using: &dice))
      #expect(pause >= .seconds(1) && pause <= min(ceiling, .seconds(300)))
      ceiling = ceiling * 3
      #expect(backOff.failures == attempt)
    }
  }

  @Test func theWorstLuckReachesFiveMinutesAndStays() {
    var backOff = BackOff()
    let pauses = (0..<12).map { _ in backOff.failed(.throttled(retryAfter: nil), jitter: 0.999_999)
    }
    #expect(pauses.last == .seconds(300))
    #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test func theServerIsNeverAskedSoonerThanItWants() {
    var backOff = BackOff()
    #expect(backOff.failed(.throttled(retryAfter: .seconds(3600)), jitter: 0) == .seconds(3600))
    #expect(backOff.failed(.transient(retryAfter: .zero), jitter: 0) == .seconds(1))
  }

  @Test func whoWasToldTheSameTimeComesBackSpread() {
    var (lucky, unlucky) = (BackOff(), BackOff())
    let asked = FailureClass.throttled(retryAfter: .seconds(30))
    #expect(lucky.failed(asked, jitter: 0) == .seconds(30))
    #expect(unlucky.failed(asked, jitter: 0.999) > .seconds(31))
  }

  @Test func aMistakenRetryAfterEndsNoSession() {
    var backOff = BackOff()
    let asked = FailureClass.throttled(retryAfter: .seconds(Int32.max))
    #expect(backOff.failed(asked, jitter: 0) == .seconds(3600))
  }

  @Test(arguments: [FailureClass.conflict, .newTokenOnce, .signInRequired, .poolMisconfigured])
  func whatTimeWillNotHealRestsForFiveMinutes(_ failureClass: FailureClass) {
    var backOff = BackOff()
    #expect(backOff.failed(failureClass, jitter: 0) == .seconds(300))
  }
}
