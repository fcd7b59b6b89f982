import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl login` where the browser is elsewhere, and where no browser may open.
@Suite(.onStage, .enabled(if: PythonScript.canRun && Programs.installed("curl") != nil))
struct BrowserPasteTests {
  private func address(_ login: BrowserLogin, _ code: String = "code.1") -> String {
    login.redirectURI + BrowserLogin.response(code).dropFirst("/back".count)
  }

  @Test func anAddressIsPasted() throws {
    let login = try BrowserLogin(["--paste"])
    let shown = try login.waitUntilItListens()
    expect(shown.contains(BrowserLogin.url) && shown.contains("\(login.redirectURI)?"))
    expect(shown.contains("ssh -L \(login.port):localhost:\(login.port) "))
    try login.terminal.type("https://idp.example/login?state=\(BrowserLogin.state)")
    try login.terminal.expect("What was pasted is not an address that starts with")
    try login.terminal.type("\(login.redirectURI)?code=c&state=old")
    try login.terminal.expect("is not the address at which this sign-in ends.")
    expect(login.responses.isEmpty)
    try login.terminal.type(" \(address(login)) ")
    expect(try login.terminal.end(), equals: 0, "\(login.terminal.text)")
    expect(login.responses.last?.contains("code=code.1&state=") == true)
    expect(!login.terminal.text.contains("code.1"))
    expect(!login.hasStartedBrowser)
  }

  /// A terminal that waits for whole lines would cut it at 4096 bytes.
  @Test func anAddressOf8KilobytesIsPastedWhole() throws {
    let login = try BrowserLogin(["--no-browser"])
    try login.waitUntilItListens()
    let code = String(repeating: "x9-_", count: 2048)
    try login.terminal.type(address(login, code))
    expect(try login.terminal.end(), equals: 0, "\(login.terminal.text)")
    expect(login.responses.last?.contains("code=\(code)&") == true)
  }

  @Test func aForwardedPortWorksBesideThePrompt() throws {
    let login = try BrowserLogin(["--paste"])
    try login.waitUntilItListens()
    try login.terminal.press("half an addr")
    try login.expectSignIn()
  }

  @Test func withoutATerminalNothingOpensUnasked() throws {
    let stage = try Stage.current()
    let mark = stage.newFile("opened")
    let script = stage.newFile("browser")
    try Data("#!/bin/sh\ntouch '\(mark)'\n".utf8).write(to: URL(filePath: script))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
    let host = try ProviderHost()
    let setsid = try #require(Programs.installed("setsid"))
    func run(_ arguments: String...) throws -> ChildProcess {
      let process = try ChildProcess(
        [setsid, "--wait", Programs.credctl, "--socket", host.host.socketPath] + arguments,
        environment: ["BROWSER": script, "DISPLAY": ":0"])
      try process.wait()
      return process
    }
    let got = try run("get", "--wait", "0")
    expect(got.status == 77 && got.errors.contains("credctl login"), "\(got.errors)")
    let login = try run("login")
    expect(login.status, equals: 77, "\(login.errors)")
    expect(login.errors.contains("response=-"), "\(login.errors)")
    expect(!FileManager.default.fileExists(atPath: mark))
  }
}
