import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Signals that end `credctl login` where it waits for its user without a terminal: the daemon is told,
/// and the exit status says which signal it was.
@Suite(.onStage, .enabled(if: PythonScript.canRun && Programs.installed("setsid") != nil))
struct LoginSignalTests {
  /// In a session of its own, which has no terminal. setsid becomes credctl.
  private func login(
    _ daemon: FakeDaemon, input: String = "/dev/null", _ arguments: String...
  ) throws -> ChildProcess {
    try ChildProcess(
      [try #require(Programs.installed("setsid")), Programs.credctl, "--socket"]
        + [daemon.socketPath, "login"] + arguments,
      environment: ["BROWSER": "/bin/true"], input: input)
  }

  private func expectEnd(
    of process: ChildProcess, by signal: CInt, _ daemon: FakeDaemon
  ) throws {
    process.send(signal)
    expect(try process.wait(), equals: 128 + signal, "\(process.errors)")
    expect(
      daemon.requests.last,
      equals: #"{"op":"respond","handle":"\#(BrowserLogin.handle)","cancel":true}"#)
    expect(process.output.isEmpty)
  }

  /// From the first question on it has something to put in order.
  private static func catches(_ signal: CInt, _ process: ChildProcess) throws -> Bool {
    let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
    let mask = line.flatMap { UInt64($0.dropFirst(7).drop { $0 == "\t" }, radix: 16) }
    return (mask ?? 0) & (1 << UInt64(signal - 1)) != 0
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGINT])
  func aSignalEndsTheWaitForABrowser(_ signal: CInt) throws {
    let port = try FreePort.any()
    let daemon = try FakeDaemon(BrowserLogin.replies("http://127.0.0.1:\(port)/back"))
    let process = try login(daemon, "--browser")
    try Deadline.usual.wait(for: "the question") { try Self.catches(signal, process) }
    try expectEnd(of: process, by: signal, daemon)
  }

  /// The code comes through a pipe, or never.
  @Test(arguments: [SIGTERM, SIGHUP, SIGINT])
  func aSignalEndsTheWaitForACodeOnStandardInput(_ signal: CInt) throws {
    let daemon = try FakeDaemon([
      "status": #"{"Version":1,"Sessions":[],"Daemon":{},"Profiles":[]}"#,
      "login": """
      {"Version":1,"Profile":"default","State":"signedOut","Challenge":{"Handle":\
      "\(BrowserLogin.handle)","Step":"code","Name":"SMS_MFA","Parameters":{"Medium":"sms"},\
      "Answers":["code"],"Optional":[],"ExpiresIn":120}}
      """, "respond": BrowserLogin.signedIn,
    ])
    let pipe = try Stage.current().newFile("pipe")
    let made = unsafe mkfifo(pipe, 0o600)
    expect(made, equals: 0)
    let writer = unsafe open(pipe, O_RDWR)
    defer { close(writer) }
    let password = Array("a password\n".utf8)
    let written = unsafe write(writer, password, password.count)
    expect(written, equals: password.count)
    let process = try login(
      daemon, input: pipe, "--username", "alice", "--password-stdin", "--code-stdin")
    try Deadline.usual.wait(for: "the question") { try Self.catches(signal, process) }
    try expectEnd(of: process, by: signal, daemon)
  }
}
