internal import CLinux
internal import CSystemd
public import CredCore
internal import Glibc
internal import Synchronization

/// The one loop of the daemon, which is also the executor of ``Daemon`` and of every task it starts.
///
/// All it waits for hangs on one epoll instance: clients, by the thousand, which are its
/// ``Crowd``; and sd-event with all its sources. The other way round, with the clients as a source
/// of sd-event, each of their turns takes a second epoll_wait and sd-event's own work; with a source
/// for each client, a turn for each.
///
/// Created and run on one thread. Only ``enqueue(_:)`` may be called from others; everything else
/// is guarded by that fact, which is why the class may be `@unchecked Sendable`: an executor must
/// be `Sendable`, and the compiler cannot see that the loop's thread is the only one.
@safe public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  let event: OpaquePointer
  private let thread = pthread_self()
  private let epoll: Int32
  private let ready: UnsafeMutableBufferPointer<credd_ready>
  /// Who is served beside sd-event's sources.
  unowned var crowd: (any Crowd)?
  /// sd-event has something to do: a source that is ready, or a timer that was set and of which the
  /// kernel does not know yet.
  var isStale = true
  /// What ``run()`` answers, once it is to end. sd-event has no part in it: a loop of its that has
  /// ended takes no more turns, and whoever gives it one is refused.
  private var ending: Int32?
  /// How often it woke up or looked: a loop that spins is seen by it.
  private(set) var turns: UInt64 = 0

  /// Jobs that were handed to the executor by what runs on it, in order.
  private var jobs: [UnownedJob] = []
  /// Those of them whose turn it is, and how many of these have run.
  private var currentJobs: [UnownedJob] = []
  private var jobsDone = 0
  /// Some of either have not run. A variable of its own, for it is asked for with each request.
  private var hasJobs = false
  private var jobsHaveWaited = false
  /// Those that other threads handed over, who say so by the descriptor.
  private let strangers = Mutex<[UnownedJob]>([])
  private let wakeDescriptor: Int32

  /// Tokens of epoll that are no client's: see ``Crowd``.
  private static let sources: UInt64 = 0xFFFF_FFFF
  private static let wake: UInt64 = 0xFFFF_FFFE

  /// Throws where the kernel has no descriptors or memory left.
  public init() throws(SystemError) {
    var event: OpaquePointer?
    try unsafe SystemError.check(sd_event_new(&event), "create the event loop")
    guard let created = unsafe event else {
      throw SystemError("create the event loop", number: ENOMEM)
    }
    unsafe self.event = created
    epoll = try SystemError.check(credd_epoll_create(), "create an epoll instance")
    wakeDescriptor = try SystemError.check(credd_eventfd(), "create an eventfd")
    unsafe ready = .allocate(capacity: Self.readyPerTurn)
    try SystemError.check(
      unsafe credd_epoll_add(epoll, sd_event_get_fd(event), CREDD_EPOLL_IN, Self.sources),
      "watch sd-event")
    try SystemError.check(
      credd_epoll_add(epoll, wakeDescriptor, CREDD_EPOLL_IN, Self.wake), "watch an eventfd")
  }

  deinit {
    credd_close(wakeDescriptor)
    credd_close(epoll)
    unsafe ready.deallocate()
    unsafe sd_event_unref(event)
  }

  /// Dispatches events until ``exit(code:)``; answers its code.
  public func run() throws(SystemError) -> Int32 {
    while true {
      if let ending { return ending }
      try turn()
    }
  }

  /// Ends ``run()`` after the present event or job: nobody is served any more.
  public func exit(code: Int32 = 0) {
    ending = code
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

  // MARK: Turns

  private func turn() throws(SystemError) {
    turns += 1
    let isBusy = isStale || hasJobs || crowd?.isWaiting == true
    let count = try SystemError.check(
      unsafe credd_epoll_wait(epoll, ready.baseAddress, Int32(ready.count), !isBusy),
      "wait for events")
    let ready = unsafe UnsafeBufferPointer(rebasing: ready[..<Int(count)])
    for index in ready.indices {
      switch unsafe ready[index].token {
      case Self.sources: isStale = true
      case Self.wake: admitStrangers()
      default: break
      }
    }
    // Before the clients: who asks after `kill -HUP`, and is alone, finds it heard.
    let hadSources = isStale
    if isStale { try dispatch() }
    guard ending == nil else { return }
    if hasJobs {
      // Jobs take turns with sources, so that clients wait for one of them alone.
      jobsHaveWaited = hadSources && !jobsHaveWaited
      if !jobsHaveWaited { runJobs() }
      guard ending == nil else { return }
    }
    unsafe crowd?.serve(ready.span)
  }

  /// Gives the sources of sd-event that are ready their turns, for a while.
  private func dispatch() throws(SystemError) {
    let end = now + Self.sourceTime
    repeat {
      // The kernel is told of timers that were armed.
      isStale = false
      let count = unsafe try SystemError.check(sd_event_run(event, 0), "run the event loop")
      guard count > 0 else { return }
      isStale = true
    } while ending == nil && now < end
  }

  /// Ready descriptors taken in one turn.
  private static let readyPerTurn = 256
  /// How long sd-event's sources are dispatched, and jobs run, before clients are served again.
  private static let sourceTime: Duration = .microseconds(25)

  // MARK: Crowd

  /// Has ``crowd`` told when `descriptor` has any of `events`. Its token is neither this loop's nor
  /// another descriptor's. Answers what epoll_ctl does.
  func add(_ descriptor: Int32, _ events: UInt32, _ token: UInt64) -> Int32 {
    credd_epoll_add(epoll, descriptor, events, token)
  }

  func change(_ descriptor: Int32, _ events: UInt32, _ token: UInt64) {
    _ = credd_epoll_change(epoll, descriptor, events, token)
  }

  /// Only for a descriptor that stays open: who closes one takes it out by that.
  func remove(_ descriptor: Int32) {
    _ = credd_epoll_remove(epoll, descriptor)
  }

  // MARK: Executor

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard !isOnLoop else {
      hasJobs = true
      return jobs.append(job)
    }
    let mustSignal = strangers.withLock { jobs in
      jobs.append(job)
      return jobs.count == 1
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

  /// Runs what was queued up to now, for a while. Jobs queued meanwhile wait for the next turn, so
  /// that a chain of tasks cannot keep clients waiting.
  private func runJobs() {
    if jobsDone == currentJobs.count {
      currentJobs.removeAll(keepingCapacity: true)
      jobsDone = 0
      swap(&jobs, &currentJobs)
    }
    let end = now + Self.sourceTime
    repeat {
      let job = currentJobs[jobsDone]
      jobsDone += 1
      unsafe job.runSynchronously(
        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    } while jobsDone < currentJobs.count && ending == nil && now < end
    hasJobs = jobsDone < currentJobs.count || !jobs.isEmpty
  }

  private func admitStrangers() {
    _ = credd_eventfd_drain(wakeDescriptor)
    jobs += strangers.withLock { strangers in
      defer { strangers = [] }
      return strangers
    }
    hasJobs = !jobs.isEmpty || hasJobs
  }
}

/// Who hangs on the loop by descriptors of which there are thousands: each turn, all who are ready
/// are served, where a source of sd-event would take a turn each.
protocol Crowd: AnyObject {
  /// Serves those who are ready, and those who wait since the last turn, for a while. Tokens that it
  /// does not know, which are the loop's own, are passed over.
  func serve(_ ready: borrowing Span<credd_ready>)

  /// Somebody waits for the next turn, whether or not a descriptor is ready.
  var isWaiting: Bool { get }
}
