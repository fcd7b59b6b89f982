import CredCore
import CredService

/// Both clocks of the host. Timers fire from the schedule.
final class SimulatedClock: Clock {
  /// A timer set for now is no spin; nor is a chain of calls that all fail before they are sent.
  private static let firesAtOnce = 1000
  private static let haste = 1000.0

  private let world: World
  private let fault: InjectedFault?
  private var known = ClockSkew()
  private var serverTime: ServerTime?

  init(_ world: World, _ fault: InjectedFault?) {
    self.world = world
    self.fault = fault
  }

  var now: Instant {
    switch fault {
    case .fastClock: World.beginning + (world.now - World.beginning) * Self.haste
    case .slowClock: world.now - .seconds(1)
    case .stoppedClock: world.now - world.slept
    default: world.now
    }
  }

  var wallTime: WallTime { world.trueTime + world.skew }
  var skew: Duration? { known.isOff ? known.skew : nil }

  var awsTime: WallTime? { serverTime?.at(now) }

  func recordServerTime(_ time: WallTime) {
    _ = known.compare(server: time, local: wallTime)
    serverTime = ServerTime(time, heard: now)
  }

  func makeTimer(_ fire: @escaping () -> Void) -> any Timer { Alarm(self, fire) }

  /// The simulation's time at a time of this clock.
  private func inWorld(_ time: Instant) -> Instant {
    switch fault {
    case .fastClock: World.beginning + (time - World.beginning) * (1 / Self.haste)
    case .stoppedClock: time + world.slept
    default: time
    }
  }

  private final class Alarm: Timer {
    private let clock: SimulatedClock
    private let fire: () -> Void
    private var deadline = Instant.distantFuture
    /// The earliest step that is in the schedule for it.
    private var scheduled = Instant.distantFuture
    private var lastFired = (at: Instant(nanoseconds: .min), times: 0)

    init(_ clock: SimulatedClock, _ fire: @escaping () -> Void) {
      self.clock = clock
      self.fire = fire
    }

    func arm(at deadline: Instant?) {
      self.deadline = deadline ?? .distantFuture
      schedule()
    }

    private func schedule() {
      let world = clock.world
      let time = clock.inWorld(deadline)
      guard time < scheduled else { return }
      if world.fault == .lostTimers, time > world.now { return }
      scheduled = time
      world.schedule.put(at: time, process: world.process) { [weak self] in self?.reached(time) }
    }

    private func reached(_ time: Instant) {
      guard time == scheduled else { return }
      scheduled = .distantFuture
      let now = clock.world.now
      guard clock.inWorld(deadline) <= now else { return schedule() }
      deadline = .distantFuture
      lastFired = (now, lastFired.at == now ? lastFired.times + 1 : 1)
      guard lastFired.times < SimulatedClock.firesAtOnce else {
        return clock.world.violate(
          .noSpin, "a timer fires \(lastFired.times) times at one instant")
      }
      fire()
    }
  }
}
