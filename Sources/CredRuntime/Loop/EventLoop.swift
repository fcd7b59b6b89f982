internal import CLinux
internal import CSystemd
public import CredCore
internal import Glibc

/// The daemon's only loop: epoll for clients, sd-event for everything else.
///
/// One epoll instance watches thousands of clients, and sd-event with all its sources. If all
/// clients were one source of sd-event, each iteration would need a second epoll_wait. If each
/// client were a source, each client would need an iteration.
///
/// Created, run and used on one thread.
@safe public final class EventLoop {
  let event: OpaquePointer
  private let epoll: Int32
  private let ready: UnsafeMutableBufferPointer<credd_ready>
  /// The receiver that is served in addition to sd-event's sources.
  unowned var receiver: (any ReadinessReceiver)?
  /// The endpoint's server, if there is one. Its tokens belong to no other receiver.
  private unowned var endpoint: (any ReadinessReceiver)?
  /// Whether ``endpoint`` is set. A separate flag, because every iteration reads it, and reading
  /// ``endpoint`` would count a reference.
  private var hasEndpoint = false
  /// sd-event needs an iteration: a source is ready, or the kernel does not know of a new timer
  /// yet.
  var needsDispatch = true
  /// The result of ``run()``, set when it must end. sd-event's own exit is not used, because the
  /// event loop could not run again after it.
  private var ending: Int32?

  /// The token of sd-event in epoll; no client has it: see ``ReadinessReceiver``.
  private static let sources: UInt64 = 0xFFFF_FFFF
  /// Ready descriptors taken in one iteration.
  private static let readyAtOnce = 256
  /// How long sd-event's sources are dispatched before clients are served again.
  private static let sourceTime: Duration = .microseconds(25)

  /// Throws if the kernel has no descriptors or memory left.
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

  /// Dispatches events until ``exit(code:)``; returns its code.
  public func run() throws(SystemError) -> Int32 {
    while true {
      if let ending { return ending }
      try iterate()
    }
  }

  /// Ends ``run()`` after the present event. No client is served after that.
  public func exit(code: Int32 = 0) {
    ending = code
  }

  /// Reports to systemd's watchdog that the loop still runs, if the unit asks for it.
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
    let isBusy =
      needsDispatch || receiver?.isBusy == true || (hasEndpoint && endpoint?.isBusy == true)
    let count = try SystemError.check(
      unsafe credd_epoll_wait(epoll, ready.baseAddress, Int32(ready.count), !isBusy),
      "wait for events")
    let ready = unsafe UnsafeBufferPointer(rebasing: ready[..<Int(count)])
    for index in ready.indices where unsafe ready[index].token == Self.sources {
      needsDispatch = true
    }
    // sd-event comes before the clients: a request sent after `kill -HUP` is answered after the
    // signal is received.
    if needsDispatch { try dispatch() }
    guard ending == nil else { return }
    unsafe receiver?.serve(ready.span)
    if hasEndpoint { unsafe endpoint?.serve(ready.span) }
  }

  /// Serves the endpoint in addition to ``receiver``; nil stops that.
  func setEndpoint(_ server: (any ReadinessReceiver)?) {
    endpoint = server
    hasEndpoint = server != nil
  }

  /// Dispatches ready sources of sd-event, for a limited time.
  private func dispatch() throws(SystemError) {
    let end = now + Self.sourceTime
    repeat {
      // This sets newly armed timers in the kernel.
      needsDispatch = false
      let count = unsafe try SystemError.check(sd_event_run(event, 0), "run the event loop")
      guard count > 0 else { return }
      needsDispatch = true
    } while ending == nil && now < end
  }

  // MARK: Descriptors of the receiver

  /// Reports to ``receiver`` when `descriptor` has any of `events`. No other descriptor and not
  /// this loop may have the same token. Returns what epoll_ctl returns.
  func add(_ descriptor: Int32, _ events: UInt32, _ token: UInt64) -> Int32 {
    credd_epoll_add(epoll, descriptor, events, token)
  }

  func change(_ descriptor: Int32, _ events: UInt32, _ token: UInt64) {
    _ = credd_epoll_change(epoll, descriptor, events, token)
  }

  /// Needed only for a descriptor that stays open: closing one removes it too.
  func remove(_ descriptor: Int32) {
    _ = credd_epoll_remove(epoll, descriptor)
  }
}

/// Receives the readiness of many descriptors in one call. sd-event dispatches one source per
/// iteration, which is too slow for thousands of clients.
protocol ReadinessReceiver: AnyObject {
  /// Serves ready descriptors, and those left from the last iteration, for a limited time. Called
  /// in every iteration, after sd-event's sources. Unknown tokens belong to the loop.
  func serve(_ ready: borrowing Span<credd_ready>)

  /// Whether work waits for the next iteration even if no descriptor is ready.
  var isBusy: Bool { get }
}
