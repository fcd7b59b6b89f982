import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What the shells complete is what the programs' parsers know.
@Suite(.onStage)
struct CompletionTests {
  private let bashFile: String

  init() throws { bashFile = try Self.file("bash") }

  static let shells = ["bash", "zsh", "fish"]

  /// The completions as the package installs them.
  private static func file(_ shell: String) throws -> String {
    let folder = try Stage.current().newFile("completions")
    let script = Repository.root.appending(path: "scripts/completions").path
    let process = try ChildProcess(["/bin/bash", script, folder, Programs.credctl])
    try #require(try process.wait() == 0, "\(process.errors)")
    return "\(folder)/credctl.\(shell)"
  }

  /// Completes the last word in a real bash, with the completions and nothing else of it.
  private func complete(_ words: [String], _ socket: String = "/nowhere") throws -> Set<String> {
    let script = """
      source "$0" && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) || exit
      COMP_LINE=$* COMP_POINT=${#COMP_LINE}
      name=$(complete -p "$1") && name=${name##*-F } || exit
      ${name% *} "$1" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}" || exit
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let bash = try ChildProcess(
      ["/bin/bash", "--norc", "-c", script, bashFile] + words,
      environment: ["PATH": "\(Programs.folder):/usr/bin:/bin", "CREDD_SOCKET": socket])
    expect(try bash.wait(), equals: 0, "\(words): \(bash.errors)")
    expect(bash.errors.isEmpty)
    return Set(bash.output.split(separator: "\n").map(String.init))
  }

  /// credctl gives the daemon a second to name the profiles, and a busy machine may need more.
  private func expectOffered(
    _ names: Set<String>, _ words: [String], _ socket: String = "/nowhere"
  ) throws {
    try Deadline.usual.wait(for: "\(names) for \(words)") { try complete(words, socket) == names }
  }

  /// The long options, and the end of them where a command follows.
  private func options(of verb: CommandTree.Command) -> Set<String> {
    Set(
      verb.options.filter { $0.hasPrefix("--") }
        + (["exec", "serve"].contains(verb.commandName) ? ["--"] : []))
  }

  @Test
  func bashKnowsVerbsOptionsAndChoices() throws {
    let tree = try CommandTree(of: Programs.credctl)
    expect(try complete(["credctl", ""]), equals: Set(tree.verbs.map(\.commandName)))
    for (words, command) in tree.commands where words != ["help"] {
      expect(
        try complete(["credctl"] + words + ["--"]), equals: options(of: command), "\(words)")
    }
    let actions = try #require(tree.verbs.first { $0.commandName == "account" }?.subcommands)
    expect(actions.count, equals: 18)
    expect(try complete(["credctl", "account", ""]), equals: Set(actions.map(\.commandName)))
    expect(
      try complete(["credctl", "account", "work", ""]), equals: Set(actions.map(\.commandName)))
    expect(try complete(["credctl", "account", "work", "mfa", "--e"]), equals: ["--enabled"])
    expect(
      try complete(["credctl", "env", "--format", ""]), equals: ["sh", "fish", "dotenv", "json"])
    expect(try complete(["credctl", "env", "--format", "=", "j"]), equals: ["json"])
    expect(try complete(["credctl", "clear", "c"]), equals: ["credentials"])
    expect(try complete(["credctl", "--socket", "get", "l"]), equals: ["login", "logout"])
    expect(try complete(["credctl", "help", "l"]), equals: ["login", "logout"])
    expect(try complete(["credctl", "exec", "-p", "x", ""]), equals: ["--"])
    let daemon = try CommandTree(of: Programs.credd)
    expect(
      try complete(["credd", "-"]), equals: Set(daemon.root.options.filter { $0.hasPrefix("--") }))
    expect(try complete(["credd", "--log-level", ""]), equals: Set(daemon.root.choices))
  }

  @Test
  func bashAsksForProfilesAndIsSilentWhereNoDaemonAnswers() throws {
    let host = try TestHost()
    // A profile is offered before its first use.
    for words in [
      ["get", "--profile", ""], ["env", "-p", "d"], ["exec", "--profile", "=", ""], ["get", ""],
      ["token", "--wait", "1", "de"], ["status", ""],
    ] {
      try expectOffered(["default"], ["credctl"] + words, host.socketPath)
    }
    let named = ["credctl", "--socket", host.socketPath, "status", "-p", ""]
    try expectOffered(["default"], named)
    expect(try complete(["credctl", "get", "--profile", ""]), equals: [])
    // It is named once.
    expect(try complete(["credctl", "get", "default", ""], host.socketPath), equals: [])
    expect(try complete(["credctl", "get", "-p", "default", ""], host.socketPath), equals: [])
    try expectOffered(
      ["credentials", "identity", "default"], ["credctl", "clear", ""], host.socketPath)
    expect(
      try complete(["credctl", "clear", "default", ""], host.socketPath),
      equals: ["credentials", "identity"])
  }

  @Test
  func bashCompletesTheCommandBehindTwoDashes() throws {
    expect(try complete(["credctl", "exec", "-p", "x", "--", "printen"]), equals: ["printenv"])
    expect(try complete(["credctl", "exec", "--", "ls", "/etc/passw"]).contains("/etc/passwd"))
  }

  @Test(arguments: shells)
  func eachFileHasEveryVerbOptionAndChoice(_ shell: String) throws {
    let text = try String(contentsOfFile: Self.file(shell), encoding: .utf8)
    let isFish = shell == "fish"
    for program in [Programs.credctl, Programs.credd] {
      let tree = try CommandTree(of: program)
      for command in tree.commands.map(\.command) + [tree.root] {
        for option in command.options where option.hasPrefix("--") {
          let name = option.dropFirst(2)
          let written = isFish ? "-l '?\(name)'? " : "--\(name)\\b"
          expect(text.contains(try Regex(written)), "\(command.commandName) \(option)")
        }
        for word in command.choices + tree.commands.flatMap(\.words) {
          expect(text.contains(try Regex(#"\b\#(word)\b"#)), "\(word)")
        }
      }
    }
  }

  @Test(.enabled(if: Programs.installed("fish") != nil, "takes fish(1)"))
  func fishCompletesEveryOption() throws {
    let host = try TestHost()
    try host.ask()
    let path = try Self.file("fish")
    func complete(_ line: String) throws -> Set<String> {
      let fish = try ChildProcess(
        [
          try #require(Programs.installed("fish")), "-N", "-c",
          "source '\(path)'; complete -C '\(line)'",
        ],
        environment: [
          "PATH": "\(Programs.folder):/usr/bin:/bin", "CREDD_SOCKET": host.socketPath,
          "HOME": try Stage.current().folder,
        ])
      expect(try fish.wait(), equals: 0, "\(fish.errors)")
      return Set(
        fish.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) })
    }
    let tree = try CommandTree(of: Programs.credctl)
    expect(try complete("credctl "), equals: Set(tree.verbs.map(\.commandName)))
    for (words, command) in tree.commands where words != ["help"] {
      let line = words.joined(separator: " ")
      expect(try complete("credctl \(line) --"), equals: options(of: command), "\(line)")
    }
    try Deadline.usual.wait(for: "the profile") {
      try complete("credctl get --profile ") == ["default"]
    }
    expect(try complete("credctl exec -- printen"), equals: ["printenv"])
    expect(try complete("credctl account work mfa --e"), equals: ["--enabled"])
    try Deadline.usual.wait(for: "the profile beside the actions") {
      try complete("credctl account ").isSuperset(of: ["default", "sign-up"])
    }
  }

  @Test(.enabled(if: Programs.installed("zsh") != nil, "takes zsh(1)"))
  func zshReadsItsFile() throws {
    let zsh = try ChildProcess(
      [try #require(Programs.installed("zsh")), "-f", "-n", Self.file("zsh")])
    expect(try zsh.wait(), equals: 0)
    expect(zsh.errors.isEmpty)
  }
}
