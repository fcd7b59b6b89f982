import SimulationKit
import TestSupport
import Testing

/// Faults that each invariant must catch.
struct InvariantTests {
  /// Seeds that show a fault, where the first ones do not: a search from 1 takes seconds.
  private static let telling: [InjectedFault: UInt64] = [
    .dropOnFailure: 394, .lostRecords: 82,
  ]

  @Test(arguments: InjectedFault.allCases.prefix(TestRounds.isShort ? 3 : .max))
  func eachFaultIsCaught(_ fault: InjectedFault) {
    var caught: Set<Invariant> = []
    let first = Self.telling[fault] ?? 1
    for seed in first..<first + 60 where caught.isDisjoint(with: fault.caughtBy) {
      if let violation = History(seed: seed).run(fault: fault).violation {
        caught.insert(violation.invariant)
      }
    }
    expect(!caught.isDisjoint(with: fault.caughtBy), "\(caught)")
  }

  @Test func everyInvariantHasAFaultThatItCatches() {
    let caught = Set(InjectedFault.allCases.flatMap(\.caughtBy))
    expect(caught, equals: Set(Invariant.allCases))
  }
}
