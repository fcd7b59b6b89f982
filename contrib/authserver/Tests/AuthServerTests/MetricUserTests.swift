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

  private static let all = Set(Metric.allCases.map(\.name))

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
    #expect(!names.isEmpty && names.isSubset(of: Self.all), "\(names)")
  }

  @Test func theDashboardShowsEveryMetric() throws {
    #expect(Self.all.subtracting(Self.names(in: try Self.text(Self.dashboard))) == [])
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

  @Test func valuesStandInLabelsAsTheyAre() {
    let metrics = Metrics()
    metrics.count(.requests, "/v1/token", "200", by: 2)
    metrics.observe(.requestDuration, #"a"b"#, time: .milliseconds(250))
    let name = "credd_authserver_request"
    #expect(
      metrics.text.hasPrefix(
        """
        # HELP \(name)_duration_seconds Time to answer, by route.
        # TYPE \(name)_duration_seconds histogram
        \(name)_duration_seconds_bucket{route="a\\"b",le="0.001"} 0

        """))
    for line in [
      #"_duration_seconds_bucket{route="a\"b",le="0.5"} 1"#,
      #"_duration_seconds_bucket{route="a\"b",le="10"} 1"#,
      #"_duration_seconds_sum{route="a\"b"} 0.25"#, #"s_total{route="/v1/token",status="200"} 2"#,
    ] {
      #expect(metrics.text.contains("\n\(name)\(line)\n"), "\(line)")
    }
  }

  private func promtool(_ arguments: String) throws {
    try Command.run("/bin/sh", ["-c", "cd '\(Self.folder)' && promtool \(arguments)"])
  }
}
