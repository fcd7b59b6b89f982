import ArgumentParser
import SimulationKit

/// Simulates hosts from seeds and says what did not hold.
struct CreddSimulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credd-simulate",
    abstract: "Run credd's service in a simulated world, and check what credd promises.",
    discussion: """
      Each seed is a host of its own. The first violation ends the run with status 1; \
      --replay with its seed shows what led to it.
      """)

  @Option(help: "How many seeds.")
  var seeds = 100

  @Option(help: "The first seed; by default another one each time.")
  var first: UInt64 = .random(in: 0..<1 << 48)

  @Option(help: "Hours of trouble that each simulates.")
  var hours = 24.0

  @Option(help: "Sessions of each host.")
  var sessions = 40

  @Option(help: "Run one seed and print the steps that concern a violation.")
  var replay: UInt64?

  @Flag(help: "With --replay: print every step.")
  var all = false

  func run() throws {
    if let replay { return try show(replay) }
    print("seeds \(first) to \(first + UInt64(seeds) - 1)")
    var total = Totals()
    for seed in first..<first + UInt64(seeds) {
      let report = Simulation(Scenario(seed: seed, sessions: sessions, hours: hours)).run()
      total.add(report)
      if report.violation != nil {
        try show(seed)
        throw ExitCode.failure
      }
    }
    print(total.words)
  }

  /// Finds the shortest run of a seed that fails, and prints its steps.
  private func show(_ seed: UInt64) throws {
    var scenario = Scenario(seed: seed, sessions: sessions, hours: hours)
    scenario.isTraced = true
    let report = Simulation(scenario).run()
    let lines = all ? report.trace : report.story
    for line in lines { print(line) }
    guard let violation = report.violation else { return print("seed \(seed): all is well") }
    print("seed \(seed): \(violation)")
    print(
      "again: credd-simulate --replay \(seed) --sessions \(sessions) --hours \(hours)")
    throw ExitCode.failure
  }
}

/// What all seeds did together.
private struct Totals {
  private var reports = SimulationReport.none
  private let began = ContinuousClock.now

  mutating func add(_ report: SimulationReport) {
    reports.add(report)
  }

  var words: String {
    let seconds = (ContinuousClock.now - began) / .seconds(1)
    let rate = Int(reports.sessionHours / max(seconds, 0.001))
    return """
      \(Int(reports.sessionHours)) session-hours, \(rate) a second; no violation
      \(reports.steps) steps, \(reports.requests) requests, \(reports.answers) answers \
      (\(reports.refusals) refusals)
      \(reports.calls) calls (\(reports.failedCalls) failed), \(reports.restarts) restarts
      """
  }
}
