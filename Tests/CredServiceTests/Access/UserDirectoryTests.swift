import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Users by uid or name: what is kept, when it is looked up anew, and what a slow database does.
struct UserDirectoryTests {
  private let clock = VirtualClock()
  private let queries = FakeQueries()
  private let background: FakeBackground
  private let directory: UserDirectory
  private let alice = UserAnswer.user(UserEntry(uid: 1000, name: "alice"))

  init() {
    background = FakeBackground(clock)
    directory = UserDirectory(clock: clock, background: background, queries: queries)
  }

  private func ask(_ uid: UInt32 = 1000, _ then: @escaping () -> Void = {}) -> UserAnswer? {
    directory.answer(to: UserQuery(.uid(uid)), now: clock.now, then: then)
  }

  /// What the database itself says of alice when it is asked at `since` or later.
  private func confirm(since: Instant, _ then: @escaping () -> Void = {}) -> UserAnswer? {
    directory.answer(to: UserQuery(.uid(1000)), now: clock.now, since: since, then: then)
  }

  @Test func `a user is looked up once and known afterwards`() {
    var calls = 0
    expect(ask { calls += 1 } == nil)
    expect(calls, equals: 0)
    clock.settle()
    expect(calls, equals: 1)
    expect(ask(), equals: alice)
    expect(queries.asked, equals: [UserQuery(.uid(1000))])
  }

  @Test func `a uid without a user`() {
    _ = ask(3_999_999_999)
    clock.settle()
    expect(ask(3_999_999_999), equals: .nobody)
  }

  @Test func `all that ask meanwhile are called, and one look-up is made`() {
    var calls = 0
    for _ in 0..<100 { expect(ask { calls += 1 } == nil) }
    clock.settle()
    expect(calls, equals: 100)
    expect(queries.asked.count, equals: 1)
  }

  /// A user with a range of uids may ask with each.
  @Test func `people stay known when many uids without a name have asked`() {
    let directory = UserDirectory(
      clock: clock, background: background, queries: queries, entriesKept: 100)
    let ask = { [clock] (uid: UInt32) in
      _ = directory.answer(to: UserQuery(.uid(uid)), now: clock.now, then: {})
      clock.settle()
    }
    ask(1000)
    for uid in UInt32(100_000)..<100_250 { ask(uid) }
    queries.isUnavailable = true
    ask(1000)
    expect(directory.known(UserQuery(.uid(1000))), equals: alice)
  }

  @Test func `more look-ups than threads wait for their turn`() {
    let count = 20 * BackgroundLane.users.width
    background.time[.users] = .milliseconds(10)
    var answered = 0
    for uid in 0..<UInt32(count) { expect(ask(3_000_000_000 + uid) { answered += 1 } == nil) }
    expect(background.running(.users), equals: BackgroundLane.users.width)
    clock.advance(by: .milliseconds(10 * 20))
    expect(answered, equals: count)
    expect((0..<UInt32(count)).allSatisfy { ask(3_000_000_000 + $0) == .nobody })
  }

  @Test func `an old name is looked up anew, and serves until a minute is over`() {
    _ = ask()
    clock.settle()
    clock.advance(by: .seconds(44))
    expect(ask(), equals: alice)
    expect(background.asked[.users], equals: 1)
    background.time[.users] = .milliseconds(1500)
    clock.advance(by: .seconds(15))
    expect(ask(), equals: alice)
    expect(ask(), equals: alice)
    expect(background.asked[.users], equals: 2)
    clock.advance(by: .milliseconds(1200))
    expect(ask() == nil)
    clock.advance(by: .milliseconds(300))
    expect(ask(), equals: alice)
    expect(background.asked[.users], equals: 2)
  }

  // MARK: A slow database

  @Test func `without an answer in time the last known name goes on serving`() {
    _ = ask()
    clock.settle()
    background.time[.users] = .some(nil)
    clock.advance(by: .seconds(61))
    var calls = 0
    expect(ask { calls += 1 } == nil)
    clock.advance(by: UserDirectory.timeout)
    expect(calls, equals: 1)
    expect(ask(), equals: alice)
  }

  @Test func `a user that was never known is unavailable after the deadline`() {
    background.time[.users] = .some(nil)
    var calls = 0
    expect(ask { calls += 1 } == nil)
    clock.advance(by: UserDirectory.timeout - .milliseconds(1))
    expect(calls, equals: 0)
    clock.advance(by: .milliseconds(1))
    expect(calls, equals: 1)
    expect(ask(), equals: .unavailable)
    clock.advance(by: UserDirectory.failureKeptFor - .milliseconds(1))
    expect(ask(), equals: .unavailable)
  }

  @Test func `a hanging look-up is not joined by a second one`() {
    background.time[.users] = .some(nil)
    _ = ask()
    for _ in 0..<20 {
      clock.advance(by: UserDirectory.failureKeptFor + UserDirectory.timeout)
      expect(ask(), equals: .unavailable)
    }
    expect(background.asked[.users], equals: 1)
    expect(background.running(.users), equals: 1)
    // Another user is looked up all the same.
    background.time[.users] = .zero
    expect(ask(1001) == nil)
    clock.settle()
    expect(ask(1001), equals: .user(UserEntry(uid: 1001, name: "bob")))
  }

