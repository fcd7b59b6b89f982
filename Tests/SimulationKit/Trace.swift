import CredCore

/// The record of a running simulation.
final class Trace {
  private(set) var violation: Violation?
  private(set) var lines: [String] = []
  let isKept: Bool

  init(isKept: Bool) {
    self.isKept = isKept
  }

  func write(_ line: String) { lines.append(line) }

  /// Only the first is kept: others may follow from it.
  func record(_ violation: Violation) {
    if self.violation == nil { self.violation = violation }
  }
}

/// The results of a simulation.
public struct SimulationReport: Sendable {
  public internal(set) var sessionHours = 0.0
  public internal(set) var steps = 0
  /// Lines that clients sent.
  public internal(set) var requests = 0
  public internal(set) var answers = 0
  public internal(set) var refusals = 0
  /// Requests that upstreams got.
  public internal(set) var calls = 0
  public internal(set) var restarts = 0
  public internal(set) var violation: Violation?
  /// The steps, if they were traced.
  public internal(set) var trace: [String] = []

  /// The empty report.
  public static let none = SimulationReport()

  public mutating func add(_ other: SimulationReport) {
    sessionHours += other.sessionHours
    steps += other.steps
    requests += other.requests
    answers += other.answers
    refusals += other.refusals
    calls += other.calls
    restarts += other.restarts
  }
}

extension Instant {
  /// Hours, minutes and seconds since the simulation began, for people.
  var sinceBeginning: String {
    let milliseconds = (nanoseconds - World.beginning.nanoseconds) / 1_000_000
    let (hours, rest) = milliseconds.quotientAndRemainder(dividingBy: 3_600_000)
    let (minutes, left) = rest.quotientAndRemainder(dividingBy: 60_000)
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    return
      "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(left / 1000, 2)).\(digits(left % 1000, 3))"
  }
}
