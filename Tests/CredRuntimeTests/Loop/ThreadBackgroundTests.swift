import CredCore
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Work on threads: deadlines, the width of lanes, and work that is late.
struct ThreadBackgroundTests {
  /// A background on a loop, with what was reported.
  private final class Fixture: Sendable {
    let thread: LoopThread
    let background: OnLoop<ThreadBackground>

    /// How many threads were started.
    var starts: Int { started.value }
    private let started: Count

    init() throws {
      let started = Count()
      self.started = started
      thread = try LoopThread()
      background = try thread.run {
        OnLoop(
          value: try ThreadBackground(loop: $0, log: Heard().logger) {
            started.add()
            return DetachedThread.start($0)
          })
      }
    }

    deinit { thread.stop() }

    /// Runs one piece of work, and waits for its first report.
    func outcome(
      _ lane: BackgroundLane, within time: Duration = HangLimit.duration,
      _ work: @escaping @Sendable () -> Int
    ) throws -> String {
      try thread.wait { [background] loop, done in
        background.value.run(lane, deadline: loop.now + time, work) { done(Reports.text($0)) }
        return nil
      }
    }

    /// Begins work whose reports are collected in `reports`.
    func begin(
      _ lane: BackgroundLane, within time: Duration = HangLimit.duration, _ reports: Reports,
      _ work: @escaping @Sendable () -> Int
    ) throws {
      try thread.run { [background] loop in
        background.value.run(lane, deadline: loop.now + time, work) { outcome in
          reports.add(outcome, onLoop: pthread_self())
        }
      }
    }

    /// Begins work that waits at a door and is overdue soon. The loop stands still until the work is at
    /// the door, so that its deadline does not come before.
    func beginLate(
      _ lane: BackgroundLane, at door: Door, _ reports: Reports, _ value: Int
    ) throws {
      try thread.run { [background] loop in
        let before = door.waits.load(ordering: .relaxed)
        background.value.run(lane, deadline: loop.now + .milliseconds(1)) {
          door.wait()
          return value
        } completion: { outcome in
          reports.add(outcome, onLoop: pthread_self())
        }
        expect(eventually { door.waits.load(ordering: .relaxed) > before })
      }
    }
  }

  /// No thread can be started: the work is overdue at once, and the log says so once, by name.
  @Test func `a host without threads is logged by the name of the work`() throws {
    let heard = Heard()
    let thread = try LoopThread()
    defer { thread.stop() }
    let background = try thread.run { loop in
      OnLoop(value: try ThreadBackground(loop: loop, log: heard.logger) { _ in EAGAIN })
    }
    for lane in [BackgroundLane.users, .files] {
      let report = try thread.wait { loop, done in
        background.value.run(lane, deadline: loop.now + HangLimit.duration) {
          1
        } completion: {
          done(Reports.text($0))
        }
        return nil
      }
      expect(report.contains("overdue"), "\(report)")
    }
    let said = heard.messages.filter { $0.contains("no thread for looking up users") }
    expect(said.count, equals: 1, "\(heard.messages)")
    expect(said.first?.contains("Resource temporarily unavailable") == true)
    expect(heard.messages.count, equals: 1)
  }

  private final class Reports: Sendable {
    private let kept = Mutex<[String]>([])
    private let threads = Mutex<Set<pthread_t>>([])

    var all: [String] { kept.withLock(\.self) }
    var threadCount: Int { threads.withLock(\.count) }

    func add(_ outcome: BackgroundOutcome<Int>, onLoop thread: pthread_t) {
      threads.withLock { _ = $0.insert(thread) }
      kept.withLock { $0.append(Self.text(outcome)) }
    }

    static func text(_ outcome: BackgroundOutcome<Int>) -> String {
      switch outcome {
      case .finished(let value): "finished \(value)"
      case .overdue(let isRunning): isRunning ? "overdue, running" : "overdue"
      }
    }
  }

