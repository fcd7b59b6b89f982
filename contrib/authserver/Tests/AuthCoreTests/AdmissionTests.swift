import AuthCore
import Testing

/// The quota, the pauses after wrong guesses, and the reuse of tokens.
struct AdmissionTests {
  private let start = Timestamp(milliseconds: 1_700_000_000_000)

  @Test func theBucketNeverGivesMoreThanTheRate() {
    var bucket = SharedBucket(level: 40_000, updated: start)
    var taken = 0
    // Two servers, every 100 ms, one of them with a clock that is a second behind.
    for step in 0..<100 {
      let now = start + Interval(milliseconds: Int64(step) * 100)
      taken += bucket.take(20, rate: 40, at: now)
      taken += bucket.take(20, rate: 40, at: now + .seconds(-1))
    }
    #expect(taken >= 40 * 10)
    #expect(taken <= 40 * 11)
  }

  @Test func anIdleBucketHoldsOneSecond() {
    var bucket = SharedBucket(level: 0, updated: start)
    #expect(bucket.take(1000, rate: 40, at: start + .hours(5)) == 40)
    #expect(bucket.take(1, rate: 40, at: start + .hours(5)) == 0)
  }

  @Test func hostsTakeTurns() {
    var admission = Admission<Int>(rate: 40)
    var entered = (0..<100).map { admission.enter($0, host: "big", at: start) }
    entered.append(admission.enter(1000, host: "small", at: start))
    entered.append(admission.enter(1001, host: "tiny", at: start))
    #expect(entered.allSatisfy { $0 == .waits })
    #expect(admission.add(4, at: start) == [0, 1000, 1001, 1])
    #expect(admission.add(1000, at: start) == Array(2..<100))
    #expect(admission.count == 0)
    // What is left of the slice is for those that come next.
    #expect(admission.enter(5000, host: "big", at: start) == .goesAhead)
  }

  @Test func whoHasWaitedLongIsToldWhenToComeBack() {
    var admission = Admission<Int>(rate: 40)
    let later = start + Limits.quotaWait
    for (waiter, host) in [(1, "a"), (2, "b"), (3, "a")] {
      #expect(admission.enter(waiter, host: host, at: start) == .waits)
    }
    #expect(admission.enter(4, host: "a", at: later) == .waits)
    #expect(admission.removeLate(at: later).isEmpty)
    let late = admission.removeLate(at: later + Interval(milliseconds: 1))
    #expect(Set(late.map(\.waiter)) == [1, 2, 3] && late.allSatisfy { $0.retryAfter >= 1 })
    #expect(admission.count == 1 && admission.removeAll() == [4] && admission.count == 0)
  }

  @Test func oneHostDoesNotFillTheQueue() {
    var admission = Admission<Int>(rate: 40)
    var entered = 0
    while admission.enter(entered, host: "big", at: start) == .waits { entered += 1 }
    #expect(entered == Limits.waitingCallbacks)
    // One that comes later is let in, in place of the latest of those.
    for index in 1...10 {
      guard case .waitsInPlace(let gone) = admission.enter(-index, host: "other", at: start) else {
        Issue.record("it was not let in")
        return
      }
      #expect(gone.waiter == entered - index)
    }
    #expect(admission.count == Limits.waitingCallbacks)
    #expect(admission.add(2, at: start) == [0, -1])
    // The one with most gets nothing for it.
    guard case .refused = admission.enter(5000, host: "big", at: start) else {
      Issue.record("it was let in")
      return
    }
  }

  @Test func aClockThatWasAheadIsForgotten() {
    var bucket = SharedBucket(level: 0, updated: start + .days(1))
    #expect(bucket.take(1, rate: 40, at: start) == 0)
    #expect(bucket.take(1000, rate: 40, at: start + .seconds(1)) == 40)
    let guesses = Guesses(failures: 100, last: start + .days(1))
    #expect(guesses.pause(free: 5, at: start) == nil)
    let soon = Guesses(failures: 100, last: start + .seconds(30))
    #expect(soon.pause(free: 5, at: start) == Limits.longestPause)
  }

