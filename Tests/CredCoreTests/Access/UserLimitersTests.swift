import TestSupport
import Testing

@testable import CredCore

struct PasswordLimiterTests {
  private let start = Instant.seconds(100)

  private func attempt(
    _ username: String = "alice", uid: UInt32 = 1000, profile: String = "work"
  ) -> PasswordLimiter.Attempt {
    PasswordLimiter.Attempt(uid: uid, profile: profile, username: username)
  }

  @Test func afterThreeFailuresEachFurtherAttemptWaits() {
    var limiter = PasswordLimiter()
    for _ in 0..<3 {
      expect(limiter.pause(before: attempt(), now: start) == nil)
      limiter.failed(attempt(), now: start)
    }
    expect(limiter.pause(before: attempt(), now: start), equals: .seconds(2))
  }

  @Test func eachFurtherFailureDoublesThePauseUpToFiveMinutes() {
    var limiter = PasswordLimiter()
    var now = start
    var pauses: [Duration] = []
    for _ in 0..<100 {
      limiter.failed(attempt(), now: now)
      let pause = limiter.pause(before: attempt(), now: now) ?? .zero
      pauses.append(pause)
      now = now + pause
      expect(limiter.pause(before: attempt(), now: now) == nil)
    }
    expect(Array(pauses[..<7]), equals: [0, 0, 2, 4, 8, 16, 32].map { Duration.seconds($0) })
    expect(pauses.last, equals: .seconds(300))
  }

  @Test func aSuccessClearsTheFailuresOfItsUserName() {
    var limiter = PasswordLimiter()
    for _ in 0..<5 { limiter.failed(attempt(), now: start) }
    limiter.succeeded(attempt())
    expect(limiter.pause(before: attempt(), now: start) == nil)
    limiter.failed(attempt(), now: start)
    expect(limiter.pause(before: attempt(), now: start) == nil)
  }

  @Test func aSuccessWithOneUserNameClearsNoOther() {
    var limiter = PasswordLimiter()
    for _ in 0..<3 {
      limiter.failed(attempt("victim"), now: start)
      limiter.succeeded(attempt("mallory"))
      limiter.succeeded(attempt("victim", profile: "other"))
    }
    expect(limiter.pause(before: attempt("victim"), now: start), equals: .seconds(2))
    expect(limiter.pause(before: attempt("mallory"), now: start) == nil)
  }

  @Test func noSuccessClearsTheFailuresInAll() {
    var limiter = PasswordLimiter()
    for number in 0..<Limits.User.freeFailuresInAll {
      let victim = attempt("victim\(number)")
      expect(limiter.pause(before: victim, now: start) == nil)
      limiter.failed(victim, now: start)
      limiter.succeeded(attempt("mallory"))
      limiter.succeeded(victim)
    }
    // Whichever name, and whichever profile.
    for next in [attempt("mallory"), attempt("new", profile: "other")] {
      expect(limiter.pause(before: next, now: start), equals: .seconds(2))
    }
    expect(limiter.pause(before: attempt("new", uid: 1001), now: start) == nil)
  }

  @Test func failuresAreForgottenAnHourAfterTheirPause() {
    var limiter = PasswordLimiter()
    for _ in 0..<5 { limiter.failed(attempt(), now: start) }
    let end = start + .seconds(8)
    var early = limiter
    early.failed(attempt(), now: end + .seconds(3599))
    expect(early.pause(before: attempt(), now: end + .seconds(3599)), equals: .seconds(16))
    limiter.failed(attempt(), now: end + .seconds(3600))
    expect(limiter.pause(before: attempt(), now: end + .seconds(3600)) == nil)
  }

  @Test func theEndOfTheLastFailureIsKnown() {
    var limiter = PasswordLimiter()
    expect(limiter.end == nil)
    for _ in 0..<5 { limiter.failed(attempt(), now: start) }
    limiter.failed(attempt(uid: 7), now: start)
    expect(limiter.end, equals: start + .seconds(8) + .seconds(3600))
    // The count of all names stays.
    limiter.succeeded(attempt())
    expect(limiter.end, equals: start + .seconds(3600))
  }

  @Test func failuresOfOneUserDoNotCountForAnother() {
    var limiter = PasswordLimiter()
    for _ in 0..<20 { limiter.failed(attempt(), now: start) }
    expect(limiter.pause(before: attempt(uid: 1001), now: start) == nil)
    expect(limiter.pause(before: attempt(uid: 0), now: start) == nil)
  }

  @Test func aFullTableForgetsThePauseThatEndsFirst() {
    var limiter = PasswordLimiter()
    for _ in 0..<20 { limiter.failed(attempt(uid: 1), now: start) }
    for uid in 0..<UInt32(PasswordLimiter.records) {
      limiter.failed(attempt(uid: 10_000 + uid), now: start)
    }
    expect(limiter.pause(before: attempt(uid: 1), now: start), equals: .seconds(300))
  }
}

