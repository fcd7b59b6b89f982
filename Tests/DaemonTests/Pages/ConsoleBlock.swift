import Foundation

@testable import DaemonHarness

/// A block of a page that shows commands, each behind `$ `, and what they print.
struct ConsoleBlock {
  struct Step {
    var command: String
    /// The lines below the command; `…` stands for anything.
    var shown: [String] = []

    /// Credctl's own errors are the last line of a command that fails.
    var fails: Bool { shown.contains { $0.hasPrefix("credctl: ") } }
  }

  var steps: [Step] = []

  /// The blocks of a page that its reader can type as a user; those of root begin with `# `.
  static func all(in page: String) throws -> [ConsoleBlock] {
    try Repository.blocks(of: "console", in: page).filter { $0.hasPrefix("$ ") }.map(Self.init)
  }

  private init(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("$ ") {
        steps.append(Step(command: String(line.dropFirst(2))))
      } else if let last = steps.indices.last, steps[last].shown.isEmpty,
        steps[last].command.hasSuffix("\\")
      {
        steps[last].command += "\n" + line
      } else if let last = steps.indices.last {
        steps[last].shown.append(String(line))
      }
    }
  }
}

extension ConsoleBlock.Step {
  /// What the command must print: blanks may be more or fewer, and times and pids are others.
  private var pattern: Regex<AnyRegexOutput> {
    get throws {
      var text = shown.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
      for (part, general) in [
        (#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/#, #"\d{4}-\d\d-\d\dT[\d:]{8}Z"#),
        (#/pid \d+/#, #"pid\s+\d+"#), (#/up \d+ s/#, #"up\s+.+"#), (#/…/#, #"[\s\S]*?"#),
        (#/ +/#, #"\s+"#),
      ] {
        text = text.replacing(part, with: #"\E"# + general + #"\Q"#)
      }
      return try Regex(#"\Q"# + text + #"\E"#)
    }
  }

  func isShown(in output: String) throws -> Bool {
    let lines = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    return try lines.joined(separator: "\n").wholeMatch(of: pattern) != nil
  }
}
