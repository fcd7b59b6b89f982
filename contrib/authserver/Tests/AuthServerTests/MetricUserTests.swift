import AuthTestSupport
import Foundation
import Testing

@testable import AuthServer

/// The alerts and the dashboard speak of metrics that there are.
struct MetricUserTests {
  private static let folder = URL(filePath: #filePath)
    .appending(path: "../../../../prometheus").standardizedFileURL.path
  private static let rules = "credd-authserver.rules.yml"
  private static let tests = "credd-authserver.rules.test.yml"
  private static let dashboard = "grafana-dashboard-authserver.json"

  private static func text(_ file: String) throws -> String {
    try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
  }

  private static func names(in text: String) -> Set<String> {
    let names = text.matches(of: #/credd_authserver_[a-z_]+/#).map { String($0.output) }
    return Set(names.map { $0.hasSuffix("_bucket") ? String($0.dropLast(7)) : $0 })
  }

  @Test(arguments: [rules, tests, dashboard])
  func onlyMetricsThatThereAreAreUsed(_ file: String) throws {
    let names = Self.names(in: try Self.text(file))
    #expect(!names.isEmpty && names.isSubset(of: Metrics.names), "\(names)")
  }

  @Test func theDashboardShowsEveryMetric() throws {
    #expect(Metrics.names.subtracting(Self.names(in: try Self.text(Self.dashboard))) == [])
  }

  @Test func everyAlertFiresWhenItShould() throws {
    let alerts = try Self.text(Self.rules).matches(of: #/alert: (\w+)/#).map { $0.output.1 }
    let tests = try Self.text(Self.tests)
    #expect(alerts.count > 8)
    for alert in alerts {
      #expect(tests.contains("alertname: \(alert)\n        exp_alerts:"), "\(alert)")
      #expect(tests.contains("alertname: \(alert)}"), "\(alert)")
    }
    try promtool("check rules \(Self.rules) && promtool test rules \(Self.tests)")
  }

  @Test func promtoolReadsTheMetrics() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      #expect(try await test.callback(host).status == 200)
      let folder = try TestFolder()
      try test.server.metrics.text
        .write(toFile: folder.path + "/metrics", atomically: false, encoding: .utf8)
      try promtool("check metrics <\(folder.path)/metrics")
    }
  }

  private func promtool(_ arguments: String) throws {
    try Command.run("/bin/sh", ["-c", "cd '\(Self.folder)' && promtool \(arguments)"])
  }
}
