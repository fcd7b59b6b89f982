import ArgumentParser
import CredctlKit
import TestSupport
import Testing

@testable import credctl

/// What credctl says of itself, on a terminal of 80 columns.
struct HelpTests {
  private typealias Command = any ParsableCommand.Type

  private func all(_ command: Command) -> [Command] {
    [command] + command.configuration.subcommands.flatMap(all)
  }

  /// What somebody copies is in one line.
  @Test func noExampleIsBrokenOverTwoLines() {
    var count = 0
    for command in all(Credctl.self) {
      let help = Credctl.helpMessage(for: command, columns: 80)
      for line in command.configuration.discussion.split(separator: "\n")
      where line.hasPrefix("  ") {
        expect(help.contains(line), "\(command): \(line)")
        count += 1
      }
      for line in help.split(separator: "\n") where !line.hasPrefix("USAGE: ") {
        expect(line.count <= 80, "\(command): \(line)")
      }
    }
    expect(count > 20)
  }

  @Test func theMainVerbsAreVerbs() {
    let verbs = Credctl.configuration.subcommands.map {
      $0.configuration.commandName ?? "\($0)".lowercased()
    }
    for (verb, _) in MainVerbs.all { expect(verbs.contains(verb) || verb == "help", "\(verb)") }
    let lines = MainVerbs.text.split(separator: "\n")
    expect(lines.count, equals: MainVerbs.all.count)
    expect(lines.allSatisfy { $0.count <= 80 && $0.hasPrefix("  credctl ") })
  }
}
