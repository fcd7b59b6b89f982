import CredCore
import CredService

/// Work that blocks, in virtual time. It keeps the rules of the real one: a lane has so many threads,
/// work that is late is reported once and may finish afterwards, and a lane in which every thread
/// hangs answers new work at once.
final class FakeBackground: Background {
  private struct Job {
    let lane: BackgroundLane
    let deadline: Instant
    /// Nil while it waits for a thread; `distantFuture` where it hangs.
    var end: Instant?
    var isOverdue = false
    let finish: () -> Void
    let reportOverdue: (_ isRunning: Bool) -> Void

    /// When it finishes or is late.
    var nextChange: Instant {
      let end = end ?? .distantFuture
      return isOverdue ? end : min(deadline, end)
    }
  }

  /// How long work takes from its start on. Nil for work that hangs until ``release(_:)``.
  var time: [BackgroundLane: Duration?] = [:]
  /// The same for the next works alone, in the order in which they start.
  var nextTimes: [BackgroundLane: [Duration?]] = [:]
  /// Works that were given to each lane.
  private(set) var asked: [BackgroundLane: Int] = [:]
  private let clock: VirtualClock
  private var timer: (any Timer)?
  private var jobs: [UInt64: Job] = [:]
  private var lastJob: UInt64 = 0

  init(_ clock: VirtualClock) {
    self.clock = clock
    timer = clock.makeTimer { [unowned self] in self.collect() }
  }

  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void
  ) {
    asked[lane, default: 0] += 1
    lastJob += 1
    let hangs = jobs.values.count { $0.lane == lane && $0.isOverdue } >= lane.width
    jobs[lastJob] = Job(
      lane: lane, deadline: hangs ? clock.now : deadline,
      finish: { completion(.finished(work())) },
      reportOverdue: { completion(.overdue(isRunning: $0)) })
    startWaiting()
  }

  /// Works that run, hanging ones included.
  func running(_ lane: BackgroundLane) -> Int {
    jobs.values.count { $0.lane == lane && $0.end != nil }
  }

  /// Nothing that was begun finishes any more.
  func dropAll() { jobs = [:] }

  /// What hangs in a lane finishes.
  func release(_ lane: BackgroundLane) {
    for (number, job) in jobs where job.lane == lane && job.end == .distantFuture {
      jobs[number]?.end = clock.now
    }
    startWaiting()
  }

  private func startWaiting() {
    // Counted once: tests give thousands of works at a time.
    var running: [BackgroundLane: Int] = [:]
    var waiting: [UInt64] = []
    for (number, job) in jobs {
      if job.end == nil { waiting.append(number) } else { running[job.lane, default: 0] += 1 }
    }
    for number in waiting.sorted() {
      guard let lane = jobs[number]?.lane, running[lane, default: 0] < lane.width else { continue }
      running[lane, default: 0] += 1
      let time =
        nextTimes[lane]?.isEmpty == false
        ? nextTimes[lane]?.removeFirst() ?? nil : time[lane, default: .zero]
      jobs[number]?.end = time.map { clock.now + $0 } ?? .distantFuture
    }
    timer?.arm(at: jobs.values.map(\.nextChange).min())
  }

  /// Completions come last: they may begin new work.
  private func collect() {
    let now = clock.now
    var reports: [() -> Void] = []
    for number in jobs.keys.sorted() {
      guard let job = jobs[number] else { continue }
      if let end = job.end, end <= now {
        jobs[number] = nil
        reports.append(job.finish)
      } else if !job.isOverdue, job.deadline <= now {
        let isRunning = job.end != nil
        if isRunning { jobs[number]?.isOverdue = true } else { jobs[number] = nil }
        reports.append { job.reportOverdue(isRunning) }
      }
    }
    startWaiting()
    for report in reports { report() }
  }
}