  @Test func `what a hanging database said before counts for another minute each time`() {
    _ = ask()
    clock.settle()
    background.time[.users] = .some(nil)
    let query = UserQuery(.uid(1000))
    for _ in 0..<10 {
      clock.advance(by: .seconds(61))
      _ = ask()
      clock.advance(by: UserDirectory.timeout)
      expect(ask(), equals: alice)
      expect(directory.freshUntil(query).map { $0 > clock.now } == true)
    }
    expect(background.asked[.users], equals: 2)
  }

  @Test func `a late answer is used the next time`() {
    background.time[.users] = .seconds(30)
    var calls = 0
    _ = ask { calls += 1 }
    clock.advance(by: UserDirectory.timeout)
    expect(ask(), equals: .unavailable)
    clock.advance(by: .seconds(28))
    expect(calls, equals: 1)
    expect(ask(), equals: alice)
    expect(background.asked[.users], equals: 1)
    // It hangs no more: the next look-up is made.
    background.time[.users] = .zero
    clock.advance(by: .seconds(61))
    expect(ask() == nil)
    expect(background.asked[.users], equals: 2)
  }

  @Test func `where every thread hangs the answer comes at once`() {
    background.time[.users] = .some(nil)
    for uid in 0..<UInt32(BackgroundLane.users.width) { _ = ask(uid) }
    clock.advance(by: UserDirectory.timeout)
    var calls = 0
    expect(ask(5000) { calls += 1 } == nil)
    clock.settle()
    expect(calls, equals: 1)
    expect(ask(5000), equals: .unavailable)
    // Threads that come back are used again.
    background.time[.users] = .zero
    background.release(.users)
    clock.settle()
    _ = ask(1001)
    clock.settle()
    expect(ask(1001), equals: .user(UserEntry(uid: 1001, name: "bob")))
  }

  @Test func `a slow look-up of one user delays no other`() {
    background.nextTimes[.users] = [.milliseconds(1900)]
    var (slow, quick) = (0, 0)
    expect(ask { slow += 1 } == nil)
    expect(ask(1001) { quick += 1 } == nil)
    clock.settle()
    expect(slow == 0 && quick == 1)
    expect(ask(1001), equals: .user(UserEntry(uid: 1001, name: "bob")))
    clock.advance(by: .milliseconds(1900))
    expect(slow == 1 && quick == 1)
    expect(ask(), equals: alice)
  }

  @Test func `a failure for one user is none for another`() {
    queries.unavailable = [1000]
    var answered = 0
    _ = ask { answered += 1 }
    _ = ask(1001)
    clock.settle()
    expect(ask(1001), equals: .user(UserEntry(uid: 1001, name: "bob")))
    clock.advance(by: UserDirectory.timeout)
    expect(answered, equals: 1)
    expect(ask(), equals: .unavailable)
  }

  @Test func `a failure is looked up again until the deadline, and after five seconds`() {
    queries.isUnavailable = true
    let start = clock.now
    var ended: Instant?
    _ = ask { ended = self.clock.now }
    clock.advance(by: UserDirectory.timeout)
    expect(ask(), equals: .unavailable)
    expect(ended.map { $0 - start }, equals: UserDirectory.timeout - UserDirectory.retryPause)
    expect(queries.asked.count, equals: 8)
    queries.isUnavailable = false
    clock.advance(by: UserDirectory.failureKeptFor)
    expect(ask() == nil)
    clock.settle()
    expect(ask(), equals: alice)
  }

  @Test func `a failure of a known user's look-up is not waited for`() {
    _ = ask()
    clock.settle()
    queries.isUnavailable = true
    clock.advance(by: UserDirectory.keptFor)
    expect(ask() == nil)
    clock.settle()
    expect(ask(), equals: alice)
  }

  // MARK: Answers that are not kept ones

  @Test func `a kept answer is confirmed once for each who asks later`() {
    _ = ask()
    clock.settle()
    clock.advance(by: .seconds(1))
    let since = clock.now
    queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    expect(ask(), equals: alice)
    expect(confirm(since: since) == nil)
    clock.settle()
    clock.advance(by: .seconds(1))
    expect(confirm(since: since)?.name == "carol" && ask()?.name == "carol")
    expect(queries.asked.count, equals: 2)
  }

  @Test func `a look-up that began before says nothing of now`() {
    background.time[.users] = .seconds(1)
    var calls = 0
    _ = ask { calls += 1 }
    clock.advance(by: .milliseconds(500))
    let since = clock.now
    expect(confirm(since: since) { calls += 1 } == nil)
    clock.advance(by: .milliseconds(500))
    expect(calls, equals: 2)
    expect(ask(), equals: alice)
    expect(confirm(since: since) == nil)
    clock.advance(by: .seconds(1))
    expect(confirm(since: since), equals: alice)
    expect(queries.asked.count, equals: 2)
  }

