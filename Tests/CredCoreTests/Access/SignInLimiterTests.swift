import Testing

@testable import CredCore

@Suite struct SignInLimiterTests {
  private let start = Instant.seconds(100)

  @Test func threeMistypedPasswordsCostNothing() {
    var limiter = PasswordLimiter()
    for _ in 0..<3 {
      #expect(limiter.attempt(by: 1000, now: start) == nil)
      limiter.failed(1000, now: start)
    }
    #expect(limiter.attempt(by: 1000, now: start) == nil)
    limiter.failed(1000, now: start)
    #expect(limiter.attempt(by: 1000, now: start) == .seconds(2))
  }

  @Test func eachFurtherOneCostsTwiceAsMuchUpToFiveMinutes() {
    var limiter = PasswordLimiter()
    var now = start
    var pauses: [Duration] = []
    for _ in 0..<100 {
      limiter.failed(1000, now: now)
      let pause = limiter.attempt(by: 1000, now: now) ?? .zero
      pauses.append(pause)
      now = now + pause
      #expect(limiter.attempt(by: 1000, now: now) == nil)
    }
    #expect(Array(pauses[..<7]) == [0, 0, 0, 2, 4, 8, 16].map { Duration.seconds($0) })
    #expect(pauses.last == .seconds(300))
  }

  @Test func aSuccessForgivesAll() {
    var limiter = PasswordLimiter()
    for _ in 0..<10 { limiter.failed(1000, now: start) }
    limiter.succeeded(1000)
    #expect(limiter.attempt(by: 1000, now: start) == nil)
    limiter.failed(1000, now: start)
    #expect(limiter.attempt(by: 1000, now: start) == nil)
  }

  @Test func failuresAreForgottenAnHourAfterTheirPause() {
    var limiter = PasswordLimiter()
    for _ in 0..<5 { limiter.failed(1000, now: start) }
    let end = start + .seconds(4)
    var early = limiter
    early.failed(1000, now: end + .seconds(3599))
    #expect(early.attempt(by: 1000, now: end + .seconds(3599)) == .seconds(8))
    limiter.failed(1000, now: end + .seconds(3600))
    #expect(limiter.attempt(by: 1000, now: end + .seconds(3600)) == nil)
  }

  @Test func oneUsersMistakesAreNotAnothers() {
    var limiter = PasswordLimiter()
    for _ in 0..<10 { limiter.failed(1000, now: start) }
    #expect(limiter.attempt(by: 1001, now: start) == nil)
    #expect(limiter.attempt(by: 0, now: start) == nil)
  }

  @Test func whoWaitsLongestIsRememberedWhenTheTableIsFull() {
    var limiter = PasswordLimiter()
    for _ in 0..<20 { limiter.failed(1, now: start) }
    for uid in 0..<UInt32(PasswordLimiter.users) { limiter.failed(10_000 + uid, now: start) }
    #expect(limiter.attempt(by: 1, now: start) == .seconds(300))
  }
}
