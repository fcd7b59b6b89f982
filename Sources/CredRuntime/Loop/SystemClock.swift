internal import CLinux
internal import CredCore
internal import CredService
internal import Logging

/// Both clocks of the host. Notices when the wall clock is set, and compares it with the time of
/// AWS.
///
/// Deadlines and lifetimes do not depend on the wall clock: they use CLOCK_BOOTTIME.
final class SystemClock: Clock {
  /// Smaller jumps are not logged: NTP makes small steps.
  private static let worthSaying: Duration = .seconds(10)

  private let loop: EventLoop
  private let log: Logger
  private let watch: Int32
  private var source: EventSource?
  /// The wall clock minus CLOCK_BOOTTIME; it changes when the wall clock is set.
  private var offset: Duration
  private var clockSkew = ClockSkew()
  private var serverTime: ServerTime?

  init(loop: EventLoop, log: Logger) throws(SystemError) {
    self.loop = loop
    self.log = log
    offset = Self.offset(loop)
    watch = try SystemError.check(credd_clock_watch(), "watch the wall clock")
    source = try loop.watch(watch, for: CREDD_EPOLL_IN) { [unowned self] _ in self.wasSet() }
  }

  deinit {
    source = nil
    credd_close(watch)
  }

  var now: Instant { loop.now }
  var wallTime: WallTime { loop.wallTime }
  var skew: Duration? { clockSkew.isOff ? clockSkew.skew : nil }
  var awsTime: WallTime? { serverTime?.at(now) }

  func makeTimer(_ fire: @escaping () -> Void) -> any Timer {
    do throws(SystemError) {
      return try loop.timer { _ in fire() }
    } catch {
      // All timers share one descriptor, which was opened at the start, so only memory can run out.
      preconditionFailure("no memory is left for a timer")
    }
  }

  func recordServerTime(_ time: WallTime) {
    serverTime = ServerTime(time, heard: now)
    report(clockSkew.compare(server: time, local: loop.wallTime))
  }

  private func wasSet() {
    guard credd_clock_watch_again(watch) >= 0 else {
      source?.remove()
      return log.debug("the wall clock is not watched any more")
    }
    let now = Self.offset(loop)
    let jump = now - offset
    offset = now
    if jump > Self.worthSaying || jump < .zero - Self.worthSaying {
      log.notice(
        "the wall clock was set; sessions go on as before",
        metadata: ["seconds": "\(Int(jump.inSeconds))"])
    }
    report(clockSkew.clockSet(by: jump))
  }

  private func report(_ change: ClockSkew.Change?) {
    if let change { log.report(change) }
  }

  private static func offset(_ loop: EventLoop) -> Duration {
    loop.wallTime - WallTime(milliseconds: loop.now.nanoseconds / 1_000_000)
  }
}
