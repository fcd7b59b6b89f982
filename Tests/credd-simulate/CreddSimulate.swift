internal import ArgumentParser
internal import SimulationKit

/// Simulates hosts from seeds and says what did not hold.
@main
struct CreddSimulate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credd-simulate",
    abstract: "Run histories of credd's service, and check what credd promises.",
    discussion: """
      Each seed is a host of its own. The first violation ends the run with status 1; \
      --replay with its seed shows what led to it.
      """)

  @Option(help: "How many seeds.")
  var seeds = 100

  @Option(help: "The first seed; by default another one each time.")
  var first: UInt64 = .random(in: 0..<1 << 48)

  @Option(help: "Run one seed and print the fewest events that lead to its violation.")
  var replay: UInt64?

  @Flag(help: "With --replay: print every step of the whole history.")
  var all = false

  func run() async throws {
    if let replay { return try show(replay) }
    print("seeds \(first) to \(first + UInt64(seeds) - 1)")
    var total = Totals()
    var failed: UInt64?
    await withTaskGroup(of: (UInt64, SimulationReport).self) { group in
      var waiting = (first..<first + UInt64(seeds))[...]
      func startNext() {
        guard failed == nil, let seed = waiting.popFirst() else { return }
        group.addTask { (seed, History(seed: seed).run()) }
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

  /// Prints the fewest events of a seed that still violate the promise, with all that came of them,
  /// and fails if there is a violation.
  private func show(_ seed: UInt64) throws {
    let history = all ? History(seed: seed) : History(seed: seed).shrunk()
    let report = history.run(isTraced: true)
    for line in report.trace { print(line) }
    guard let violation = report.violation else { return print("seed \(seed): all is well") }
    print("seed \(seed), \(history.events.count) events: \(violation)")
    print("again: make simulate REPLAY=\(seed)")
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
      \(reports.calls) calls, \(reports.restarts) restarts
      """
  }
}
