import SimulationKit
import TestSupport
import Testing

/// Histories of a host: uids that change hands, reloads, restarts, lies and outages.
struct HistoryTests {
  /// Fifty seeds.
  enum Seeds: Sendable {
    case known(after: UInt64)
    /// Others each time; the seed is in the message where one fails.
    case fresh

    fileprivate var numbers: [UInt64] {
      let rounds = UInt64(TestRounds.of(50))
      return switch self {
      case .known(let last): (1...rounds).map { last + $0 }
      case .fresh: (1...rounds).map { _ in .random(in: 0..<1 << 48) }
      }
    }
  }

  /// `make test-all` runs thousands with the release program, which is ten times as fast.
  private static let seeds: [Seeds] =
    (0..<(TestRounds.isDeep ? 6 : 1)).map { .known(after: $0 * 50) } + [.fresh]

  @Test(arguments: seeds)
  func promisesHoldInKnownHistories(_ seeds: Seeds) {
    for seed in seeds.numbers {
      let report = History(seed: seed).run()
      expect(report.violation?.description == nil, "make simulate REPLAY=\(seed)")
    }
  }

  /// What each of them showed is mended.
  @Test(arguments: [
    // A second try after a lost reply took no turn of its backend's rate.
    54_358_313_060_278,
    // A guest signed in during an outage of Cognito, and could not get the user's own identity after it.
    2809,
    // STS lied where no client could see it.
    41_276_348_213_535,
  ])
  func promisesHoldInHistoriesThatOnceBrokeThem(_ seed: UInt64) {
    let report = History(seed: seed).run()
    expect(report.violation?.description == nil, "make simulate REPLAY=\(seed)")
  }

  @Test func theSameSeedIsTheSameHistory() {
    for seed in 1...UInt64(TestRounds.of(20)) {
      let first = History(seed: seed).run(isTraced: true)
      expect(first.trace, equals: History(seed: seed).run(isTraced: true).trace)
      expect(first.requests > 20 && first.answers > 20)
    }
  }

  @Test func aHistoryIsShrunkToWhatMatters() throws {
    let fault = InjectedFault.lostReloads
    let seed = try #require(
      (1...20 as ClosedRange<UInt64>).first { History(seed: $0).run(fault: fault).violation != nil }
    )
    let history = History(seed: seed)
    let shrunk = history.shrunk(fault: fault)
    expect(shrunk.events.count < history.events.count / 4)
    expect(shrunk.run(fault: fault).violation != nil)
  }
}