  @Test func refusedCallbacksComeBackOneAfterTheOther() {
    var admission = Admission<Int>(rate: 40)
    func fill(_ host: String) {
      var waiter = 0
      while case .waits = admission.enter(waiter, host: host, at: start) { waiter += 1 }
    }
    func retryAfter(_ host: String) -> Int64 {
      guard case .refused(let seconds) = admission.enter(-1, host: host, at: start) else {
        return 0
      }
      return Int64(seconds)
    }
    fill("a")
    let times = (0..<400).map { _ in retryAfter("a") }
    #expect(times == times.sorted())
    #expect((9...11).contains(times[399]))
    // Nobody is sent away for longer than the limit.
    for _ in 0..<100_000 { _ = retryAfter("a") }
    #expect(retryAfter("a") <= Limits.longestRetry.milliseconds / 1000)
    // Another host's first is not made to wait for all of those.
    _ = admission.removeAll()
    fill("b")
    #expect(retryAfter("b") <= 2)
  }

  @Test func pausesGrowAndEnd() {
    var guesses = Guesses(failures: 0, last: start)
    var now = start
    var pauses: [Int64] = []
    for _ in 0..<20 {
      if let pause = guesses.pause(free: 5, at: now) {
        pauses.append(pause.milliseconds / 1000)
        now = now + pause
      }
      #expect(guesses.pause(free: 5, at: now) == nil)
      guesses.count(at: now)
    }
    #expect(pauses.prefix(7) == [1, 2, 4, 8, 16, 32, 60])
    #expect(pauses.max() == 60)
    #expect(guesses.pause(free: 5, at: now + .minutes(31)) == nil)
  }

  /// Whatever is counted under a user and under a source, somebody who has signed in there before
  /// waits only for the guesses made there.
  @Test func aKnownSourceIsNotHeldUpByOthers() {
    let keys = Guesses.Keys(user: "zoe", source: "web1")
    let none = Guesses.Record(guesses: Guesses(failures: 0, last: start), succeeded: nil)
    let many = Guesses.Record(guesses: Guesses(failures: 50, last: start), succeeded: nil)
    var records = Dictionary(uniqueKeysWithValues: keys.names.map { ($0, many) })
    records[keys.pair] = none
    #expect(keys.decide(records, at: start) == .pause(Limits.longestPause))
    records[keys.pair]?.succeeded = start + .days(-1)
    guard case .count(let counted) = keys.decide(records, at: start) else {
      Issue.record("it was held up")
      return
    }
    #expect(Set(counted.keys) == Set(keys.names))
    records[keys.pair]?.succeeded = start + .days(-181)
    #expect(keys.decide(records, at: start) == .pause(Limits.longestPause))
  }

  /// One source that goes on guessing adds nothing to what is counted of the user everywhere.
  @Test func oneSourceAloneKeepsNobodyOut() {
    let keys = Guesses.Keys(user: "zoe", source: "web1")
    let tired = Guesses.Record(
      guesses: Guesses(failures: 5, last: start + .minutes(-2)), succeeded: nil)
    let records = Dictionary(uniqueKeysWithValues: keys.names.map { ($0, tired) })
    #expect(
      keys.decide(records, at: start)
        == .count([keys.pair: Guesses(failures: 6, last: start)]))
  }

  @Test func tokensAreReusedForHalfOfTheirLife() throws {
    var cache = TokenCache()
    let key = TokenCache.Key(
      host: "web1", user: try Identifier("alice"), pool: "work", logins: [:], duration: 900)
    let token = TokenCache.Token(
      identityID: "us-east-1:aa", token: "t", received: start, lifetime: .minutes(15))
    cache.keep(token, for: key, at: start)
    #expect(cache.token(for: key, at: start + .seconds(449)) == token)
    #expect(cache.token(for: key, at: start + .seconds(450)) == nil)
    var other = key
    other.host = "web2"
    #expect(cache.token(for: other, at: start) == nil)
    other = TokenCache.Key(
      host: key.host, user: key.user, pool: key.pool, logins: ["accounts.google.com": "x"],
      duration: key.duration)
    #expect(cache.token(for: other, at: start) == nil)
    cache.forget(try Identifier("alice"))
    #expect(cache.token(for: key, at: start) == nil)
  }

  @Test func theCacheHasALimit() throws {
    var cache = TokenCache(limit: 10)
    for index in 0..<100 {
      let key = TokenCache.Key(
        host: "h", user: try Identifier("u\(index)"), pool: "p", logins: [:], duration: 900)
      cache.keep(
        .init(identityID: "i", token: "t", received: start, lifetime: .minutes(15)), for: key,
        at: start)
    }
    #expect(cache.count == 10)
  }
}

