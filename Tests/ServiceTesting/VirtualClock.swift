import CredCore
import CredService
import Testing

/// Time that moves only when a test moves it. Timers fire in the order of their deadlines, and those
/// of one deadline in the order in which they were armed.
final class VirtualClock: Clock {
  private struct Armed {
    let deadline: Instant
    let order: UInt64
    weak var timer: VirtualTimer?
  }

  private static let start = Instant.seconds(1000)
  /// More timers than fire at one time in any test: a service that arms one for the present again and
  /// again is stopped here, for the rest of the test.
  private static let mostFirings = 5_000
  private var isStopped = false

  private var present = VirtualClock.start
  /// How far the clock moves each time it is read, as a real one does.
  var step = Duration.zero

  var now: Instant {
    defer { present = present + step }
    return present
  }

  /// Added to the wall clock, as when a person sets it.
  var wallClockJump = Duration.zero
  var skew: Duration?
  private var serverTime: ServerTime?
  var awsTime: WallTime? { serverTime?.at(now) }
  /// Takes what is to be logged of the host's clock, as the real one does; nil where nothing compares it
  /// with the servers' time.
  var reportSkew: ((ClockSkew.Change) -> Void)?
  private var knownSkew = ClockSkew()
  private(set) var serverTimes: [WallTime] = []
  private var armed: [ObjectIdentifier: Armed] = [:]
  private var lastOrder: UInt64 = 0

  /// 2023-11-14T22:13:20Z at the start.
  var wallTime: WallTime {
    WallTime(milliseconds: 1_700_000_000_000) + (now - Self.start) + wallClockJump
  }

  func makeTimer(_ fire: @escaping () -> Void) -> any Timer { VirtualTimer(self, fire) }

  func recordServerTime(_ time: WallTime) {
    serverTimes.append(time)
    serverTime = ServerTime(time, heard: now)
    guard let reportSkew else { return }
    let change = knownSkew.compare(server: time, local: wallTime)
    skew = knownSkew.isOff ? knownSkew.skew : nil
    if let change { reportSkew(change) }
  }

  /// The next time at which a timer fires.
  var nextDeadline: Instant? { armed.values.map(\.deadline).min() }

  // MARK: Moving

  /// The wall clock is set, and the daemon notices.
  func setWallClock(by jump: Duration) {
    wallClockJump += jump
    guard let reportSkew else { return }
    let change = knownSkew.clockSet(by: jump)
    skew = knownSkew.isOff ? knownSkew.skew : nil
    if let change { reportSkew(change) }
  }

  func advance(by duration: Duration) { advance(to: now + duration) }

  func advance(to time: Instant) {
    var firings = 0
    while firings < Self.mostFirings {
      guard let next = nextTimer, next.deadline <= time else {
        present = max(present, time)
        return
      }
      firings = next.deadline > present ? 0 : firings + 1
      present = max(present, next.deadline)
      next.timer?.fireNow()
    }
    Issue.record("timers fire without end at \(now)")
    isStopped = true
    disarmAll()
  }

  /// The host is suspended: nothing fires before its end.
  func sleep(for duration: Duration) {
    present = present + duration
    settle()
  }

  /// Fires what is due now, and what that makes due.
  func settle() { advance(to: now) }

  /// No timer that is armed now ever fires, as at the end of a process.
  func disarmAll() { armed = [:] }

  private var nextTimer: Armed? {
    armed.values.min { ($0.deadline, $0.order) < ($1.deadline, $1.order) }
  }

  fileprivate func arm(_ timer: VirtualTimer, at deadline: Instant?) {
    guard !isStopped else { return }
    lastOrder += 1
    armed[ObjectIdentifier(timer)] = deadline.map {
      Armed(deadline: $0, order: lastOrder, timer: timer)
    }
  }

  fileprivate func forget(_ timer: ObjectIdentifier) { armed[timer] = nil }
}

/// Fires once each time it is armed. Dropping it disarms it.
private final class VirtualTimer: Timer {
  private weak var clock: VirtualClock?
  private let fire: () -> Void

  init(_ clock: VirtualClock, _ fire: @escaping () -> Void) {
    self.clock = clock
    self.fire = fire
  }

  deinit {
    clock?.forget(ObjectIdentifier(self))
  }

  func arm(at deadline: Instant?) { clock?.arm(self, at: deadline) }

  fileprivate func fireNow() {
    clock?.arm(self, at: nil)
    fire()
  }
}
