import Synchronization

/// What `/metrics` shows, in Prometheus' classic text format. Labels come from closed lists and the
/// configuration, never from a request.
public final class Metrics: Sendable {
  /// Upper ends of the histogram's buckets, in seconds.
  private static let buckets = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  private struct Series: Hashable {
    let name: String
    let labels: String
  }

  private struct State {
    var counters: [Series: Int] = [:]
    var gauges: [Series: Double] = [:]
    var histograms: [Series: (counts: [Int], sum: Double)] = [:]
  }

  private let state = Mutex(State())

  public init() {}

  func count(_ name: String, _ labels: String = "", by number: Int = 1) {
    state.withLock { $0.counters[Series(name: name, labels: labels), default: 0] += number }
  }

  func set(_ name: String, _ labels: String = "", to value: Double) {
    state.withLock { $0.gauges[Series(name: name, labels: labels)] = value }
  }

  func remove(_ name: String, _ labels: String = "") {
    state.withLock { $0.gauges[Series(name: name, labels: labels)] = nil }
  }

  func observe(_ name: String, _ labels: String = "", seconds: Double) {
    state.withLock { state in
      let series = Series(name: name, labels: labels)
      var histogram =
        state.histograms[series]
        ?? (counts: Array(repeating: 0, count: Self.buckets.count + 1), sum: 0)
      histogram.counts[Self.buckets.firstIndex { seconds <= $0 } ?? Self.buckets.count] += 1
      histogram.sum += seconds
      state.histograms[series] = histogram
    }
  }

  /// The value of a counter, for tests.
  public func value(of name: String, _ labels: String = "") -> Int {
    state.withLock { $0.counters[Series(name: name, labels: labels)] ?? 0 }
  }

  private static let help: [String: (type: String, text: String)] = [
    "credd_authserver_build_info": ("gauge", "The version that runs."),
    "credd_authserver_requests_total": ("counter", "Requests by route and status."),
    "credd_authserver_request_duration_seconds": ("histogram", "Time to answer, by route."),
    "credd_authserver_tokens_total": ("counter", "Token callbacks by result."),
    "credd_authserver_upstream_requests_total": (
      "counter", "Calls of Cognito by operation and result."
    ),
    "credd_authserver_upstream_duration_seconds": ("histogram", "Time of Cognito's answers."),
    "credd_authserver_hashes_total": ("counter", "Argon2 hashes computed."),
    "credd_authserver_hashes_waiting": ("gauge", "Hashes under way or waiting for a thread."),
    "credd_authserver_quota_waiting": ("gauge", "Callbacks that wait for a call of the quota."),
    "credd_authserver_connections": ("gauge", "Connections open."),
    "credd_authserver_database_up": (
      "gauge", "Whether the database takes what is written: 1, or 0."
    ),
    "credd_authserver_host_expires_seconds": (
      "gauge", "Time until the next enrolment of a host ends; missing where none has an end."
    ),
    "credd_authserver_audit_entries_total": ("counter", "Entries written to the audit."),
    "credd_authserver_aws_credentials_expiration_timestamp_seconds": (
      "gauge", "When the server's own AWS credentials end; 0 for those without an end."
    ),
    "credd_authserver_certificate_expiration_timestamp_seconds": (
      "gauge", "When the server's certificate ends."
    ),
  ]

  static var names: Set<String> { Set(help.keys) }

  public var text: String {
    let state = state.withLock { $0 }
    var lines: [String] = []
    let names = Set(
      state.counters.keys.map(\.name) + state.gauges.keys.map(\.name)
        + state.histograms.keys.map(\.name))
    for name in names.sorted() {
      let help = Self.help[name] ?? ("untyped", name)
      lines.append("# HELP \(name) \(help.text)")
      lines.append("# TYPE \(name) \(help.type)")
      for (series, value) in Self.sorted(state.counters, name) {
        lines.append("\(name)\(Self.braces(series.labels)) \(value)")
      }
      for (series, value) in Self.sorted(state.gauges, name) {
        lines.append("\(name)\(Self.braces(series.labels)) \(value)")
      }
      for (series, value) in Self.sorted(state.histograms, name) {
        lines += Self.lines(of: value, series)
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func sorted<T>(_ all: [Series: T], _ name: String) -> [(key: Series, value: T)] {
    all.filter { $0.key.name == name }.sorted { $0.key.labels < $1.key.labels }
  }

  private static func lines(
    of histogram: (counts: [Int], sum: Double), _ series: Series
  ) -> [String] {
    var lines: [String] = []
    var total = 0
    let comma = series.labels.isEmpty ? "" : ","
    for (index, count) in histogram.counts.enumerated() {
      total += count
      let end = index < buckets.count ? "\(buckets[index])" : "+Inf"
      lines.append("\(series.name)_bucket{\(series.labels)\(comma)le=\"\(end)\"} \(total)")
    }
    lines.append("\(series.name)_sum\(braces(series.labels)) \(histogram.sum)")
    lines.append("\(series.name)_count\(braces(series.labels)) \(total)")
    return lines
  }

  private static func braces(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }
}
