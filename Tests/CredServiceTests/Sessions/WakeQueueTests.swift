import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

struct WakeQueueTests {
  private let start = Instant.seconds(1000)
  private var random = SystemRandomNumberGenerator()
  private var callIDs = CallIDs()

  /// A session without a way to sign in: its only times are its waiters' deadlines.
  private func session(_ uid: UInt32) throws -> Session {
    let text = "[profile p]\nidentity_pool_id = \(FakeUpstreams.pool)\n"
    let profile = try #require(try ServiceFixture.resolved(text).profiles["p"])
    return Session(
      key: SessionKey(uid: uid, profile: "p"), profile: profile, owner: .nameless,
      machine: SessionMachine(plan: profile.plan, now: start))
  }

  /// A client asks, and waits for `seconds`.
  private mutating func ask(_ session: Session, _ id: UInt64, for seconds: Double) {
    let waiter = Waiter(id: id, want: .credentials, arrived: start, wait: .seconds(seconds))
    _ = session.machine.handle(.asked(waiter), now: start, callIDs: &callIDs, random: &random)
  }

  @Test mutating func `sessions come in the order of their times`() throws {
    var queue = WakeQueue()
    var times: [UInt32: Instant] = [:]
    for uid in 0..<200 as Range<UInt32> {
      let session = try session(uid)
      ask(session, 1, for: Double(uid * 7919 % 211 + 1))
      times[uid] = session.machine.nextWake
      queue.update(session)
    }
    var popped: [Instant] = []
    while let session = queue.pop(.distantFuture) {
      popped.append(try #require(times[session.key.uid]))
    }
    expect(popped.count, equals: 200)
    expect(popped, equals: popped.sorted())
    expect(queue.next == nil)
  }

  @Test mutating func `a session is not woken before its time`() throws {
    var queue = WakeQueue()
    let session = try session(1)
    ask(session, 1, for: 100)
    queue.update(session)
    let due = try #require(queue.next)
    expect(due, equals: session.machine.nextWake)
    expect(queue.pop(due - .nanoseconds(1)) == nil)
    expect(queue.pop(due) === session)
    expect(queue.pop(due) == nil)
  }

  @Test mutating func `a time that changes moves, earlier and later`() throws {
    var queue = WakeQueue()
    let (first, second) = (try session(1), try session(2))
    ask(first, 1, for: 50)
    ask(second, 1, for: 100)
    queue.update(first)
    queue.update(second)
    let before = queue.next
    ask(second, 2, for: 1)
    queue.update(second)
    expect(queue.next, equals: second.machine.nextWake)
    _ = second.machine.handle(.waiterLeft(2), now: start, callIDs: &callIDs, random: &random)
    queue.update(second)
    expect(queue.next, equals: before)
    expect(queue.count, equals: 2)
  }

  @Test mutating func `a session that need not be woken is not in the queue`() throws {
    var queue = WakeQueue()
    let session = try session(1)
    queue.update(session)
    expect(queue.next == nil)
    ask(session, 1, for: 10)
    queue.update(session)
    _ = session.machine.handle(.waiterLeft(1), now: start, callIDs: &callIDs, random: &random)
    queue.update(session)
    expect(queue.next == nil)
    expect(queue.pop(.distantFuture) == nil)
  }

  @Test mutating func `a session that is asked again and again has one entry`() throws {
    var queue = WakeQueue()
    let session = try session(1)
    ask(session, 0, for: 300)
    for id in 1..<100 as Range<UInt64> {
      ask(session, id, for: 1)
      queue.update(session)
      _ = session.machine.handle(.waiterLeft(id), now: start, callIDs: &callIDs, random: &random)
      queue.update(session)
    }
    expect(queue.count, equals: 1)
  }

  @Test mutating func `the earliest of other times is found behind sessions without one`() throws {
    var queue = WakeQueue()
    var times: [UInt32: Instant] = [:]
    for uid in 0..<40 as Range<UInt32> {
      let session = try session(uid)
      ask(session, 1, for: Double(uid * 7919 % 41 + 1))
      if uid % 5 == 3 { times[uid] = session.machine.nextWake + .seconds(1) }
      queue.update(session)
    }
    expect(queue.earliest { times[$0.key.uid] }, equals: times.values.min())
    expect(queue.earliest { _ in nil } == nil)
  }

  /// The status is made between two requests.
  @Test mutating func `few sessions are looked at for that`() throws {
    var queue = WakeQueue()
    for uid in 0..<1000 as Range<UInt32> {
      let session = try session(uid)
      ask(session, 1, for: Double(uid + 1))
      queue.update(session)
    }
    var looks = 0
    _ = queue.earliest { _ in
      looks += 1
      return nil
    }
    expect(looks < 100)
  }
}
