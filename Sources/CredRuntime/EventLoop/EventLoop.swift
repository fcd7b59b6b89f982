internal import CLinux
public import CredCore
internal import CSystemd
internal import Glibc
internal import Synchronization

/// The one loop of the daemon: sd-event, which is also the executor of ``Daemon`` and of every
/// task it starts.
///
/// Created and run on one thread. Only ``enqueue(_:)`` may be called from others; everything else
/// is guarded by that fact, which is why the class may be `@unchecked Sendable`: an executor must
/// be `Sendable`, and the compiler cannot see that the loop's thread is the only one.
@safe public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  let event: OpaquePointer
  private let thread = pthread_self()
  private let queue = Mutex(JobQueue())
  private let wakeDescriptor: Int32
  /// Runs queued jobs; sources are created after `self`, hence optional.
  private var wakeSource: EventSource?

  /// Jobs handed to the executor, in order.
  private struct JobQueue {
    var jobs: [UnownedJob] = []
    var isSignalled = false
  }

  /// Throws where the kernel has no descriptors or memory left.
  public init() throws(SystemError) {
    var event: OpaquePointer?
    try unsafe SystemError.check(sd_event_new(&event), "create the event loop")
    guard let created = unsafe event else {
      throw SystemError("create the event loop", number: ENOMEM)
    }
    unsafe self.event = created
    wakeDescriptor = try SystemError.check(credd_eventfd(), "create an eventfd")
    wakeSource = try watch(wakeDescriptor, for: CREDD_EPOLL_IN) { [unowned self] _ in
      self.runJobs()
    }
  }

  deinit {
    wakeSource = nil
    credd_close(wakeDescriptor)
    unsafe sd_event_unref(event)
  }

  /// Dispatches events until ``exit(code:)``; answers its code.
  public func run() throws(SystemError) -> Int32 {
    unsafe try SystemError.check(sd_event_loop(event), "run the event loop")
  }

  /// Ends ``run()`` after the present event.
  public func exit(code: Int32 = 0) {
    unsafe sd_event_exit(event, code)
  }

  /// Tells the watchdog of systemd that the loop still turns, if the unit asks for it.
  public func superviseByWatchdog() throws(SystemError) {
    unsafe try SystemError.check(sd_event_set_watchdog(event, 1), "set up the watchdog")
  }

  /// Now, on the clock of all deadlines.
  public var now: Instant {
    Instant(nanoseconds: credd_boottime())
  }

  /// Now, on the wall clock.
  public var wallTime: WallTime {
    WallTime(milliseconds: credd_walltime())
  }

  /// Now, as systemd wants it told with RELOADING=1 (sd_notify(3)).
  var monotonicMicroseconds: UInt64 {
    var time: UInt64 = 0
    unsafe sd_event_now(event, CLOCK_MONOTONIC, &time)
    return time
  }

  // MARK: Executor

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let mustSignal = queue.withLock { queue in
      queue.jobs.append(job)
      defer { queue.isSignalled = true }
      return !queue.isSignalled
    }
    if mustSignal { _ = credd_eventfd_signal(wakeDescriptor) }
  }

  public func isIsolatingCurrentContext() -> Bool? {
    isOnLoop
  }

  public func checkIsolated() {
    precondition(isOnLoop, "called outside the event loop's thread")
  }

  private var isOnLoop: Bool {
    pthread_equal(thread, pthread_self()) != 0
  }

  /// Runs `work`, which may block, on a thread of its own and hands what it gave to `then` on the
  /// loop. A thread that hangs is never waited for.
  ///
  /// - Throws: where the host has no thread left.
  func runAside<Result: Sendable>(
    _ work: @escaping @Sendable () -> Result, then: @escaping @Sendable (Result) -> Void
  ) throws(SystemError) {
    try SideThread.run {
      let result = work()
      Task(executorPreference: self) { then(result) }
    }
  }

  /// Runs what was queued up to now; jobs queued meanwhile wait for the next turn, so that a
  /// chain of tasks cannot keep clients waiting.
  private func runJobs() {
    _ = credd_eventfd_drain(wakeDescriptor)
    let jobs = queue.withLock { queue in
      queue.isSignalled = false
      defer { queue.jobs.removeAll(keepingCapacity: true) }
      return queue.jobs
    }
    for job in jobs {
      unsafe job.runSynchronously(
        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
  }
}
