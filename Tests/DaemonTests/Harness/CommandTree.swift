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

  /// Asks the program itself.
  init(of program: String) throws {
    let process = try ChildProcess([program, "--experimental-dump-help"])
    try #require(try process.wait() == 0)
    root = try JSONDecoder().decode(Dump.self, from: Data(process.output.utf8)).command
  }
}

/// The files of the repository.
enum Repository {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../..").standardizedFileURL

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
