import Foundation
import TestSupport
import Testing

@testable import CredCore

/// The alerts, the dashboard and the document speak of metrics that there are.
struct MetricUsersTests {
  private static func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
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

  @Test func theDashboardShowsEveryMetric() throws {
    let dashboard = try Self.text("contrib/prometheus/grafana-dashboard.json")
    expect(Self.known.subtracting(Self.names(in: dashboard)).isEmpty)
    let object = try JSONSerialization.jsonObject(with: Data(dashboard.utf8)) as? [String: Any]
    expect(object?["uid"] as? String, equals: "credd")
  }

  @Test func theDocumentHasEveryMetricAndItsLabels() throws {
    let document = try Self.text("docs/metrics.md")
    for metric in Metric.allCases {
      let row = document.split(separator: "\n").first { $0.contains("`\(metric.name)`") }
      expect(row != nil, "\(metric.name)")
      for label in metric.labels { expect(row?.contains("`\(label)`") == true, "\(metric.name)") }
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
