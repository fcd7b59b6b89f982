import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What the units of systemd set.
struct UnitFileTests {
  /// Journald's limit is for all entries of a unit together: one user's flood would drop those of all.
  @Test(arguments: ["systemd/credd.service", "systemd/user/credd.service"])
  func theJournalDropsNoEntriesOfTheUnit(_ unit: String) throws {
    let text = try String(contentsOf: Repository.root.appending(path: unit), encoding: .utf8)
    let lines = text.split(separator: "\n")
    let service = try #require(lines.firstIndex(of: "[Service]"))
    let values = lines[service...].filter { $0.hasPrefix("LogRateLimit") }
    expect(values, equals: ["LogRateLimitIntervalSec=0"])
  }
}
