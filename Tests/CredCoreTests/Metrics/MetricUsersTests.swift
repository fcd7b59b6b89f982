import Foundation
import TestSupport
import Testing

@testable import CredCore

/// The alerts, the dashboard and the document speak of metrics that there are.
struct MetricUsersTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..")
    .standardizedFileURL

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static func names(in text: String) -> Set<String> {
    let names = text.matches(of: #/credd_[a-z_]+/#).map { String($0.output) }
    return Set(names.map { $0.hasSuffix("_bucket") ? String($0.dropLast(7)) : $0 })
  }

  private static let known = Set(Metric.allCases.map(\.name))

  @Test(arguments: [
    "contrib/prometheus/credd.rules.yml", "contrib/prometheus/credd.rules.test.yml",
    "contrib/prometheus/grafana-dashboard.json",
  ])
  func onlyMetricsThatThereAreAreUsed(_ path: String) throws {
    let names = Self.names(in: try Self.text(path))
    expect(!names.isEmpty && names.isSubset(of: Self.known), "\(names.subtracting(Self.known))")
  }

  /// Its last panel shows each metric that no other one has.
  @Test func theDashboardShowsEveryMetric() throws {
    let dashboard = try Self.text("contrib/prometheus/grafana-dashboard.json")
    let patterns = dashboard.matches(of: #/__name__=~\\"([^"\\]+)\\"/#).map { String($0.output.1) }
    let shown = try patterns.map { try Regex($0) }
    for name in Self.known.subtracting(Self.names(in: dashboard)) {
      expect(shown.contains { name.wholeMatch(of: $0) != nil }, "\(name)")
    }
    let object = try JSONSerialization.jsonObject(with: Data(dashboard.utf8)) as? [String: Any]
    expect(object?["uid"] as? String, equals: "credd")
  }

  /// `UPDATE_GOLDEN=1` writes the table anew.
  @Test func theDocumentHasEveryMetricAndItsLabels() throws {
    let rows = Metric.allCases.map { metric in
      let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
      return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |\n"
    }
    let header = "| Metric | Kind | Labels | |\n|---|---|---|---|\n"
    var document = try Self.text("docs/metrics.md")
    let start = try #require(document.firstRange(of: header)).upperBound
    let end = try #require(document[start...].firstRange(of: "\n\n")).lowerBound
    let table = document[start...end]
    if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
      document.replaceSubrange(start...end, with: rows.joined())
      try document.write(
        to: Self.root.appending(path: "docs/metrics.md"), atomically: true, encoding: .utf8)
    } else {
      expect(String(table), equals: rows.joined())
    }
  }

  /// Each alert of the document, and each alert has its tests.
  @Test func everyAlertIsTestedAndExplained() throws {
    let rules = try Self.text("contrib/prometheus/credd.rules.yml")
    let alerts = rules.matches(of: #/alert: (\w+)/#).map { String($0.output.1) }
    expect(alerts.count > 8)
    let tests = try Self.text("contrib/prometheus/credd.rules.test.yml")
    let document = try Self.text("docs/metrics.md")
    for alert in alerts {
      expect(tests.contains("alertname: \(alert)\n        exp_alerts:"), "\(alert)")
      expect(tests.contains("alertname: \(alert)}"), "\(alert)")
      expect(document.contains("`\(alert)`"), "\(alert)")
    }
  }
}
