internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging
internal import Synchronization

/// Runs blocking work on threads. Each lane has a width, and each piece of work has a deadline. Two
/// other threads exist: libcurl's resolver, and a thread that closes the descriptors of clients
/// (clients.c). Dispatch is not used: its threads would stay for ever.
///
/// The loop does not wait for a thread that hangs. The thread keeps its place in its lane until it
/// ends.
final class ThreadBackground: Background {
  private enum Progress {
    case queued
    case running
    /// The work runs, and was reported as overdue.
    case overdue
  }

  private struct Job {
    let lane: BackgroundLane
    var deadline: Instant
    var progress = Progress.queued
    let work: @Sendable () -> Void
    /// Called with nil when the work is done.
    let report: (_ overdueAndRunning: Bool?) -> Void
  }

  private struct Lane {
    /// Some of these jobs may be overdue.
    var queue: ArraySlice<UInt64> = []
    /// The number of threads, including threads that hang.
    var threads = 0
    var hanging = 0
  }

  /// Starts a thread; 0 or the errno.
  typealias ThreadStart = (_ run: @escaping @Sendable () -> Void) -> Int32

  private let loop: EventLoop
  private let log: Logger
  private let startThread: ThreadStart
  /// Whether the last thread could not start, which is logged once.
  private var lacksThreads = false
  private let mailbox: Mailbox
  private var source: EventSource?
  private var timer: EventSource?
  private var jobs: [UInt64: Job] = [:]
  private var lanes = [Lane](repeating: Lane(), count: BackgroundLane.allCases.count)
  private var lastJob: UInt64 = 0

  init(
    loop: EventLoop, log: Logger,
    startThread: @escaping ThreadStart = { DetachedThread.start($0) }
  ) throws(SystemError) {
    self.loop = loop
    self.log = log
    self.startThread = startThread
    mailbox = try Mailbox()
    source = try loop.watch(mailbox.descriptor, for: CREDD_EPOLL_IN) { [unowned self] _ in
      self.collect()
    }
    timer = try loop.timer { [unowned self] _ in self.collect() }
  }

  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void
  ) {
    let slot = Slot<Value>()
    lastJob += 1
    // If every thread of the lane hangs, the work is overdue in the next iteration.
    let hangs = lanes[lane.rawValue].hanging >= lane.width
    jobs[lastJob] = Job(
      lane: lane, deadline: hangs ? loop.now : deadline, work: { slot.fill(work()) }
    ) { overdueAndRunning in
      if let overdueAndRunning {
        completion(.overdue(isRunning: overdueAndRunning))
      } else if let value = slot.take() {
        completion(.finished(value))
      }
    }
    lanes[lane.rawValue].queue.append(lastJob)
    start(lane)
    armTimer()
  }

  /// Waits for the work of a lane, at the end of the process.
  func finish(_ lane: BackgroundLane, atMost milliseconds: Int32) {
    while jobs.values.contains(where: { $0.lane == lane && $0.progress != .queued }),
      credd_wait_readable(mailbox.descriptor, milliseconds) == 1
    {
      collect()
    }
  }

  // MARK: Threads

  private func start(_ lane: BackgroundLane) {
    while lanes[lane.rawValue].threads < lane.width,
      let number = lanes[lane.rawValue].queue.first
    {
      if let job = jobs[number] {
        let failure = startThread { [mailbox, work = job.work] in
          work()
          mailbox.put(number)
        }
        report(failure, lane)
        if failure == 0 {
          jobs[number]?.progress = .running
          lanes[lane.rawValue].threads += 1
        } else {
          // The host has no threads left, so the work is overdue in the next iteration.
          jobs[number]?.deadline = loop.now
        }
      }
      lanes[lane.rawValue].queue.removeFirst()
    }
  }

  private func report(_ failure: Int32, _ lane: BackgroundLane) {
    if failure == 0 {
      if lacksThreads { log.notice("threads can be started again") }
      lacksThreads = false
    } else if !lacksThreads {
      lacksThreads = true
      let error = SystemError("start a thread", number: failure)
      log.error(
        "no thread for \(lane.purpose): \(error); raise TasksMax= of the service or the host's limits",
        metadata: ["lane": "\(lane)"])
    }
  }

  /// Collects finished work and reports late work. Completions come last: they may begin new work.
  private func collect() {
    let now = loop.now
    var reports: [() -> Void] = []
    for number in mailbox.takeAll() {
      guard let job = jobs.removeValue(forKey: number) else { continue }
      lanes[job.lane.rawValue].threads -= 1
      if job.progress == .overdue { lanes[job.lane.rawValue].hanging -= 1 }
      reports.append { job.report(nil) }
    }
    for (number, job) in jobs where job.deadline <= now && job.progress != .overdue {
      let isRunning = job.progress == .running
      if isRunning {
        jobs[number]?.progress = .overdue
        lanes[job.lane.rawValue].hanging += 1
      } else {
        jobs[number] = nil
      }
      reports.append { job.report(isRunning) }
    }
    removeGivenUp()
    BackgroundLane.allCases.forEach(start)
    armTimer()
    for report in reports { report() }
  }

  /// While every thread of a lane hangs, the queue contains almost only numbers of jobs that were
  /// given up.
  private func removeGivenUp() {
    for index in lanes.indices where lanes[index].queue.count > 64 + 2 * jobs.count {
      lanes[index].queue.removeAll { jobs[$0] == nil }
    }
  }

  private func armTimer() {
    timer?.arm(at: jobs.values.lazy.filter { $0.progress != .overdue }.map(\.deadline).min())
  }
}

/// A detached thread.
enum DetachedThread {
  /// Enough for NSS modules and for reading a configuration.
  private static let stackBytes = 1 << 20

  private final class Body {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }

  /// - Returns: 0, or the errno: EAGAIN if the host has no threads left.
  static func start(_ run: @escaping @Sendable () -> Void) -> Int32 {
    let argument = unsafe Unmanaged.passRetained(Body(run))
    let failure = unsafe credd_start_thread(
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, argument.toOpaque(), stackBytes)
    if failure != 0 { unsafe argument.release() }
    return failure
  }
}

/// The numbers of finished jobs, and a descriptor that reports them. It lives as long as any thread
/// or the loop.
private final class Mailbox: Sendable {
  let descriptor: Int32
  private let done = Mutex<[UInt64]>([])

  init() throws(SystemError) {
    descriptor = try SystemError.check(credd_eventfd(), "create an eventfd")
  }

  deinit { credd_close(descriptor) }

  func put(_ number: UInt64) {
    done.withLock { $0.append(number) }
    _ = credd_eventfd_signal(descriptor)
  }

  func takeAll() -> [UInt64] {
    _ = credd_eventfd_drain(descriptor)
    return done.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
  }
}

/// One result on its way from a thread to the loop.
private final class Slot<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  func fill(_ result: Value) { value.withLock { $0 = result } }

  func take() -> Value? {
    value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
