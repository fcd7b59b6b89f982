import CredCore
import Foundation
import Testing

@testable import DaemonHarness

/// The alerts of contrib/prometheus that fire while a story is told, by promtool.
///
/// promtool does not list the alerts that fire; it compares them with expectations. So each alert is
/// expected not to fire in each minute, and its complaints say which ones do.
struct AlertWatch {
  static let promtool = Programs.installed("promtool")
  static let rules = URL(filePath: #filePath)
    .appending(path: "../../../../contrib/prometheus/credd.rules.yml").standardizedFileURL

  /// One of each minute.
  private var samples: [Metrics] = []
  /// The right time of the first sample, from which promtool counts.
  private let start: WallTime

  init(from start: WallTime) {
    self.start = start
  }

  mutating func add(_ sample: Metrics) { samples.append(sample) }

  /// Which alerts fired, from when to when, and what they said.
  func lines() throws -> [String] {
    guard let promtool = Self.promtool else { return [] }
    let text = try testFile()
    let output = try Tool.withFolder { folder in
      let test = folder.appending(path: "story.test.yml")
      try Data(text.utf8).write(to: test)
      return try Tool.output(of: promtool, ["test", "rules", test.path])
    }
    guard output.contains("SUCCESS") || output.contains("FAILED:") else {
      throw Unreadable(output: output)
    }
    return FiredAlert.all(in: output).map(\.line)
  }

  struct Unreadable: Error {
    let output: String
  }

  private func testFile() throws -> String {
    let names = try String(contentsOf: Self.rules, encoding: .utf8).split(separator: "\n")
      .compactMap { line in
        line.firstRange(of: "- alert: ").map { String(line[$0.upperBound...]) }
      }
    try #require(names.contains("CreddRefreshesFail"))
    let series = Set(samples.flatMap(\.series.keys)).sorted()
    let inputs = series.map {
      "      - {series: '\(onHost($0))', values: '\(values(of: $0))'}"
    }
    let expectations = names.flatMap { name in
      samples.indices.map { "      - {eval_time: \($0)m, alertname: \(name)}" }
    }
    return """
      rule_files: [\(Self.rules.path)]
      evaluation_interval: 1m
      tests:
        - interval: 1m
          input_series:
      \(inputs.joined(separator: "\n"))
          alert_rule_test:
      \(expectations.joined(separator: "\n"))

      """
  }

  /// A scraper adds where the series comes from.
  private func onHost(_ series: String) -> String {
    let place = #"instance="host.example""#
    guard series.hasSuffix("}") else { return "\(series){\(place)}" }
    return series.dropLast() + ",\(place)}"
  }

  private func values(of series: String) -> String {
    var isThere = false
    return samples.map { sample in
      defer { isThere = sample.series[series] != nil }
      guard let value = sample.series[series] else { return isThere ? "stale" : "_" }
      guard Metrics.isTime(series) else { return Metrics.number(value) }
      return Metrics.number(value - Double(start.milliseconds / 1000))
    }.joined(separator: " ")
  }
}

/// An alert that fires for some minutes.
private struct FiredAlert {
  let name: String
  let severity: String
  let summary: String
  var minutes: ClosedRange<Int>

  var line: String {
    let time =
      minutes.count == 1
      ? "in minute \(minutes.lowerBound)"
      : "from minute \(minutes.lowerBound) to \(minutes.upperBound)"
    return "\(name) (\(severity)) \(time): \(summary)"
  }

  /// Reads what promtool says of alerts that it did not expect.
  static func all(in output: String) -> [FiredAlert] {
    var fired: [FiredAlert] = []
    var minute = 0
    var labels = Substring()
    for line in output.split(separator: "\n") {
      if let time = value(of: ", time: ", upTo: ",", in: line) {
        minute = minutes(of: time)
      } else if line.contains("Labels:{") {
        labels = line
      } else if line.contains("Annotations:{") {
        let alert = FiredAlert(
          name: value(of: #"alertname=""#, upTo: #"""#, in: labels) ?? "",
          severity: value(of: #"severity=""#, upTo: #"""#, in: labels) ?? "",
          summary: value(of: #"summary=""#, upTo: #""}"#, in: line) ?? "",
          minutes: minute...minute)
        add(alert, to: &fired)
      }
    }
    return fired.sorted { ($0.minutes.lowerBound, $0.name) < ($1.minutes.lowerBound, $1.name) }
  }

  private static func add(_ alert: FiredAlert, to fired: inout [FiredAlert]) {
    let before = fired.lastIndex {
      ($0.name, $0.summary) == (alert.name, alert.summary)
        && $0.minutes.upperBound + 1 == alert.minutes.lowerBound
    }
    guard let before else { return fired.append(alert) }
    fired[before].minutes = fired[before].minutes.lowerBound...alert.minutes.upperBound
  }

  /// `3m`, `1h` or `1h5m`.
  private static func minutes(of time: String) -> Int {
    let parts = time.split { !$0.isNumber }.compactMap { Int($0) }
    guard time.contains("h") else { return parts.first ?? 0 }
    return parts.reduce(0) { $0 * 60 + $1 } * (time.contains("m") ? 1 : 60)
  }

  private static func value(of start: String, upTo end: String, in line: Substring) -> String? {
    guard let begin = line.firstRange(of: start) else { return nil }
    let rest = line[begin.upperBound...]
    return rest.firstRange(of: end).map { String(rest[..<$0.lowerBound]) }
  }
}
