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
    var queue = FairQueue<Int>()
    var entered = (0..<100).map { queue.enter($0, host: "big") }
    entered.append(queue.enter(1000, host: "small"))
    entered.append(queue.enter(1001, host: "tiny"))
    #expect(entered.allSatisfy { $0 == .waits })
    let first = (0..<4).compactMap { _ in queue.leave() }
    #expect(first.contains(1000) && first.contains(1001))
    queue.remove(50, host: "big")
    var rest: [Int] = []
    while let next = queue.leave() { rest.append(next) }
    #expect(rest == (2..<100).filter { $0 != 50 })
    #expect(queue.count == 0)
  }

  @Test func oneHostDoesNotFillTheQueue() {
    var queue = FairQueue<Int>()
    var entered = 0
    while queue.enter(entered, host: "big") == .waits { entered += 1 }
    #expect(entered == Limits.waitingCallbacks)
    // One that comes later is let in, in place of the latest of those.
    for index in 1...10 {
      let entry = queue.enter(-index, host: "other")
      #expect(entry == .waitsInPlace(of: entered - index))
    }
    #expect(queue.count == Limits.waitingCallbacks)
    let first = (0..<2).compactMap { _ in queue.leave() }
    #expect(first == [0, -1])
    // The one with most gets nothing for it.
    #expect(queue.enter(5000, host: "big") == .refused)
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
    var returns = ReturnTimes()
    let times = (0..<400).map { _ in returns.book(host: "a", rate: 40, at: start).milliseconds }
    #expect(times == times.sorted())
    #expect(times[399] >= 9_000 && times[399] <= 11_000)
    // Nobody is sent away for longer than the limit.
    for _ in 0..<100_000 { _ = returns.book(host: "a", rate: 40, at: start) }
    #expect(returns.book(host: "a", rate: 40, at: start) <= Limits.longestRetry)
    // Another host's first is not made to wait for all of those.
    #expect(returns.book(host: "b", rate: 40, at: start) == .seconds(1))
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