  @Test func `a database that fails confirms nothing, and is asked again until the deadline`() {
    _ = ask()
    clock.settle()
    clock.advance(by: .seconds(1))
    queries.isUnavailable = true
    let since = clock.now
    expect(confirm(since: since) == nil)
    clock.advance(by: UserDirectory.timeout)
    expect(confirm(since: since), equals: .unavailable)
    expect(queries.asked.count, equals: 9)
    expect(ask(), equals: alice)
    queries.isUnavailable = false
    expect(confirm(since: clock.now) == nil)
    clock.settle()
    expect(confirm(since: clock.now), equals: alice)
  }

  @Test func `what was confirmed stays so when the next look-up fails`() {
    let since = clock.now
    _ = confirm(since: since)
    clock.settle()
    clock.advance(by: .seconds(1))
    queries.isUnavailable = true
    _ = confirm(since: clock.now)
    clock.advance(by: UserDirectory.timeout)
    expect(confirm(since: since), equals: alice)
  }

  @Test func `a look-up for a sign-in holds up nobody else`() {
    _ = ask()
    clock.settle()
    clock.advance(by: UserDirectory.keptFor)
    queries.isUnavailable = true
    var ended: [String] = []
    expect(confirm(since: clock.now) { ended.append("sign-in") } == nil)
    expect(ask { ended.append("get") } == nil)
    clock.settle()
    expect(ended, equals: ["get"])
    expect(ask(), equals: alice)
    clock.advance(by: UserDirectory.timeout)
    expect(ended, equals: ["get", "sign-in"])
  }

  @Test func `a database that hangs confirms nothing, and nobody waits for it twice`() {
    _ = ask()
    clock.settle()
    background.time[.users] = .some(nil)
    clock.advance(by: .seconds(1))
    let since = clock.now
    expect(confirm(since: since) == nil)
    clock.advance(by: UserDirectory.timeout)
    expect(confirm(since: since), equals: .unavailable)
    expect(confirm(since: clock.now), equals: .unavailable)
    expect(ask(), equals: alice)
    // What it finds at last may be what was true long ago.
    background.time[.users] = .zero
    background.release(.users)
    clock.settle()
    expect(confirm(since: since) == nil)
    clock.settle()
    expect(confirm(since: since), equals: alice)
  }

  /// Otherwise a uid would be one person in one profile and another in the next.
  @Test func `a new name ends the old one in both queries about a uid`() {
    let queries = [UserQuery(.uid(1000)), UserQuery(.uid(1000), withGroups: true)]
    for query in queries { _ = directory.answer(to: query, now: clock.now, then: {}) }
    clock.settle()
    clock.advance(by: .seconds(54))
    var changed: Set<UInt32> = []
    directory.ownerChanged = { changed.insert($0) }
    self.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    // Within the last seconds of its time it is looked up anew.
    expect(directory.answer(to: queries[1], now: clock.now, then: {})?.name, equals: "alice")
    clock.settle()
    expect(directory.answer(to: queries[1], now: clock.now, then: {})?.name, equals: "carol")
    expect(directory.answer(to: queries[0], now: clock.now, then: {}) == nil)
    expect(changed, equals: [1000])
  }

  @Test func `a new name that the other query finds is told`() {
    _ = ask()
    clock.settle()
    var changed: [UInt32] = []
    directory.ownerChanged = { changed.append($0) }
    queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    let query = UserQuery(.uid(1000), withGroups: true)
    _ = directory.answer(to: query, now: clock.now, then: {})
    clock.settle()
    expect(changed, equals: [1000])
  }

  // MARK: Groups

  @Test func `a group that was listed and is not any more is withdrawn`() {
    let query = UserQuery(.uid(1000), withGroups: true)
    queries.setGroups([8, 500], of: 1000)
    _ = directory.answer(to: query, now: clock.now, then: {})
    clock.settle()
    queries.setGroups([500], of: 1000)
    clock.advance(by: UserDirectory.keptFor)
    _ = directory.answer(to: query, now: clock.now, then: {})
    clock.settle()
    // Only a second look-up, some seconds later, is believed.
    let doubted = UserEntry(uid: 1000, name: "alice", groups: [500, 8])
    expect(directory.known(query), equals: .user(doubted))
    expect(directory.freshUntil(query), equals: clock.now + UserDirectory.missingFor)
    clock.advance(by: UserDirectory.missingFor)
    _ = directory.answer(to: query, now: clock.now, then: {})
    clock.settle()
    let entry = UserEntry(uid: 1000, name: "alice", groups: [500], withdrawn: [8])
    expect(directory.known(query), equals: .user(entry))
    // Listed again, it counts again.
    queries.setGroups([8, 500], of: 1000)
    clock.advance(by: UserDirectory.keptFor)
    _ = directory.answer(to: query, now: clock.now, then: {})
    clock.settle()
    expect(
      directory.known(query), equals: .user(UserEntry(uid: 1000, name: "alice", groups: [8, 500])))
  }
}
