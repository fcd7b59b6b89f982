import CredCore
import SimulationKit
import TestSupport
import Testing

/// Hosts from fixed seeds and from fresh ones, and faults that each invariant must catch.
struct SimulationTests {
  @Test(arguments: 1...(TestRounds.isShort ? 1 : 9) as ClosedRange<UInt64>)
  func promisesHoldInTheKnownWorlds(_ seed: UInt64) {
    check(seed, busyness: 100)
  }

  /// Another world each time; the seed is in the message where one fails.
  @Test(arguments: 1...(TestRounds.isShort ? 1 : 2))
  func promisesHoldInAFreshWorld(_ number: Int) {
    // One world in 200 is quieter than those above.
    check(.random(in: 0..<1 << 48), busyness: 10)
  }

  private func check(_ seed: UInt64, busyness: UInt64) {
    let report = Simulation(Scenario(seed: seed, sessions: 18, hours: 12)).run()
    let again = "make simulate SEEDS=1 FIRST=\(seed) SESSIONS=18 HOURS=12"
    expect(report.violation?.description == nil, "\(again)")
    expect(report.calls > busyness && report.answers > busyness)
  }

  @Test func theSameSeedIsTheSameWorld() {
    func trace(_ seed: UInt64) -> [String] {
      var scenario = Scenario(seed: seed, sessions: 9, hours: 3)
      scenario.isTraced = true
      return Simulation(scenario).run().trace
    }
    expect(trace(5), equals: trace(5))
    expect(trace(5) != trace(6))
  }

  /// Seeds that show a fault, where the first ones do not: a search from 1 takes seconds.
  private static let telling: [InjectedFault: UInt64] = [
    .mixedRecords: 6, .lostRecords: 5, .fastClock: 8, .forgottenKey: 30, .lostReloads: 8,
    .loggedSecrets: 14,
  ]

  @Test(arguments: InjectedFault.allCases.prefix(TestRounds.isShort ? 3 : .max))
  func eachFaultIsCaught(_ fault: InjectedFault) {
    var caught: Set<Invariant> = []
    let first = Self.telling[fault] ?? 1
    for seed in first..<first + 60 where caught.isDisjoint(with: fault.caughtBy) {
      let report =
        fault.isOfHistories
        ? History(seed: seed).run(fault: fault)
        : Simulation(Scenario(seed: seed, sessions: 18, hours: 12, fault: fault)).run()
      if let violation = report.violation { caught.insert(violation.invariant) }
    }
    expect(!caught.isDisjoint(with: fault.caughtBy), "\(caught)")
  }

  @Test func everyInvariantHasAFaultThatItCatches() {
    let caught = Set(InjectedFault.allCases.flatMap(\.caughtBy))
    expect(caught, equals: Set(Invariant.allCases))
  }
}
