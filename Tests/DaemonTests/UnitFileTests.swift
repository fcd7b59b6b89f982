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

  /// The socket of the example configuration, passed under the name that credd asks for.
  @Test
  func theExampleOfASocketWithACapFitsTheExampleOfItsSection() throws {
    let unit = try Repository.text("systemd/examples/credd-agents.socket").split(separator: "\n")
    func value(_ key: String) -> Substring? {
      unit.first { $0.hasPrefix(key + "=") }?.dropFirst(key.utf8.count + 1)
    }
    expect(value("FileDescriptorName"), equals: "capped")
    expect(value("Service"), equals: "credd.service")
    let path = try #require(value("ListenStream"))
    expect(try Repository.text("contrib/credd.conf.example").contains("\n[socket \(path)]\n"))
    // The page has the same path.
    expect(try Repository.text("docs/systemd.md").contains("[socket \(path)]"))
  }
}