/// The counts of second factors, which have no uid.
struct FactorLimiterTests {
  private let start = Instant.seconds(100)

  private func factor(
    _ username: String = "alice", client: String = "client"
  ) throws -> PasswordLimiter.Factor {
    PasswordLimiter.Factor(
      issuer: ProviderIssuer(
        pool: try UserPoolID("us-east-1_AbCdEf123"), clientID: client, url: "https://pool"),
      username: username)
  }

  @Test func aFactorHasACountOfItsOwn() throws {
    var limiter = PasswordLimiter()
    for _ in 0..<Limits.User.freeFailuresOfFactor {
      expect(limiter.pause(before: try factor(), now: start) == nil)
      limiter.failed(try factor(), now: start)
    }
    expect(limiter.pause(before: try factor(), now: start), equals: .seconds(2))
    for other in [try factor("bob"), try factor(client: "other"), try factor("Alice")] {
      expect(limiter.pause(before: other, now: start) == nil)
    }
    // The name may be typed in two ways that Swift takes as equal.
    let composed = [try factor("\u{E9}"), try factor("e\u{301}")]
    expect(composed[0] != composed[1])
  }

  @Test func aFloodOfOthersDoesNotEndTheCountOfTheOneWhoIsAttacked() throws {
    var limiter = PasswordLimiter()
    let victim = PasswordLimiter.Attempt(uid: 1, profile: "work", username: "alice")
    for _ in 0..<8 { limiter.failed(victim, now: start) }
    // The pause has ended, so that it ends before those of all others.
    let later = start + .seconds(300)
    for uid in 0..<UInt32(PasswordLimiter.records + 10) {
      limiter.failed(
        PasswordLimiter.Attempt(uid: 10_000 + uid, profile: "work", username: "bob"), now: later)
    }
    limiter.failed(victim, now: later)
    expect(limiter.pause(before: victim, now: later), equals: .seconds(128))
  }
}

struct CallAllowanceTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func aBurstIsAllowedAndThenARate() {
    var allowance = CallAllowance()
    for _ in 0..<Limits.User.calls {
      expect(allowance.pause(of: 1, now: start) == nil)
      allowance.spent(by: 1, now: start)
    }
    expect(allowance.pause(of: 1, now: start), equals: Limits.User.callPause)
    let later = start + Limits.User.callPause
    expect(allowance.pause(of: 1, now: later) == nil)
    allowance.spent(by: 1, now: later)
    expect(allowance.pause(of: 1, now: later), equals: Limits.User.callPause)
  }

  @Test func callsOfOneUserDoNotCountForAnother() {
    var allowance = CallAllowance()
    for _ in 0..<Limits.User.calls { allowance.spent(by: 1, now: start) }
    expect(allowance.pause(of: 2, now: start) == nil)
  }

  @Test func callsThatAreNeverRefusedCauseNoLongWait() {
    var allowance = CallAllowance()
    for _ in 0..<10_000 { allowance.spent(by: 1, now: start) }
    expect(allowance.pause(of: 1, now: start), equals: Limits.User.callPause)
  }

  @Test func aFullTableForgetsTheUserWithTheFewestCalls() {
    var allowance = CallAllowance()
    for _ in 0..<Limits.User.calls { allowance.spent(by: 0, now: start) }
    for uid in 1..<UInt32(CallAllowance.users + 100) { allowance.spent(by: uid, now: start) }
    expect(allowance.pause(of: 0, now: start) != nil)
  }
}

/// No program on the host may fill the journal.
struct NoticeLimiterTests {
  private let start = Instant.seconds(1000)

  private func subject(_ uid: UInt32 = 1000, _ detail: String = "") -> NoticeLimiter.Subject {
    NoticeLimiter.Subject(event: "refused", profile: "work", uid: uid, detail: detail)
  }

  @Test func theFirstNoticePassesAndTheOthersAreCounted() {
    var limiter = NoticeLimiter(burst: 1)
    expect(limiter.admit(subject(), now: start), equals: 0)
    for second in 1..<60 {
      expect(limiter.admit(subject(), now: start + .seconds(second)) == nil)
    }
    expect(limiter.admit(subject(), now: start + .seconds(60)), equals: 59)
    expect(limiter.admit(subject(), now: start + .seconds(61)) == nil)
    expect(limiter.admit(subject(), now: start + .seconds(200)), equals: 1)
  }

  @Test func allNoticesOfABurstPass() {
    var limiter = NoticeLimiter(burst: 3)
    let passed = (0..<10).map { _ in limiter.admit(subject(), now: start) }
    expect(passed, equals: [0, 0, 0] + [Int?](repeating: nil, count: 7))
  }