  private final class Count: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
  }

  /// Something that work waits for. Ends every wait when the test does.
  private final class Door: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    let waits = Atomic<Int>(0)

    func wait() {
      waits.add(1, ordering: .relaxed)
      _ = semaphore.waitWithLimit()
      semaphore.signal()
    }

    func open() { semaphore.signal() }

    deinit { open() }
  }

  @Test func `work runs on another thread, and its completion on the loop's`() throws {
    let fixture = try Fixture()
    let own = try fixture.thread.run { _ in pthread_self() }
    let (worked, completed): (pthread_t, pthread_t) = try fixture.thread.wait {
      [background = fixture.background] loop, done in
      var isWithin = true
      background.value.run(.files, deadline: loop.now + HangLimit.duration) {
        pthread_self()
      } completion: { outcome in
        expect(!isWithin)
        if case .finished(let worker) = outcome { done((worker, pthread_self())) }
      }
      isWithin = false
      return nil
    }
    expect(pthread_equal(own, completed) != 0)
    expect(pthread_equal(own, worked), equals: 0)
  }

  @Test func `results of many threads all arrive, on the loop's thread`() throws {
    let fixture = try Fixture()
    let reports = Reports()
    for number in 0..<500 {
      try fixture.begin(BackgroundLane.allCases[number % 6], reports) { number }
    }
    expect(eventually { reports.all.count == 500 })
    expect(Set(reports.all), equals: Set((0..<500).map { "finished \($0)" }))
    expect(reports.threadCount, equals: 1)
  }

  @Test func `work that is late is reported, and once more when it finishes`() throws {
    let fixture = try Fixture()
    let (reports, door) = (Reports(), Door())
    try fixture.beginLate(.users, at: door, reports, 7)
    expect(eventually { !reports.all.isEmpty })
    expect(reports.all, equals: ["overdue, running"])
    door.open()
    expect(eventually { reports.all.count == 2 })
    expect(reports.all, equals: ["overdue, running", "finished 7"])
  }

  @Test(arguments: [BackgroundLane.programs, .state])
  func `a lane has as many threads as its width, and the rest waits`(_ lane: BackgroundLane) throws
  {
    let fixture = try Fixture()
    let (reports, door) = (Reports(), Door())
    for number in 0..<(lane.width + 3) {
      try fixture.begin(lane, reports) {
        door.wait()
        return number
      }
    }
    expect(eventually { door.waits.load(ordering: .relaxed) == lane.width })
    // All were asked for; a thread is started at once, or when another's work has ended.
    expect(fixture.starts, equals: lane.width)
    door.open()
    expect(eventually { reports.all.count == lane.width + 3 })
  }

  @Test func `work that has no thread by its deadline is never begun`() throws {
    let fixture = try Fixture()
    let (reports, late, door) = (Reports(), Reports(), Door())
    try fixture.begin(.state, reports) {
      door.wait()
      return 1
    }
    try fixture.begin(.state, within: .milliseconds(20), late) { 2 }
    expect(eventually { !late.all.isEmpty })
    expect(late.all, equals: ["overdue"])
    door.open()
    expect(eventually { reports.all == ["finished 1"] })
    // Its place is used by the next one.
    try fixture.begin(.state, reports) { 3 }
    expect(eventually { reports.all == ["finished 1", "finished 3"] })
    expect(late.all, equals: ["overdue"])
  }

  @Test func `a lane in which every thread hangs answers at once, until one comes back`() throws {
    let fixture = try Fixture()
    let (hanging, door) = (Reports(), Door())
    for number in 0..<BackgroundLane.programs.width {
      try fixture.beginLate(.programs, at: door, hanging, number)
    }
    expect(eventually { hanging.all.count == BackgroundLane.programs.width })
    // At its own deadline nobody would be waiting for it any more.
    expect(try fixture.outcome(.programs, within: .seconds(86_400)) { 1 }, equals: "overdue")
    door.open()
    expect(eventually { hanging.all.count == 2 * BackgroundLane.programs.width })
    expect(try fixture.outcome(.programs) { 2 }, equals: "finished 2")
  }

  @Test func `a lane that hangs leaves the others alone`() throws {
    let fixture = try Fixture()
    let (reports, door) = (Reports(), Door())
    for _ in 0..<BackgroundLane.files.width {
      try fixture.begin(.files, reports) {
        door.wait()
        return 0
      }
    }
    for lane in BackgroundLane.allCases where lane != .files {
      expect(try fixture.outcome(lane) { 5 }, equals: "finished 5")
    }
    expect(reports.all.isEmpty)
  }

  @Test func `a completion may begin more work`() throws {
    let fixture = try Fixture()
    let last: Int = try fixture.thread.wait { [background = fixture.background] loop, done in
      func next(_ number: Int) {
        background.value.run(.state, deadline: loop.now + HangLimit.duration) {
          number
        } completion: { outcome in
          guard case .finished(let value) = outcome else { return }
          if value == 20 { done(value) } else { next(value + 1) }
        }
      }
      next(0)
      return nil
    }
    expect(last, equals: 20)
  }

  // MARK: At the end of the process

  @Test func `finish waits for the work of its lane, and reports it`() throws {
    let fixture = try Fixture()
    let reports = Reports()
    let seen = try fixture.thread.run { [background = fixture.background] loop in
      for number in 0..<3 {
        background.value.run(.state, deadline: loop.now + HangLimit.duration) {
          // So that it is under way when the loop waits for it.
          usleep(2000)
          return number
        } completion: {
          reports.add($0, onLoop: pthread_self())
        }
      }
      background.value.finish(.state, atMost: HangLimit.milliseconds)
      return reports.all
    }
    expect(seen, equals: ["finished 0", "finished 1", "finished 2"])
  }

  @Test func `finish does not wait for longer than it is told`() throws {
    let fixture = try Fixture()
    let (reports, door) = (Reports(), Door())
    try fixture.begin(.state, reports) {
      door.wait()
      return 1
    }
    // The work has not ended, and what waited for it goes on.
    try fixture.thread.run { [background = fixture.background] _ in
      background.value.finish(.state, atMost: 30)
    }
    expect(reports.all.isEmpty)
    door.open()
    expect(eventually { reports.all == ["finished 1"] })
  }

  @Test func `a background may go while its work runs`() throws {
    let door = Door()
    do {
      let fixture = try Fixture()
      try fixture.beginLate(.users, at: door, Reports(), 1)
    }
    door.open()
  }
}
