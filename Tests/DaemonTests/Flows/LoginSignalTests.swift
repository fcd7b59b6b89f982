import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Signals that end credctl where it waits for its user: the terminal is as it was, a daemon that began a
/// sign-in is told, and the exit status says which signal it was.
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

  /// From the first question on it has something to put in order. SIGTERM is the last signal that it
  /// catches from then on; Swift's runtime may catch others from the start.
  private static func catchesSignals(_ process: ChildProcess) throws -> Bool {
    let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
    let mask = line.flatMap { UInt64($0.dropFirst(7).drop { $0 == "\t" }, radix: 16) }
    return (mask ?? 0) & (1 << UInt64(SIGTERM - 1)) != 0
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT])
  func aSignalEndsTheWaitForABrowser(_ signal: CInt) throws {
    let port = try FreePort.any()
    let daemon = try FakeDaemon(BrowserLogin.replies("http://127.0.0.1:\(port)/back"))
    let process = try login(daemon, "--browser")
    try Deadline.usual.wait(for: "the question") { try Self.catchesSignals(process) }
    try expectEnd(of: process, by: signal, daemon)
  }

  /// The code comes through a pipe, or never.
  @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT])
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
    try Deadline.usual.wait(for: "the question") { try Self.catchesSignals(process) }
    try expectEnd(of: process, by: signal, daemon)
  }

  /// A shell, which leads the session, runs credctl and says how it ended. Where the leader itself ends,
  /// the kernel restores the terminal.
  private static let shell = """
    /bin/sh -c 'echo "process $$" && exec "$@"' sh "$@"
    echo "status $?"
    read -r line
    """

  /// Before a sign-in has begun there is the terminal alone to put in order.
  @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT])
  func aSignalAtTheFirstPromptLeavesTheTerminalAsItWas(_ signal: CInt) throws {
    let host = try TestHost { Configuration.userPool($0, backend: "account_actions = sign-up") }
    for (words, prompt) in [
      (["login"], "Password of alice for profile default: "),
      (["account", "default", "sign-up"], "New password of alice for profile default: "),
      (["account", "default", "sign-up", "--attribute", "email"], "email: "),
    ] {
      let terminal = try TerminalProcess(
        ["/bin/sh", "-c", Self.shell, "sh", Programs.credctl, "--socket", host.socketPath] + words
          + ["--username", "alice"])
      try terminal.expect("process ")
      let pid = try #require(pid_t(try terminal.expect("\n").prefix(while: \.isNumber)))
      try terminal.expect(prompt)
      expect(!terminal.isRestored)
      expect(kill(pid, signal), equals: 0)
      try terminal.expect("status ")
      expect(Int32(try terminal.expect("\n").prefix(while: \.isNumber)), equals: 128 + signal)
      expect(terminal.isRestored, "after \(signal): \(terminal.text)")
      try terminal.type("")
      expect(try terminal.end(), equals: 0)
    }
  }
}
