import CredCore

/// A reading of `metrics`: the value of each series, by its name and labels as they are written.
struct Metrics: Equatable {
  private(set) var series: [String: Double] = [:]

  init(_ text: String) {
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " ") else { continue }
      let name = String(line[..<space])
      guard !Self.isLeftOut(name), let value = Double(line[line.index(after: space)...]) else {
        continue
      }
      series[name] = value
    }
  }

  /// What nobody reads one by one, and what the story's own look at the metrics causes.
  private static func isLeftOut(_ name: String) -> Bool {
    name.hasPrefix("credd_upstream_request_duration_seconds")
      || name.hasPrefix("credd_connections") || name.contains(#"op="metrics""#)
  }

  /// The series that changed, in the order of their names: `name{labels} before -> after`.
  func changes(since before: Metrics) -> [String] {
    Set(series.keys).union(before.series.keys).sorted().compactMap { name in
      let (old, new) = (before.series[name], series[name])
      guard old != new else { return nil }
      return "\(name) \(Self.text(old, of: name)) -> \(Self.text(new, of: name))"
    }
  }

  private static func text(_ value: Double?, of name: String) -> String {
    guard let value else { return "none" }
    guard Self.isTime(name) else { return Self.number(value) }
    return WallTime(milliseconds: Int64(value * 1000)).iso8601
  }

  static func isTime(_ name: String) -> Bool { name.contains("_timestamp_seconds") }

  static func number(_ value: Double) -> String {
    value.rounded() == value ? "\(Int64(value))" : "\(value)"
  }
}
