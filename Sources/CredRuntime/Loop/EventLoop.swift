internal import CLinux
internal import CSystemd
public import CredCore
internal import Glibc

/// The one loop of the daemon: epoll for clients, sd-event for everything else.
///
/// All that it waits for hangs on one epoll instance: clients, by the thousand, and sd-event with all
/// its sources. With the clients as one source of sd-event, each iteration would take a second
/// epoll_wait and sd-event's own work; with a source for each client, an iteration for each.
///
/// Created, run and used on one thread.
@safe public final class EventLoop {
  let event: OpaquePointer
  private let epoll: Int32
  private let ready: UnsafeMutableBufferPointer<credd_ready>
  /// Served beside sd-event's sources.
  unowned var receiver: (any ReadinessReceiver)?
  /// sd-event has something to do: a source is ready, or a timer was set and the kernel does not know
  /// of it yet.
  var needsDispatch = true
  /// What ``run()`` answers, once it is to end. sd-event has no part in it: a loop of its that has
  /// ended refuses to run again.
  private var ending: Int32?
  /// How often the loop woke up or looked: a loop that spins is seen by it.
  private(set) var iterations: UInt64 = 0

  /// The token of sd-event in epoll, which is no client's: see ``ReadinessReceiver``.
  private static let sources: UInt64 = 0xFFFF_FFFF
  /// Ready descriptors taken in one iteration.
  private static let readyAtOnce = 256
  /// How long sd-event's sources are dispatched before clients are served again.
  private static let sourceTime: Duration = .microseconds(25)

  /// Throws where the kernel has no descriptors or memory left.
  public init() throws(SystemError) {
    var event: OpaquePointer?
    try unsafe SystemError.check(sd_event_new(&event), "create the event loop")
    guard let created = unsafe event else {
      throw SystemError("create the event loop", number: ENOMEM)
    }
    unsafe self.event = created
    epoll = try SystemError.check(credd_epoll_create(), "create an epoll instance")
    unsafe ready = .allocate(capacity: Self.readyAtOnce)
    try SystemError.check(
      unsafe credd_epoll_add(epoll, sd_event_get_fd(event), CREDD_EPOLL_IN, Self.sources),
      "watch sd-event")
  }

  deinit {
    credd_close(epoll)
    unsafe ready.deallocate()
    unsafe sd_event_unref(event)
  }

  /// Dispatches events until ``exit(code:)``; answers its code.
  public func run() throws(SystemError) -> Int32 {
    while true {
      if let ending { return ending }
      try iterate()
    }
  }

  /// Ends ``run()`` after the present event: no client is served any more.
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

  /// Now, in the form of RELOADING=1 (sd_notify(3)).
  var monotonicMicroseconds: UInt64 {
    var time: UInt64 = 0
    unsafe sd_event_now(event, CLOCK_MONOTONIC, &time)
    return time
  }

  // MARK: Iterations

  private func iterate() throws(SystemError) {
    iterations += 1
    let isBusy = needsDispatch || receiver?.isBusy == true
    let count = try SystemError.check(
      unsafe credd_epoll_wait(epoll, ready.baseAddress, Int32(ready.count), !isBusy),
      "wait for events")
    let ready = unsafe UnsafeBufferPointer(rebasing: ready[..<Int(count)])
    for index in ready.indices where unsafe ready[index].token == Self.sources {
      needsDispatch = true
    }
    // Before the clients: a client that asks after `kill -HUP` finds it received.
    if needsDispatch { try dispatch() }
    guard ending == nil else { return }
    unsafe receiver?.serve(ready.span)
  }

  /// Gives the sources of sd-event that are ready their turns, for a while.
  private func dispatch() throws(SystemError) {
    let end = now + Self.sourceTime
    repeat {
      // The kernel is told of timers that were armed.
      needsDispatch = false
      let count = unsafe try SystemError.check(sd_event_run(event, 0), "run the event loop")
      guard count > 0 else { return }
      needsDispatch = true
    } while ending == nil && now < end
  }

  // MARK: Descriptors of the receiver

  /// Has ``receiver`` told when `descriptor` has any of `events`. Its token is neither this loop's nor
  /// another descriptor's. Answers what epoll_ctl does.
  func add(_ descriptor: Int32, _ events: UInt32, _ token: UInt64) -> Int32 {
    credd_epoll_add(epoll, descriptor, events, token)
  }

  func change(_ descriptor: Int32, _ events: UInt32, _ token: UInt64) {
    _ = credd_epoll_change(epoll, descriptor, events, token)
  }

  /// Only for a descriptor that stays open: to close one takes it out as well.
  func remove(_ descriptor: Int32) {
    _ = credd_epoll_remove(epoll, descriptor)
  }
}

/// Receives the readiness of many descriptors in one call. sd-event dispatches one source per
/// iteration, which is too slow for thousands of clients.
protocol ReadinessReceiver: AnyObject {
  /// Serves the ready descriptors, and those that were left over from the last iteration, for a while.
  /// Called in every iteration, after sd-event's sources. Tokens that it does not know are the loop's.
  func serve(_ ready: borrowing Span<credd_ready>)

  /// Something waits for the next iteration, whether or not a descriptor is ready.
  var isBusy: Bool { get }
}
