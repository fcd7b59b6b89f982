internal import CredCore

/// The text of `credctl metrics`.
public enum MetricsFilter {
  private static let personal = Set(Metric.allCases.filter(\.namesProfiles).map(\.name))

  /// The text without the metrics that name profiles, for a file that all users may read.
  public static func withoutProfiles(_ text: String) -> String {
    text.split(separator: "\n").filter { !personal.contains(metric(of: $0)) }
      .map { $0 + "\n" }.joined()
  }

  /// The metric that a line is about: `# HELP NAME …`, `# TYPE NAME …`, `NAME{…} VALUE`.
  private static func metric(of line: Substring) -> String {
    let words = line.split(separator: " ", maxSplits: 3)
    let name = words.first == "#" && words.count > 2 ? words[2] : words.first ?? ""
    return String(name.prefix { $0 != "{" })
  }
}
