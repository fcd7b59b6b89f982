import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// docs/user-pools.md works, from the pool at AWS to the first `get`.
@Suite(.onStage)
struct UserPoolGuideTests {
  private static let page = "docs/user-pools.md"

  private func configurationOfEightLines() throws -> String {
    let lines = try #require(try Repository.blocks(of: "ini", in: Self.page).first)
    expect(lines.split(separator: "\n", omittingEmptySubsequences: false).count, equals: 8)
    return lines
  }

  /// What the guide says works with ids as AWS gives them.
  @Test func eightLinesAreAConfiguration() throws {
    let file = try Stage.current().newFile("credd.conf")
    try Data(configurationOfEightLines().utf8).write(to: URL(filePath: file))
    let check = try ChildProcess([Programs.credd, "--config", file, "--check-config"])
    expect(try check.wait(), equals: 0, "\(check.output)\(check.errors)")
    // The README has the same ones.
    expect(try Repository.text("README.md").contains(configurationOfEightLines()))
  }

  /// The block as it stands, but for the port, which others may have, and the patience of a machine
  /// that runs a thousand other tests.
  @Test func theTrialWithTheSandboxGivesCredentials() throws {
    let folder = try Stage.current().newFile("trial")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let trial = try #require(
      try Repository.blocks(of: "sh", in: Self.page).first { $0.contains("credd-sandbox") }
    )
    .replacing("4599", with: "\(try FreePort.any())")
    .replacing("type = user-pool", with: "type = user-pool\ntimeout = 30s")
    let terminal = try TerminalProcess(
      ["/bin/bash", "-c", "trap 'kill $(jobs -p)' EXIT; cd '\(folder)'\n\(trial)"],
      environment: ["PATH": "\(Programs.folder):/usr/bin:/bin"])
    try terminal.expect("Password of alice for profile staff: ")
    try terminal.type("Sandbox-1")
    try terminal.expect("staff signedIn us-east-1:")
    try terminal.expect(#""SecretAccessKey":"#)
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
  }

  @Test func theLineForScriptsSignsIn() throws {
    let secret = LoginConversationTests.appSecret
    let host = try TestHost {
      Configuration.userPool($0).replacing("[profile default]", with: "[profile staff]")
    }
    try host.sandbox.control(
      "POST", "user-pool/user",
      #"{"Username":"alice","Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(secret)"}"#)
    let line = try #require(
      try Repository.blocks(of: "sh", in: Self.page).first { $0.contains("--code-stdin") })
    let tools = """
      pass() { echo Sandbox-1; }
      oathtool() { echo \(try host.sandbox.totp(secret)); }

      """
    let process = try ChildProcess(
      ["/bin/bash", "-c", tools + line],
      environment: [
        "PATH": "\(Programs.folder):/usr/bin:/bin", "CREDD_SOCKET": host.socketPath,
      ])
    expect(try process.wait(), equals: 0, "\(process.errors)")
    expect(process.output.hasPrefix("staff signedIn "))
  }
}
