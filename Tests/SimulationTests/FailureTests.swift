import SimulationKit
import TestSupport
import Testing

@testable import CredCore

/// The histories meet every failure that the daemon knows.
struct FailureTests {
  @Test func theUpstreamsFailInEveryWayThatTheTableKnows() {
    let known = [
      (FailureTable.cognito, HistoryFailures.cognito), (FailureTable.sts, HistoryFailures.sts),
      (FailureTable.anyService, HistoryFailures.anyService),
      (FailureTable.signature, HistoryFailures.signature),
    ]
    for (rows, failures) in known {
      for row in rows where !row.name.isEmpty {
        let isMet = failures.contains { $0.name == row.name && $0.message == row.saying }
        expect(isMet, "HistoryFailures lacks \(row.name) \(row.saying)")
      }
    }
  }
}