  @Test func aDifferentNoticeIsNoRepeat() {
    var limiter = NoticeLimiter(burst: 1)
    expect(limiter.admit(subject(), now: start), equals: 0)
    expect(limiter.admit(subject(1001), now: start), equals: 0)
    expect(limiter.admit(subject(1000, "a.service"), now: start), equals: 0)
    expect(limiter.admit(subject(1000, "b.service"), now: start), equals: 0)
    expect(limiter.admit(subject(1000, "a.service"), now: start) == nil)
  }

  @Test func theNumberOfSubjectsIsBounded() {
    var limiter = NoticeLimiter(burst: 1)
    for uid in 0..<20_000 as Range<UInt32> {
      expect(limiter.admit(subject(uid), now: start), equals: 0)
    }
    // The latest is still known; the oldest may be said once more.
    expect(limiter.admit(subject(19_999), now: start) == nil)
    expect(limiter.admit(subject(0), now: start), equals: 0)
  }
}

struct AccountLimiterTests {
  @Test func eachUserNameAndBackendHasARate() {
    var limiter = AccountLimiter()
    // Three times for one name, then five for one user.
    for second in [0.0, 1, 2] {
      expect(limiter.attempt(by: 1, username: "a", at: "x", now: .seconds(second)) == nil)
    }
    expect(
      limiter.attempt(by: 1, username: "a", at: "x", now: .seconds(10)), equals: .seconds(3600 - 10)
    )
    for name in ["b", "c"] {
      expect(limiter.attempt(by: 1, username: name, at: "x", now: .seconds(10)) == nil)
    }
    expect(limiter.attempt(by: 1, username: "d", at: "x", now: .seconds(11)), equals: .seconds(589))
    expect(limiter.attempt(by: 1, username: "d", at: "x", now: .seconds(600)) == nil)
    // Another user is free, as long as the backend is.
    var accepted = 0
    for uid in 100..<200 as Range<UInt32> {
      if limiter.attempt(by: uid, username: "a", at: "x", now: .seconds(700)) == nil {
        accepted += 1
      }
    }
    expect(accepted, equals: 30)
    expect(limiter.attempt(by: 300, username: "a", at: "y", now: .seconds(700)) == nil)
    expect(limiter.attempt(by: 300, username: "a", at: "x", now: .seconds(760)) == nil)
  }

  /// Pools take a name in any case, so no spelling has messages or tries of its own.
  @Test(arguments: [("bob", "BOB"), ("\u{E9}ve", "E\u{301}VE")])
  func anotherSpellingOfANameIsTheSameName(_ one: String, _ other: String) {
    var messages = AccountLimiter.ofCodes
    var tries = AccountLimiter.ofAnswers
    for number in 0..<10 {
      let time = Instant.seconds(Double(number) * 130)
      let name = number.isMultiple(of: 2) ? one : other
      expect(messages.attempt(by: 1, username: name, at: nil, now: time) == nil)
    }
    expect(messages.pause(of: 1, username: other, at: nil, now: .seconds(1300)) != nil)
    for name in [one, other, one, other, one] {
      expect(
        tries.attempt(by: 1, username: name, for: .newPassword, at: "x", now: .seconds(1)) == nil)
    }
    expect(tries.pause(of: 1, username: other, for: .newPassword, at: "x", now: .seconds(2)) != nil)
    tries.forgetTries(of: other, .newPassword, by: 1)
    expect(tries.pause(of: 1, username: one, for: .newPassword, at: "x", now: .seconds(2)) == nil)
  }

  @Test func theEndOfTheLastRecordIsKnown() {
    var limiter = AccountLimiter()
    expect(limiter.end == nil)
    limiter.count(by: 1, username: "a", at: "x", now: .seconds(10))
    limiter.count(by: 2, username: "b", at: nil, now: .seconds(20))
    expect(limiter.end, equals: .seconds(3620))
  }

  @Test func codesOfSignInsAreSharedByTheUsersOfABackend() {
    var limiter = AccountLimiter.ofCodes
    for uid in 0..<40 as Range<UInt32> {
      expect(limiter.attempt(by: uid, username: "a", at: "x", now: .seconds(1)) == nil)
    }
    expect(limiter.pause(of: 0, username: "a", at: "x", now: .seconds(2)), equals: .seconds(59))
    expect(limiter.pause(of: 0, username: "a", at: nil, now: .seconds(2)) == nil)
    expect(limiter.pause(of: 99, username: "a", at: "x", now: .seconds(2)) == nil)
    expect(limiter.pause(of: 0, username: "a", at: "x", now: .seconds(61)) == nil)
  }

  @Test func aFloodOfOthersDoesNotEndACount() {
    var limiter = AccountLimiter.ofCodes
    for _ in 0..<5 { limiter.count(by: 1, username: "a", at: nil, now: .seconds(1)) }
    for uid in 0..<UInt32(AccountLimiter.records + 10) {
      limiter.count(by: 1000 + uid, username: "b", at: nil, now: .seconds(2))
    }
    expect(limiter.pause(of: 1, username: "a", at: nil, now: .seconds(3)), equals: .seconds(598))
  }
}
