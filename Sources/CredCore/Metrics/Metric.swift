/// A metric of credd, with its name, kind, labels and explanation for Prometheus.
///
/// Labels are names from the configuration or from closed lists, never a user, a unit or an
/// identity: their number must not grow with the users of a host. The table of docs/metrics.md is
/// made from the rows.
public enum Metric: MetricFamily, Sendable, CaseIterable {
  case buildInfo, sessions, sessionsDegraded, credentialsExpiration, credentialsLifetime, refreshes
  case upstreamRequests, upstreamRequestDuration, upstreamUp, replicaInUse, requests, signIns
  case attestationFailures, limitHits, connections, waiters, clockSkew
  case configurationValid, configurationTime

  private var row: (name: String, kind: MetricKind, labels: [String], help: String) {
    switch self {
    case .buildInfo:
      ("build_info", .gauge, ["version"], "The version of credd; always 1.")
    case .sessions:
      ("sessions", .gauge, ["profile", "state"], "Sessions by their state.")
    case .sessionsDegraded:
      ("sessions_degraded", .gauge, ["profile"], "Sessions whose last refresh failed.")
    case .credentialsExpiration:
      (
        "credentials_expiration_timestamp_seconds", .gauge, ["profile"],
        "When the first of the credentials in use expires."
      )
    case .credentialsLifetime:
      (
        "credentials_lifetime_seconds", .gauge, ["profile"],
        "The whole lifetime of the credentials in use that expire first."
      )
    case .refreshes:
      ("refreshes_total", .counter, ["profile", "result"], "Refreshes that ended.")
    case .upstreamRequests:
      (
        "upstream_requests_total", .counter, ["upstream", "operation", "result"],
        "Calls of backends, Cognito and STS."
      )
    case .upstreamRequestDuration:
      (
        "upstream_request_duration_seconds", .histogram, ["upstream", "operation"],
        "How long such calls took."
      )
    case .upstreamUp:
      (
        "upstream_up", .gauge, ["upstream"],
        "Whether an upstream works: 0 after failures that are its own."
      )
    case .replicaInUse:
      (
        "user_pool_replica_in_use", .gauge, ["backend"],
        "Whether a user pool's replica serves, since its primary cannot be reached."
      )
    case .requests:
      (
        "requests_total", .counter, ["op", "transport", "code"],
        "Requests by operation, transport and error code."
      )
    case .signIns:
      (
        "sign_ins_total", .counter, ["profile", "means", "result"],
        "Sign-ins that people asked for."
      )
    case .attestationFailures:
      (
        "attestation_failures_total", .counter, ["reason"],
        "HTTP connections whose maker the kernel did not say."
      )
    case .limitHits:
      ("limit_hits_total", .counter, ["limit"], "Requests and connections that a limit refused.")
    case .connections:
      ("connections", .gauge, ["transport"], "Open connections of clients.")
    case .waiters:
      ("waiters", .gauge, [], "Requests that wait for a refresh or a sign-in.")
    case .clockSkew:
      ("clock_skew_seconds", .gauge, [], "How far the clock of this host is behind that of AWS.")
    case .configurationValid:
      (
        "configuration_valid", .gauge, [],
        "Whether the last configuration that was read is in force."
      )
    case .configurationTime:
      ("configuration_timestamp_seconds", .gauge, [], "Since when the configuration is in force.")
    }
  }

  public var name: String { "credd_\(row.name)" }
  public var kind: MetricKind { row.kind }
  public var labels: [String] { row.labels }
  public var help: String { row.help }

  /// Whether samples name profiles. `credctl metrics --no-profiles` omits such metrics, for files
  /// that all users may read.
  public var namesProfiles: Bool { labels.contains("profile") }
}

/// credd's metrics in Prometheus' format.
public struct MetricsText: Sendable {
  private var text = PrometheusText()
  private let includesProfiles: Bool

  public init(includingProfiles: Bool) {
    includesProfiles = includingProfiles
  }

  public var bytes: [UInt8] { text.bytes }

