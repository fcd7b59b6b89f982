import CredCore
import Testing

@testable import CredRuntime

struct WakeScheduleTests {
  private let start = Instant.seconds(1000)
  private var random = SystemRandomNumberGenerator()
  private var callIDs = CallIDs()

  /// A session that nobody can sign in: its only times are its waiters' deadlines.
  private func session(_ uid: UInt32) throws -> Session {
    let text = "[profile p]\nidentity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555\n"
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))], environment: { _ in nil })
    let configuration = try #require(reading.configuration)
    let settings = try #require(configuration.profiles["p"])
    let profile = try Profile(settings, in: configuration, groupID: { _ in nil })
    return Session(
      key: Session.Key(uid: uid, profile: "p"), profile: profile, userName: nil,
      machine: SessionMachine(plan: profile.plan, now: start))
  }

  /// Somebody asks, and gives up after `seconds`.
  private mutating func ask(_ session: Session, _ id: UInt64, for seconds: Double) {
    let waiter = Waiter(id: id, want: .credentials, arrived: start, wait: .seconds(seconds))
    _ = session.machine.handle(.asked(waiter), now: start, callIDs: &callIDs, random: &random)
  }

  @Test mutating func `sessions come in the order of their times`() throws {
    var schedule = WakeSchedule()
    var times: [UInt32: Instant] = [:]
    for uid in 0..<200 as Range<UInt32> {
      let session = try session(uid)
      ask(session, 1, for: Double(uid * 7919 % 211 + 1))
      times[uid] = session.machine.nextWake
      schedule.note(session)
    }
    var popped: [Instant] = []
    while let session = schedule.pop(.distantFuture) {
      popped.append(try #require(times[session.key.uid]))
    }
    #expect(popped.count == 200)
    #expect(popped == popped.sorted())
    #expect(schedule.next == nil)
  }

  @Test mutating func `nothing comes before its time`() throws {
    var schedule = WakeSchedule()
    let session = try session(1)
    ask(session, 1, for: 100)
    schedule.note(session)
    let due = try #require(schedule.next)
    #expect(due == session.machine.nextWake)
    #expect(schedule.pop(due - .nanoseconds(1)) == nil)
    #expect(schedule.pop(due) === session)
    #expect(schedule.pop(due) == nil)
  }

  @Test mutating func `a time that changes is moved, earlier and later`() throws {
    var schedule = WakeSchedule()
    let (first, second) = (try session(1), try session(2))
    ask(first, 1, for: 50)
    ask(second, 1, for: 100)
    schedule.note(first)
    schedule.note(second)
    let before = schedule.next
    ask(second, 2, for: 1)
    schedule.note(second)
    #expect(schedule.next == second.machine.nextWake)
    _ = second.machine.handle(.waiterLeft(2), now: start, callIDs: &callIDs, random: &random)
    schedule.note(second)
    #expect(schedule.next == before)
    #expect(schedule.count == 2)
  }

  @Test mutating func `a session that needs no waking is in it no more`() throws {
    var schedule = WakeSchedule()
    let session = try session(1)
    schedule.note(session)
    #expect(schedule.next == nil)
    ask(session, 1, for: 10)
    schedule.note(session)
    _ = session.machine.handle(.waiterLeft(1), now: start, callIDs: &callIDs, random: &random)
    schedule.note(session)
    #expect(schedule.next == nil)
    #expect(schedule.pop(.distantFuture) == nil)
  }

  @Test mutating func `a session that is asked again and again has one entry`() throws {
    var schedule = WakeSchedule()
    let session = try session(1)
    ask(session, 0, for: 300)
    for id in 1..<100 as Range<UInt64> {
      ask(session, id, for: 1)
      schedule.note(session)
      _ = session.machine.handle(.waiterLeft(id), now: start, callIDs: &callIDs, random: &random)
      schedule.note(session)
    }
    #expect(schedule.count == 1)
  }
}
