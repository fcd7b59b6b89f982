import CredCore
import TestSupport
import Testing

struct MetricsTextTests {
  private func text(profiles: Bool = true, _ fill: (inout MetricsText) -> Void) -> String {
    var metrics = MetricsText(includingProfiles: profiles)
    fill(&metrics)
    return String(decoding: metrics.bytes, as: UTF8.self)
  }

  @Test func aMetricIsWrittenWithItsKindAndItsSamples() {
    let written = text {
      $0.append(.sessions, [(["work", "signedIn"], 3), (["a\"\\\nb", "guest"], 0)])
      $0.append(.clockSkew, -1.5)
      $0.append(.configurationTime, 1_714_979_289)
    }
    expect(
      written,
      equals: """
        # HELP credd_sessions Sessions by their state.
        # TYPE credd_sessions gauge
        credd_sessions{profile="work",state="signedIn"} 3
        credd_sessions{profile="a\\"\\\\\\nb",state="guest"} 0
        # HELP credd_clock_skew_seconds How far the clock of this host is behind that of AWS.
        # TYPE credd_clock_skew_seconds gauge
        credd_clock_skew_seconds -1.5
        # HELP credd_configuration_timestamp_seconds Since when the configuration is in force.
        # TYPE credd_configuration_timestamp_seconds gauge
        credd_configuration_timestamp_seconds 1714979289

        """)
  }

  @Test func aHistogramCountsUpToEachBound() {
    var histogram = DurationHistogram()
    for milliseconds in [10, 11, 100, 60_000] { histogram.add(.milliseconds(milliseconds)) }
    let lines = text { $0.append(.upstreamRequestDuration, [(["corp", "token"], histogram)]) }
      .split(separator: "\n").dropFirst(2)
    let labels = #"upstream="corp",operation="token""#
    let name = "credd_upstream_request_duration_seconds"
    expect(lines.count, equals: DurationHistogram.bounds.count + 3)
    expect(lines.first, equals: "\(name)_bucket{\(labels),le=\"0.01\"} 1")
    expect(lines.contains("\(name)_bucket{\(labels),le=\"0.05\"} 2"))
    expect(lines.contains("\(name)_bucket{\(labels),le=\"30\"} 3"))
    expect(lines.contains("\(name)_bucket{\(labels),le=\"+Inf\"} 4"))
    expect(lines.contains("\(name)_count{\(labels)} 4"))
  }

  @Test func filesForAllUsersNameNoProfile() {
    let written = text(profiles: false) {
      $0.append(.sessions, [(["work", "signedIn"], 3)])
      $0.append(.waiters, 2)
    }
    expect(!written.contains("work"))
    expect(written.hasSuffix("credd_waiters 2\n"))
  }

  /// Names as Prometheus' users expect them, and labels that do not grow with the users of a host.
  @Test(arguments: Metric.allCases)
  func namesAndLabelsKeepTheRules(_ metric: Metric) {
    expect(metric.name.hasSuffix("_total"), equals: (metric.kind == .counter))
    expect(metric.name.containsOnlyLettersDigits(or: "_"))
    expect(metric.name, equals: metric.name.lowercased())
    let personal: Set = ["user", "uid", "unit", "pid", "identity", "username"]
    expect(personal.isDisjoint(with: metric.labels))
    expect(Set(metric.labels).count, equals: metric.labels.count)
    expect(metric.help.hasSuffix(".") && !metric.help.contains("\n"))
  }
}
