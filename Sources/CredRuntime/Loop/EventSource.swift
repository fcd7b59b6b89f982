internal import CLinux
internal import CSystemd
internal import CredCore
internal import CredService
internal import Glibc

/// One sd-event source and its handler. Dropping the object removes the source, at the latest when
/// its handler returns: call ``remove()`` before the handler closes the descriptor.
@safe final class EventSource: Timer {
  typealias Handler = (_ value: UInt32) -> Void

  private let handler: Handler
  private unowned let loop: EventLoop
  fileprivate var source: OpaquePointer?

  fileprivate init(_ loop: EventLoop, _ handler: @escaping Handler) {
    self.loop = loop
    self.handler = handler
  }

  deinit {
    unsafe sd_event_source_disable_unref(source)
  }

  fileprivate func fire(_ value: UInt32) {
    handler(value)
  }

  /// Stops or resumes delivery; the source stays registered.
  func setEnabled(_ enabled: Bool) {
    unsafe sd_event_source_set_enabled(source, Int32(enabled ? SD_EVENT_ON : SD_EVENT_OFF))
  }

  /// Removes the source from epoll now, even if its handler still runs and keeps the object. A
  /// later removal could remove a new descriptor with the same number.
  func remove() {
    setEnabled(false)
  }

  /// Fires a timer once at `deadline`, or never.
  func arm(at deadline: Instant?) {
    guard let deadline else {
      setEnabled(false)
      loop.needsDispatch = true
      return
    }
    // sd-event delays a timer by up to its accuracy, to fire several at once. A time in the past is
    // not delayed.
    let time = deadline <= loop.now ? 0 : UInt64(max(deadline.nanoseconds, 0)) / 1000 + 1
    unsafe sd_event_source_set_time(source, time)
    unsafe sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
    loop.needsDispatch = true
  }

  /// Changes the events of an I/O source. Returns false if the descriptor is not the watched one
  /// any more.
  func setEvents(_ events: UInt32) -> Bool {
    unsafe sd_event_source_set_io_events(source, events) >= 0
  }

  fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> EventSource? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<EventSource>.fromOpaque(context).takeUnretainedValue()
  }

  fileprivate var context: UnsafeMutableRawPointer {
    unsafe Unmanaged.passUnretained(self).toOpaque()
  }
}

extension EventLoop {
  /// Calls `handler` with the ready events whenever `descriptor` has any of `events`.
  func watch(
    _ descriptor: Int32, for events: UInt32, handler: @escaping EventSource.Handler
  ) throws(SystemError) -> EventSource {
    let watched = EventSource(self, handler)
    let result = unsafe sd_event_add_io(
      event, &watched.source, descriptor, events,
      { _, _, ready, context in
        unsafe EventSource.from(context)?.fire(ready)
        return 0
      }, watched.context)
    try SystemError.check(result, "watch descriptor \(descriptor)")
    return watched
  }

  /// A timer on CLOCK_BOOTTIME, not armed yet.
  func timer(handler: @escaping EventSource.Handler) throws(SystemError) -> EventSource {
    let timer = EventSource(self, handler)
    let accuracy: UInt64 = 1000
    let result = unsafe sd_event_add_time(
      event, &timer.source, CLOCK_BOOTTIME, .max, accuracy,
      { _, _, context in
        unsafe EventSource.from(context)?.fire(0)
        return 0
      }, timer.context)
    try SystemError.check(result, "create a timer")
    timer.setEnabled(false)
    return timer
  }

  /// Calls `handler` when the process receives `signal`, which is blocked for that.
  func signal(_ signal: Int32, handler: @escaping EventSource.Handler) throws(SystemError)
    -> EventSource
  {
    Self.block(signal)
    let watched = EventSource(self, handler)
    let result = unsafe sd_event_add_signal(
      event, &watched.source, signal,
      { _, _, context in
        unsafe EventSource.from(context)?.fire(0)
        return 0
      }, watched.context)
    try SystemError.check(result, "watch signal \(signal)")
    unsafe sd_event_source_set_priority(watched.source, Int64(SD_EVENT_PRIORITY_IMPORTANT))
    return watched
  }

  /// How a child process ended.
  enum ChildEnding: Equatable {
    case exited(Int32)
    /// By that signal.
    case killed(Int32)
  }

  /// Calls `handler` once the child `pid` ended. The child is reaped when the handler returns.
  /// Before that, no other process can have its pid or group.
  func child(
    _ pid: pid_t, handler: @escaping (ChildEnding) -> Void
  ) throws(SystemError) -> EventSource {
    // sd-event refuses child sources unless SIGCHLD is blocked. A process that ignores SIGCHLD
    // would get no exit status.
    Self.block(SIGCHLD)
    Glibc.signal(SIGCHLD, SIG_DFL)
    let watched = EventSource(self) { value in
      let number = Int32(bitPattern: value & ~Self.killedFlag)
      handler(value & Self.killedFlag == 0 ? .exited(number) : .killed(number))
    }
    let result = unsafe sd_event_add_child(
      event, &watched.source, pid, WEXITED,
      { _, information, context in
        guard let information = unsafe information else { return 0 }
        let status = UInt32(bitPattern: unsafe information.pointee._sifields._sigchld.si_status)
        let exited = unsafe information.pointee.si_code == Int32(CLD_EXITED)
        unsafe EventSource.from(context)?.fire(exited ? status : status | EventLoop.killedFlag)
        return 0
      }, watched.context)
    try SystemError.check(result, "watch child \(pid)")
    // Without pidfds nothing would report a child that has already ended.
    needsDispatch = true
    return watched
  }

  /// A bit above every exit status and signal number.
  private static let killedFlag: UInt32 = 1 << 16

  /// Keeps a signal pending until a source takes it.
  static func block(_ signal: Int32) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, signal)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
