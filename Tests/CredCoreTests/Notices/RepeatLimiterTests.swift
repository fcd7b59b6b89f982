import CredCore
import Testing

/// A loop on the host must not fill the journal.
@Suite struct RepeatLimiterTests {
  private let start = Instant.seconds(1000)

  private func subject(_ uid: UInt32 = 1000, _ detail: String = "") -> NoticeLimiter.Subject {
    NoticeLimiter.Subject(event: "refused", profile: "work", uid: uid, detail: detail)
  }

  @Test func theFirstPassesAndTheRestAreCounted() {
    var limiter = NoticeLimiter(burst: 1)
    #expect(limiter.admit(subject(), now: start) == 0)
    for second in 1..<60 {
      #expect(limiter.admit(subject(), now: start + .seconds(second)) == nil)
    }
    #expect(limiter.admit(subject(), now: start + .seconds(60)) == 59)
    #expect(limiter.admit(subject(), now: start + .seconds(61)) == nil)
    #expect(limiter.admit(subject(), now: start + .seconds(200)) == 1)
  }

  @Test func aBurstPassesWhole() {
    var limiter = NoticeLimiter(burst: 3)
    let passed = (0..<10).map { _ in limiter.admit(subject(), now: start) }
    #expect(passed == [0, 0, 0] + [Int?](repeating: nil, count: 7))
  }

  @Test func whatDiffersIsNoRepeat() {
    var limiter = NoticeLimiter(burst: 1)
    #expect(limiter.admit(subject(), now: start) == 0)
    #expect(limiter.admit(subject(1001), now: start) == 0)
    #expect(limiter.admit(subject(1000, "a.service"), now: start) == 0)
    #expect(limiter.admit(subject(1000, "b.service"), now: start) == 0)
    #expect(limiter.admit(subject(1000, "a.service"), now: start) == nil)
  }

  @Test func aFloodOfSubjectsIsHeldInBounds() {
    var limiter = NoticeLimiter(burst: 1)
    for uid in 0..<20_000 as Range<UInt32> { #expect(limiter.admit(subject(uid), now: start) == 0) }
    // The latest is still known; the oldest may be said once more.
    #expect(limiter.admit(subject(19_999), now: start) == nil)
    #expect(limiter.admit(subject(0), now: start) == 0)
  }
}
