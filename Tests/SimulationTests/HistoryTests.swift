import Foundation
import SimulationKit
import Testing

/// Short histories of a host: uids that change hands, reloads, restarts, lies and outages.
struct HistoryTests {
  /// Some of them in `make check`, all in `make test`.
  private static let isShort = ProcessInfo.processInfo.environment["CREDD_TEST_ROUNDS"] == "short"
  private static let perTest: UInt64 = 100

  @Test(arguments: 0..<(isShort ? 2 : 10) as Range<UInt64>)
  func promisesHoldInKnownHistories(_ hundred: UInt64) {
    for seed in hundred * Self.perTest + 1...(hundred + 1) * Self.perTest { check(seed) }
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
