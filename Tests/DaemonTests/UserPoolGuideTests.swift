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