  /// Appends a metric with its samples, as ``PrometheusText`` does.
  public mutating func append(_ metric: Metric, _ samples: [([String], Double)]) {
    if includes(metric) { text.append(metric, samples) }
  }

  /// Appends a metric without labels.
  public mutating func append(_ metric: Metric, _ value: Double) { append(metric, [([], value)]) }

  /// Appends a histogram.
  public mutating func append(_ metric: Metric, _ samples: [([String], DurationHistogram)]) {
    if includes(metric) { text.append(metric, samples) }
  }

  private func includes(_ metric: Metric) -> Bool { includesProfiles || !metric.namesProfiles }
}

public enum MetricKind: String, Sendable {
  case counter, gauge, histogram
}

/// A metric's name, kind and help text, as Prometheus reads them.
public protocol MetricFamily {
  var name: String { get }
  var kind: MetricKind { get }
  /// The labels, in the order in which samples give their values.
  var labels: [String] { get }
  /// The explanation, in one line.
  var help: String { get }
}

/// How many durations fall into each bucket.
public struct DurationHistogram: Sendable, Equatable {
  /// The upper bounds of credd's in seconds: from a server nearby to the longest timeout.
  public static let bounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

  fileprivate let bounds: [Double]
  /// The count of each bucket by itself; the last one is for longer durations.
  fileprivate private(set) var counts: [Int]
  fileprivate private(set) var sum = 0.0

  /// - Parameter bounds: the upper bounds of the buckets in seconds, ascending.
  public init(bounds: [Double] = bounds) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  public mutating func add(_ duration: Duration) {
    let time = max(0, duration.inSeconds)
    counts[bounds.firstIndex { time <= $0 } ?? bounds.count] += 1
    sum += time
  }
}

/// Metrics in Prometheus' classic text format (version 0.0.4). The textfile collector of
/// node_exporter reads no other format.
public struct PrometheusText: Sendable {
  public private(set) var bytes: [UInt8] = []

  public init() {}

  /// Appends a metric with its samples.
  ///
  /// - Parameter samples: each has a value for each label of the metric. The format does not allow
  ///   two samples with the same labels.
  public mutating func append(_ metric: some MetricFamily, _ samples: [([String], Double)]) {
    begin(metric)
    let (name, labels) = (metric.name, metric.labels)
    for (values, value) in samples { append(name, zip(labels, values), value) }
  }

  /// Appends a histogram.
  public mutating func append(
    _ metric: some MetricFamily, _ samples: [([String], DurationHistogram)]
  ) {
    begin(metric)
    let (name, names) = (metric.name, metric.labels)
    for (values, histogram) in samples {
      let bounds = histogram.bounds.map { Self.text($0) } + ["+Inf"]
      let labels = Array(zip(names, values))
      var total = 0
      for (bound, count) in zip(bounds, histogram.counts) {
        total += count
        append("\(name)_bucket", labels + [("le", bound)], Double(total))
      }
      append("\(name)_sum", labels, histogram.sum)
      append("\(name)_count", labels, Double(total))
    }
  }

  private mutating func begin(_ metric: some MetricFamily) {
    bytes += "# HELP \(metric.name) \(metric.help)\n".utf8
    bytes += "# TYPE \(metric.name) \(metric.kind.rawValue)\n".utf8
  }

  private mutating func append(
    _ name: String, _ labels: some Sequence<(String, String)>, _ value: Double
  ) {
    bytes += name.utf8
    let written = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }
    if !written.isEmpty { bytes += "{\(written.joined(separator: ","))}".utf8 }
    bytes += " \(Self.text(value))\n".utf8
  }

  /// Whole numbers without a point, because a time would otherwise get an exponent.
  private static func text(_ value: Double) -> String {
    guard let whole = Int64(exactly: value), abs(whole) < 1 << 53 else { return "\(value)" }
    return String(whole)
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += #"\\"#
      case "\"": escaped += #"\""#
      case "\n": escaped += #"\n"#
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