struct AuditTests {
  private func chain(_ count: Int) -> [AuditEntry] {
    var head = AuditHead(chain: "a:b")
    return (0..<count).map { index in
      let entry = AuditEntry(
        AuditNote("token", ["user": "u\(index)"], at: Timestamp(milliseconds: Int64(index))),
        after: head)
      head = AuditHead(chain: "a:b", sequence: entry.sequence, hash: entry.hash)
      return entry
    }
  }

  private func fault(
    _ entries: [AuditEntry], recorded: AuditHead? = nil, heads: [AuditHead] = []
  ) -> String? {
    var verifier = AuditVerifier(chain: "a:b", heads: heads)
    for entry in entries { verifier.take(entry) }
    verifier.finish(recorded: recorded)
    return verifier.fault
  }

  @Test func aChainThatNobodyTouchedIsWhole() throws {
    let entries = chain(10)
    let head = AuditHead(chain: "a:b", sequence: 10, hash: entries[9].hash)
    #expect(fault(entries, recorded: head, heads: [head]) == nil)
    #expect(AuditHead(head.text) == head)
  }

  @Test func whateverIsChangedIsSeen() {
    let entries = chain(10)
    for index in entries.indices {
      var changed = entries
      changed[index].detail = #"{"user":"mallory"}"#
      #expect(fault(changed) != nil)
      // A hash that fits the change breaks the next one.
      changed[index].hash = changed[index].computedHash
      let end = AuditHead(chain: "a:b", sequence: 10, hash: entries[9].hash)
      #expect(fault(changed, recorded: end) != nil)
      var removed = entries
      removed.remove(at: index)
      #expect(fault(removed, recorded: end) != nil)
    }
  }

  @Test func aChainThatWasWrittenAnewIsSeenByTheLog() {
    let logged = AuditHead(chain: "a:b", sequence: 5, hash: chain(5)[4].hash)
    var forged: [AuditEntry] = []
    var head = AuditHead(chain: "a:b")
    for index in 0..<10 {
      let entry = AuditEntry(
        AuditNote("token", ["user": "x\(index)"], at: Timestamp(milliseconds: 0)), after: head)
      head = AuditHead(chain: "a:b", sequence: entry.sequence, hash: entry.hash)
      forged.append(entry)
    }
    #expect(fault(forged, recorded: head) == nil)
    #expect(fault(forged, recorded: head, heads: [logged]) != nil)
    // Neither does the recorded end overrule the log at its own place.
    let end = AuditHead(chain: "a:b", sequence: 10, hash: chain(10)[9].hash)
    #expect(fault(forged, recorded: head, heads: [end, head]) != nil)
    #expect(fault(forged, recorded: head, heads: [head, AuditHead(chain: "a:b")]) == nil)
    #expect(fault(Array(forged.prefix(3)), heads: [logged]) != nil)
  }

  @Test func membersCannotRunIntoEachOther() {
    let one = AuditEntry(
      chain: "a", sequence: 1, time: Timestamp(milliseconds: 0), event: "ab", detail: "c",
      previous: "", hash: "")
    var other = one
    other.event = "a"
    other.detail = "bc"
    #expect(one.computedHash != other.computedHash)
  }
}
