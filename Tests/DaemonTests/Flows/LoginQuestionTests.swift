import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl login` where the daemon asks what a real one asks rarely, or never.
@Suite(.onStage, .enabled(if: PythonScript.canRun))
struct LoginQuestionTests {
  private static let handle = String(repeating: "5f", count: 16)
  private static let signedOut = #"{"Version":1,"Profile":"default","State":"signedOut"}"#

  /// A daemon whose `login` asks that.
  private func daemon(
    _ step: String, _ parameters: String = "{}", expiresIn: Int = 180,
    respond: String = signedOut
  ) throws -> FakeDaemon {
    try FakeDaemon([
      "login": """
      {"Version":1,"Profile":"default","State":"signedOut","Challenge":{"Handle":"\(Self.handle)",\
      "Step":"\(step)","Name":"NAME","Parameters":\(parameters),"Answers":[],"Optional":[],\
      "ExpiresIn":\(expiresIn)}}
      """, "respond": respond,
    ])
  }

  private func login(_ daemon: FakeDaemon) throws -> TerminalProcess {
    try TerminalProcess(
      [Programs.credctl, "--socket", daemon.socketPath, "login", "--username", "alice"])
  }

  private func expectCancelled(_ daemon: FakeDaemon) {
    expect(
      daemon.requests.last, equals: #"{"op":"respond","handle":"\#(Self.handle)","cancel":true}"#,
      "\(daemon.requests)")
  }

  @Test func aQuestionThatIsNotAnsweredEndsInItsTime() throws {
    let daemon = try daemon("code", #"{"Medium":"app"}"#, expiresIn: 1)
    let terminal = try login(daemon)
    try terminal.expect("Code that the authenticator app shows: ")
    try terminal.press("12")
    expect(try terminal.end(), equals: 77)
    expect(terminal.text.contains("nothing was typed in time"), "\(terminal.text)")
    expectCancelled(daemon)
  }

  @Test func aLineThatIsNotTypedEndsInItsTimeToo() throws {
    let daemon = try daemon("select", #"{"Choices":["A","B"]}"#, expiresIn: 1)
    let terminal = try login(daemon)
    try terminal.expect("Your choice: ")
    expect(try terminal.end(), equals: 77)
    expectCancelled(daemon)
  }

  @Test func aStepThatIsNotKnownIsNamedAndCancelled() throws {
    let daemon = try daemon("dance")
    let terminal = try login(daemon)
    expect(try terminal.end(), equals: 69)
    expect(terminal.text.contains("dance: upgrade credctl"), "\(terminal.text)")
    expectCancelled(daemon)
  }

  @Test func ctrlCSendsACancel() throws {
    for step in ["code", "totpSetup", "newPassword"] {
      let daemon = try daemon(step)
      let terminal = try login(daemon)
      try terminal.expect(": ")
      if step == "totpSetup" { try terminal.expect("shows: ") }
      try terminal.press("1\u{3}")
      expect(try terminal.end(), equals: 130)
      expect(terminal.text.hasSuffix("credctl: cancelled\n"), "\(terminal.text)")
      expectCancelled(daemon)
    }
  }

  /// After a wrong code on standard input the terminal is asked.
  @Test func ctrlCAfterAWrongCodeOnInputSendsACancelToo() throws {
    let daemon = try daemon(
      "code", #"{"Medium":"app"}"#,
      respond: #"{"Version":1,"Error":{"Code":"SignInFailed","Message":"wrong code","Handle":""#
        + Self.handle + #""}}"#)
    let input = try Stage.current().newFile("input")
    try Data("pass-word\n123456\n".utf8).write(to: URL(filePath: input))
    let terminal = try TerminalProcess([
      "/bin/sh", "-c",
      "exec '\(Programs.credctl)' --socket \(daemon.socketPath) login --username alice "
        + "--password-stdin --code-stdin <\(input)",
    ])
    try terminal.expect("wrong code")
    try terminal.expect("Code that the authenticator app shows: ")
    try terminal.press("\u{3}")
    expect(try terminal.end(), equals: 130, "\(terminal.text)")
    expect(terminal.text.hasSuffix("credctl: cancelled\n"), "\(terminal.text)")
    expectCancelled(daemon)
  }

  @Test func aChoiceOfNothingIsNoQuestion() throws {
    let daemon = try daemon("select", #"{"Choices":[]}"#)
    let terminal = try login(daemon)
    expect(try terminal.end(), equals: 69, "\(terminal.text)")
    expect(terminal.text.contains("nothing to choose from"), "\(terminal.text)")
    expectCancelled(daemon)
  }

  /// What was typed before comes from the terminal: it is no argument of any process.
  @Test func whatIsTypedStandsInNoArgumentList() throws {
    let daemon = try daemon("newPassword", #"{"Required":["email"]}"#)
    let terminal = try login(daemon)
    try terminal.expect("New password of alice for profile default: ")
    try terminal.type("correct horse")
    try terminal.expect("The same again: ")
    let arguments = try String(
      contentsOfFile: "/proc/\(terminal.process.pid)/cmdline", encoding: .utf8)
    expect(!arguments.contains("correct"))
    try terminal.type("correct horse")
    try terminal.expect("email: ")
    try terminal.type("  a@example.com ")
    expect(try terminal.end(), equals: 0)
    expect(
      daemon.requests.last,
      equals: #"{"op":"respond","handle":"\#(Self.handle)","answers":"#
        + #"{"password":"correct horse","attributes":{"email":"a@example.com"}}}"#)
    expect(!terminal.text.contains("correct"))
  }

  @Test func theTerminalIsAsItWasAfterEveryQuestion() throws {
    let daemon = try daemon("select", #"{"Choices":["yes","no"]}"#)
    let terminal = try TerminalProcess(
      [
        "/bin/sh", "-c", "before=$(stty -g); \"$@\"; [ \"$before\" = \"$(stty -g)\" ] && echo SAME",
        "sh", Programs.credctl, "--socket", daemon.socketPath, "login", "--username", "alice",
      ],
      environment: ["PATH": "/usr/bin:/bin"])
    try terminal.expect("Your choice: ")
    try terminal.press("\u{3}")
    try terminal.expect("SAME")
    expect(try terminal.end(), equals: 0)
  }
}
