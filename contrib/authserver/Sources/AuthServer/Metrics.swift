import CredCore
import Synchronization

/// What `/metrics` shows. Values of labels come from closed lists and the configuration, never from a
/// request.
enum Metric: MetricFamily, Sendable, CaseIterable {
  case buildInfo, requests, requestDuration, tokens, upstreamRequests, upstreamDuration
  case hashes, hashesWaiting, quotaWaiting, connections, databaseUp, hostExpires, auditEntries
  case credentialsExpiration, certificateExpiration

  private var row: (name: String, kind: MetricKind, labels: [String], help: String) {
    switch self {
    case .buildInfo: ("build_info", .gauge, ["version"], "The version that runs.")
    case .requests:
      ("requests_total", .counter, ["route", "status"], "Requests by route and status.")
    case .requestDuration:
      ("request_duration_seconds", .histogram, ["route"], "Time to answer, by route.")
    case .tokens: ("tokens_total", .counter, ["result"], "Token callbacks by result.")
    case .upstreamRequests:
      (
        "upstream_requests_total", .counter, ["operation", "result"],
        "Calls of Cognito by operation and result."
      )
    case .upstreamDuration:
      ("upstream_duration_seconds", .histogram, ["operation"], "Time of Cognito's answers.")
    case .hashes: ("hashes_total", .counter, [], "Argon2 hashes computed.")
    case .hashesWaiting:
      ("hashes_waiting", .gauge, [], "Hashes under way or waiting for a thread.")
    case .quotaWaiting:
      ("quota_waiting", .gauge, [], "Callbacks that wait for a call of the quota.")
    case .connections: ("connections", .gauge, [], "Connections open.")
    case .databaseUp:
      ("database_up", .gauge, [], "Whether the database takes what is written: 1, or 0.")
    case .hostExpires:
      (
        "host_expires_seconds", .gauge, [],
        "Time until the next enrolment of a host ends; missing where none has an end."
      )
    case .auditEntries: ("audit_entries_total", .counter, [], "Entries written to the audit.")
    case .credentialsExpiration:
      (
        "aws_credentials_expiration_timestamp_seconds", .gauge, [],
        "When the server's own AWS credentials end; 0 for those without an end."
      )
    case .certificateExpiration:
      (
        "certificate_expiration_timestamp_seconds", .gauge, [],
        "When the server's certificate ends."
      )
    }
  }

  var name: String { "credd_authserver_" + row.name }
  var kind: MetricKind { row.kind }
  var labels: [String] { row.labels }
  var help: String { row.help }
}

/// The metrics' values.
public final class Metrics: Sendable {
  /// Upper bounds of the histograms' buckets, in seconds.
  private static let bounds = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  private struct State {
    /// By the labels' values.
    var numbers: [Metric: [[String]: Double]] = [:]
    var histograms: [Metric: [[String]: DurationHistogram]] = [:]
  }

  private let state = Mutex(State())

  public init() {}

  /// - Parameter labels: a value for each label of the metric.
  func count(_ metric: Metric, _ labels: String..., by number: Int = 1) {
    state.withLock { $0.numbers[metric, default: [:]][labels, default: 0] += Double(number) }
  }

  func set(_ metric: Metric, _ labels: String..., to value: Double) {
    state.withLock { $0.numbers[metric, default: [:]][labels] = value }
  }

  func remove(_ metric: Metric) {
    state.withLock { $0.numbers[metric] = nil }
  }

  func observe(_ metric: Metric, _ labels: String..., time: Duration) {
    state.withLock {
      $0.histograms[metric, default: [:]][labels, default: DurationHistogram(bounds: Self.bounds)]
        .add(time)
    }
  }

  /// The value of a counter, for tests.
  func value(of metric: Metric, _ labels: String...) -> Int {
    state.withLock { Int($0.numbers[metric]?[labels] ?? 0) }
  }

  /// In Prometheus' text format.
  var text: String {
    let state = state.withLock { $0 }
    var text = PrometheusText()
    for metric in Metric.allCases.sorted(by: { $0.name < $1.name }) {
      if let samples = state.numbers[metric] { text.append(metric, Self.sorted(samples)) }
      if let samples = state.histograms[metric] { text.append(metric, Self.sorted(samples)) }
    }
    return String(decoding: text.bytes, as: UTF8.self)
  }

  private static func sorted<T>(_ samples: [[String]: T]) -> [([String], T)] {
    samples.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
  }
}
