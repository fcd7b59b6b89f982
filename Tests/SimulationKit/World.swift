import CredCore
import SeededRandom

/// The shared state of a simulation: time, random numbers, the schedule and the trace.
final class World {
  /// On CLOCK_BOOTTIME.
  static let beginning = Instant.seconds(100_000)
  /// The true time then; lifetimes that servers give are counted from it.
  static let epoch = WallTime(milliseconds: 1_800_000_000_000)

  /// Everything follows from it.
  let seed: UInt64
  let fault: InjectedFault?
  let trace: Trace
  var random: SeededGenerator
  var schedule = Schedule()
  var report = SimulationReport()
  private(set) var now = World.beginning
  /// The end of the last sleep: no answer was possible during it.
  private(set) var awakeSince = World.beginning
  /// How long the host slept in all.
  private(set) var slept = Duration.zero
  /// How far the host's wall clock is off.
  var skew = Duration.zero
  /// Nobody has signed in or out for minutes.
  var isQuiet = false
  /// All faults have ended.
  var isCalm = false
  var isOver = false
  /// The number of the present process.
  var process = 0

  /// - Parameter isTraced: whether every step is traced.
  init(seed: UInt64, fault: InjectedFault?, isTraced: Bool) {
    self.seed = seed
    self.fault = fault
    random = SeededGenerator(seed: seed)
    trace = Trace(isKept: isTraced)
  }

  /// The time of a correct clock.
  var trueTime: WallTime { Self.epoch + (now - Self.beginning) }

  func later(_ seconds: Double) -> Instant { now + .seconds(1) * seconds }

  func after(_ seconds: Double, _ step: @escaping () -> Void) {
    schedule.put(at: later(seconds), step)
  }

  /// The same, for a step of the present process.
  func inProcess(after seconds: Double, _ step: @escaping () -> Void) {
    schedule.put(at: later(seconds), process: process, step)
  }

  /// Runs until the end, or to the first violation.
  func run() {
    while !isOver, trace.violation == nil, let entry = schedule.pop() {
      // Nothing happened while the host slept: steps that became due are late.
      if entry.at > now { now = entry.at }
      guard entry.process == 0 || entry.process == process else { continue }
      report.steps += 1
      entry.step()
    }
  }

  /// The host is suspended: the clock of deadlines goes on, and nothing happens.
  func sleep(until time: Instant) {
    guard time > now else { return }
    slept += time - now
    now = time
    awakeSince = now
  }

  func violate(_ invariant: Invariant, _ detail: @autoclosure () -> String) {
    trace.record(Violation(invariant: invariant, at: now, detail: detail()))
  }

  func trace(_ words: @autoclosure () -> String) {
    guard trace.isKept else { return }
    trace.write("\(now.sinceBeginning) \(words())")
  }
}
