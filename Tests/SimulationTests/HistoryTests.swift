import SimulationKit
import TestSupport
import Testing

/// Short histories of a host: uids that change hands, reloads, restarts, lies and outages.
struct HistoryTests {
  private static let perTest: UInt64 = 50

  @Test(arguments: 0..<(TestRounds.isShort ? 2 : 6) as Range<UInt64>)
  func promisesHoldInKnownHistories(_ fifty: UInt64) {
    for seed in fifty * Self.perTest + 1...(fifty + 1) * Self.perTest { check(seed) }
  }

  /// Others each time; the seed is in the message where one fails.
  @Test(arguments: 0..<(TestRounds.isShort ? 0 : 2))
  func promisesHoldInFreshHistories(_ fifty: Int) {
    for _ in 0..<Self.perTest { check(.random(in: 0..<1 << 48)) }
  }

  private func check(_ seed: UInt64) {
    let report = History(seed: seed).run()
    #expect(
      report.violation?.description == nil, "make simulate HISTORIES=1 REPLAY=\(seed)")
  }

  @Test func theSameSeedIsTheSameHistory() {
    for seed in 1...20 as ClosedRange<UInt64> {
      let first = History(seed: seed).run(isTraced: true)
      #expect(first.trace == History(seed: seed).run(isTraced: true).trace)
      #expect(first.requests > 20 && first.answers > 20)
    }
  }

  @Test func aHistoryIsShrunkToWhatMatters() throws {
    let fault = InjectedFault.lostReloads
    let seed = try #require(
      (1...20 as ClosedRange<UInt64>).first { History(seed: $0).run(fault: fault).violation != nil }
    )
    let history = History(seed: seed)
    let shrunk = history.shrunk(fault: fault)
    #expect(shrunk.events.count < history.events.count / 4)
    #expect(shrunk.run(fault: fault).violation != nil)
  }
}
