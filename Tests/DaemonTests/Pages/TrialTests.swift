import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The trials with the sandbox that the pages show work as they stand, also a second time, and leave
/// nothing behind.
@Suite(.onStage)
struct TrialTests {
  struct Trial: Sendable, CustomTestStringConvertible {
    let page: String
    let profile: String
    /// What asks on the terminal, and what the reader types.
    var answer: (prompt: String, text: String)?

    var testDescription: String { page }
  }

  private static let trials = [
    Trial(
      page: "docs/user-pools.md", profile: "staff",
      answer: ("Password of alice for profile staff: ", "Sandbox-1")),
    Trial(page: "docs/oidc.md", profile: "work"),
  ]

  /// The block as it stands, but for the port, which others may have, and the patience of a machine
  /// that runs a thousand other tests.
  @Test(.enabled(if: Programs.installed("curl") != nil, "takes curl"), arguments: trials)
  func theTrialGivesCredentialsTwice(_ trial: Trial) throws {
    let folder = try Stage.current().newFile("trial")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let block = try #require(
      try Repository.blocks(of: "sh", in: trial.page).first { $0.contains("credd-sandbox") }
    )
    .replacing("4599", with: "\(try FreePort.any())")
    .replacing(#/type = (user-pool|oidc)/#) { "\($0.output.0)\ntimeout = 30s" }
    let end = try #require(
      try Repository.text(trial.page).firstMatch(of: #/`(kill [^`]*)` ends the trial/#)
    ).output.1
    let terminal = try TerminalProcess(
      [
        "/bin/bash", "-c",
        "trap 'kill $(jobs -p)' EXIT; cd '\(folder)'\n\(block)\n\(block)\n\(end); wait\n"
          + "echo \"left: $(jobs -p)\"",
      ],
      environment: ["PATH": "\(Programs.folder):/usr/bin:/bin", "NO_PROXY": "127.0.0.1"])
    for _ in 0..<2 {
      if let answer = trial.answer {
        try terminal.expect(answer.prompt)
        try terminal.type(answer.text)
      }
      try terminal.expect("\(trial.profile) signedIn us-east-1:")
      try terminal.expect(#""SecretAccessKey":"#)
    }
    try terminal.expect("left: \r\n")
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
  }
}
