import Foundation
import TestSupport
import Testing

/// A text that a person has read and found good, under Tests/Data/Golden/stories.
struct GoldenFile {
  static let folder = URL(filePath: #filePath)
    .appending(path: "../../../Data/Golden/stories").standardizedFileURL
  private static let update = "UPDATE_GOLDEN=1 scripts/check StoryTests"
  static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"

  let name: String

  /// The names of all golden files.
  static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .map { $0.hasSuffix(".txt") ? String($0.dropLast(4)) : $0 }.sorted()
  }

  private var file: URL { Self.folder.appending(path: name + ".txt") }

  /// Expects the file to tell the story so; with UPDATE_GOLDEN=1 it does afterwards.
  func expectText(_ telling: Telling, _ location: SourceLocation) throws {
    let golden = parts
    if Self.isUpdating {
      let alerts = AlertWatch.promtool == nil ? golden?.alerts : try Self.text(of: telling.alerts)
      return try Data((telling.text + Self.heading + (alerts ?? "")).utf8).write(to: file)
    }
    try expect(telling.text, golden?.text, location)
  }

  /// Expects the alerts that stand in the file. The other test writes them.
  func expectAlerts(
    _ telling: Telling, _ location: SourceLocation = #_sourceLocation
  ) throws {
    guard !Self.isUpdating else { return }
    try expect(Self.text(of: telling.alerts), parts?.alerts, location)
  }

  private static let heading = "\n## Alerts that fired\n\n"

  private static func text(of alerts: AlertWatch) throws -> String {
    let lines = try alerts.lines()
    return (lines.isEmpty ? ["none"] : lines).map { $0 + "\n" }.joined()
  }

  /// The file's text, and the alerts behind it; nil where there is no such file.
  private var parts: (text: String, alerts: String)? {
    guard let bytes = try? Data(contentsOf: file) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let heading = text.firstRange(of: Self.heading) else { return (text, "") }
    return (String(text[..<heading.lowerBound]), String(text[heading.upperBound...]))
  }

  private func expect(_ text: String, _ golden: String?, _ location: SourceLocation) throws {
    guard let golden else { return report("there is no \(file.path)", location) }
    guard golden != text else { return }
    report("what a person sees has changed:\n\(try difference(golden, text))", location)
  }

  private func report(_ problem: String, _ location: SourceLocation) {
    Issue.record(
      "\(name): \(problem)\nRead it. If that is meant: \(Self.update), and commit the file",
      sourceLocation: location)
  }

  /// As diff(1) shows it.
  private func difference(_ golden: String, _ text: String) throws -> String {
    try Tool.withFolder { folder in
      let (old, new) = (folder.appending(path: "old"), folder.appending(path: "new"))
      try Data(golden.utf8).write(to: old)
      try Data(text.utf8).write(to: new)
      let labels = ["--label", "Tests/Data/Golden/stories/\(name).txt", "--label", "now"]
      return try Tool.output(of: "/usr/bin/diff", ["-u"] + labels + [old.path, new.path])
    }
  }
}
