internal import ArgumentParser
internal import SimulationKit

/// Simulates hosts from seeds and says what did not hold.
@main
struct CreddSimulate: AsyncParsableCommand {
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

  @Flag(help: "Run short histories of three users, many in a second, in place of long lives.")
  var histories = false

  /// A world of a seed: a long life of many sessions, or a short history.
  private func report(_ seed: UInt64, isTraced: Bool = false) -> SimulationReport {
    if histories { return History(seed: seed).run(isTraced: isTraced) }
    var scenario = Scenario(seed: seed, sessions: sessions, hours: hours)
    scenario.isTraced = isTraced
    return Simulation(scenario).run()
  }

  func run() async throws {
    if let replay { return try show(replay) }
    print("seeds \(first) to \(first + UInt64(seeds) - 1)")
    var total = Totals()
    var failed: UInt64?
    await withTaskGroup(of: (UInt64, SimulationReport).self) { group in
      var waiting = (first..<first + UInt64(seeds))[...]
      func startNext() {
        guard failed == nil, let seed = waiting.popFirst() else { return }
        group.addTask { [self] in (seed, report(seed)) }
      }
      for _ in 0..<Self.atOnce { startNext() }
      for await (seed, report) in group {
        total.add(report)
        if report.violation != nil { failed = min(failed ?? seed, seed) }
        startNext()
      }
    }
    if let failed { try show(failed) }
    print(total.words)
  }

  /// Seeds that are simulated side by side. The runtime has as many threads as the host has
  /// processors.
  private static let atOnce = 64

  /// Runs a seed once more, prints its steps, and fails if it does.
  private func show(_ seed: UInt64) throws {
    let report = report(seed, isTraced: true)
    if histories, report.violation != nil { return try showShortest(seed) }
    let lines = all ? report.trace : report.story
    for line in lines { print(line) }
    guard let violation = report.violation else { return print("seed \(seed): all is well") }
    print("seed \(seed): \(violation)")
    print(
      "again: credd-simulate --replay \(seed) --sessions \(sessions) --hours \(hours)")
    throw ExitCode.failure
  }

  /// Prints the fewest events that still violate the promise, with all that came of them.
  private func showShortest(_ seed: UInt64) throws {
    let history = all ? History(seed: seed) : History(seed: seed).shrunk()
    let report = history.run(isTraced: true)
    for line in report.trace { print(line) }
    print("seed \(seed), \(history.events.count) events: \(report.violation.map { "\($0)" } ?? "")")
    print("again: make simulate HISTORIES=1 REPLAY=\(seed)")
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
