import Foundation
import Testing

/// A program's verbs and options as its own parser knows them.
struct CommandTree: Decodable {
  private struct Dump: Decodable { let command: Command }

  struct Command: Decodable {
    let commandName: String
    let shouldDisplay: Bool?
    let subcommands: [Command]?
    let arguments: [Argument]?

    /// `--profile`, and `-p` where an option has a letter; without those that are not shown.
    var options: [String] {
      (arguments ?? []).filter { $0.shouldDisplay ?? true }.flatMap { argument in
        (argument.names ?? []).map { ($0.kind == "short" ? "-" : "--") + $0.name }
      }
    }

    /// What an option or argument takes, where that is a choice.
    var choices: [String] { (arguments ?? []).flatMap { $0.allValues ?? [] } }
  }

  struct Argument: Decodable {
    struct Name: Decodable {
      let kind: String
      let name: String
    }

    let shouldDisplay: Bool?
    let names: [Name]?
    let allValues: [String]?
  }

  let root: Command
  var verbs: [Command] { root.subcommands ?? [] }

  /// The verbs, and those that have actions also with each of them: the words to type.
  var commands: [(words: [String], command: Command)] {
    verbs.flatMap { verb in
      [([verb.commandName], verb)]
        + (verb.subcommands ?? []).map { ([verb.commandName, $0.commandName], $0) }
    }
  }

  /// Asks the program itself.
  init(of program: String) throws {
    guard program != Programs.credd else {
      root = try Self.command(explainedBy: program)
      return
    }
    let process = try ChildProcess([program, "--experimental-dump-help"])
    try #require(try process.wait() == 0)
    root = try JSONDecoder().decode(Dump.self, from: Data(process.output.utf8)).command
  }

  /// What credd's `--help` says, which its own tests hold against its parser.
  private static func command(explainedBy program: String) throws -> Command {
    let process = try ChildProcess([program, "--help"])
    try #require(try process.wait() == 0)
    let entries = try #require(process.output.firstRange(of: "OPTIONS:\n")).upperBound
    let arguments = process.output[entries...].split(separator: /\n {2}(?=-)/).map { entry in
      Argument(
        shouldDisplay: true,
        names: entry.matches(of: /(?:^|\s)(--?)([a-z-]+)/).map {
          Argument.Name(kind: $0.output.1 == "-" ? "short" : "long", name: String($0.output.2))
        },
        allValues: entry.firstMatch(of: /\(values:([^)]*)\)/).map {
          $0.output.1.matches(of: /[a-z]+/).map { String($0.output) }
        })
    }
    return Command(
      commandName: "credd", shouldDisplay: true, subcommands: nil, arguments: arguments)
  }
}
