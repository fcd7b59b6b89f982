import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What the pages show of a terminal is what a reader sees who types it, with the sandbox for AWS.
@Suite(.onStage)
struct ConsoleTests {
  private static let pages = [
    "README.md", "docs/users.md", "docs/protocol.md", "docs/units.md",
  ]

  /// What people type at the prompts of the pages.
  private static let answers = ["Password of alice for profile staff:": "Sandbox-1"]

  /// A host whose backend vouches for alice in the profile `work`, and that has the sandbox's user
  /// pool for the profile `staff`.
  private static func host() throws -> TestHost {
    try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("work", endpoint: sandbox.url)
        + Configuration.userPool(sandbox).replacing("[profile default]", with: "[profile staff]")
    }
  }

  @Test(
    .enabled(if: Programs.installed("nc") != nil, "takes netcat-openbsd"),
    arguments: pages)
  func everyCommandPrintsWhatThePageShows(_ page: String) throws {
    let blocks = try ConsoleBlock.all(in: page)
    expect(!blocks.isEmpty)
    let steps = blocks.flatMap(\.steps)
    let host = try Self.host()
    let terminal = try TerminalProcess(
      ["/bin/bash", "-c", Self.script(steps, host.socketPath)],
      environment: [
        "PATH": "\(Programs.folder):/usr/bin:/bin", "CREDD_SOCKET": host.socketPath,
        "HOME": try Stage.current().folder,
      ], columns: 250)
    for step in steps { try follow(step, at: terminal, page) }
    expect(try terminal.end(), equals: 0)
  }

  /// All commands in one shell; after each one its exit status.
  private static func script(_ steps: [ConsoleBlock.Step], _ socket: String) -> String {
    steps.map { step in
      step.command.replacing("/run/credd/credd.sock", with: socket)
        .replacing("/usr/bin/credctl", with: "credctl") + "\nprintf '\\001%s\\001' $?\n"
    }.joined()
  }

  private func follow(
    _ step: ConsoleBlock.Step, at terminal: TerminalProcess, _ page: String
  ) throws {
    var output = ""
    for line in step.shown {
      let prompt = line.trimmingCharacters(in: .whitespaces)
      guard let answer = Self.answers[prompt] else { continue }
      output += try terminal.expect(prompt)
      try terminal.type(answer)
    }
    output += try terminal.expect("\u{1}")
    let status = try terminal.expect("\u{1}").dropLast()
    output = Self.screen(after: output.utf8.filter { $0 != 1 })
    expect(
      try step.isShown(in: output),
      "\(page) shows of `\(step.command)`:\n\(step.shown)\nand it printed:\n\(output)")
    expect((status == "0") != step.fails, "\(page): `\(step.command)` ended with \(status)")
  }

  /// What stays on the screen: a carriage return begins the line anew, and credctl overwrites its line
  /// about a long wait so.
  private static func screen(after bytes: [UInt8]) -> String {
    bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      let parts = line.split(separator: 0x0D)
      return String(decoding: parts.last ?? [], as: UTF8.self)
    }.joined(separator: "\n")
  }

  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func theClientInPythonGetsCredentials() throws {
    let host = try Self.host()
    let client = try PythonScript(
      try #require(try Repository.blocks(of: "python", in: "docs/protocol.md").first))
    let python = try #require(Programs.installed("python3"))
    let run = try host.run([python, client.path], environment: ["CREDD_SOCKET": host.socketPath])
    expect(run.status, equals: 0, "\(run.errors)")
    expect(run.output.contains(#/^ASIA\S+ \d{4}-/#), "\(run.output)")
    try host.configure { Configuration.usual($0) }
    try host.reload()
    let refused = try host.run(
      [python, client.path], environment: ["CREDD_SOCKET": host.socketPath])
    expect(refused.status, equals: 1)
    expect(refused.errors.hasPrefix("UnknownProfile: "), "\(refused.errors)")
  }
}
