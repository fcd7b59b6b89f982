import TestSupport
import Testing

@testable import DaemonHarness

/// Callers that wait for a sign-in.
@Suite(.onStage)
struct WaitingTests {
  private func host() throws -> TestHost { try TestHost { Configuration.password($0) } }

  @Test
  func loginResumesAllWaitingClients() throws {
    let host = try host()
    let waiting = try (1...10).map { _ in try host.beginToAsk(#"{"wait":120}"#) }
    let token = try host.beginToAsk(#"{"op":"token","wait":120}"#)
    expect(try host.waiters(), equals: 11)
    // A sign-in that fails resumes no client.
    expect(try host.logIn("alice", password: "no").errorCode, equals: "SignInFailed")
    expect(try host.waiters(), equals: 11)
    expect(try host.logIn("alice")["State"]?.text, equals: "signedIn")
    let replies = try waiting.map { try $0.reply() }
    expect(replies[0]["AccessKeyId"] != nil)
    expect(replies.allSatisfy { $0 == replies[0] })
    expect(try token.reply()["IdentityId"]?.text, equals: try host.identity())
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  /// Nobody stares at an empty screen. A program reads what it always read.
  @Test
  func aTerminalShowsThatAnAnswerTakesLong() throws {
    let host = try host()
    let terminal = try TerminalProcess(host, "get", "--wait", "120")
    let blank = String(repeating: " ", count: 24)
    try terminal.expect("waiting for credd …")
    expect(try host.credctl("release").status, equals: 0)
    try terminal.expect(blank)
    try terminal.expect("credctl: nobody is signed in")
    expect(try terminal.end(), equals: 77)
    let piped = try host.credctl("get", "--wait", "2")
    expect(piped.status, equals: 77)
    expect(piped.errors.hasPrefix("credctl: nobody is signed in"), "\(piped.errors)")
  }

  @Test
  func releaseEndsTheWait() throws {
    let host = try host()
    let waiting = try (1...3).map { _ in try host.beginToAsk(#"{"wait":120}"#) }
    let outcome = try host.credctl("release")
    expect(outcome.output, equals: "default: 3 released\n")
    for socket in waiting { expect(try socket.reply().errorCode, equals: "SignInRequired") }
    expect(try host.state(), equals: "signedOut")
    expect(try host.credctl("release").output, equals: "default: 0 released\n")
    // It is the callers that were released; the next one may wait again.
    let next = try host.beginToAsk(#"{"wait":120}"#)
    _ = try host.logIn("alice")
    expect(try next.reply()["AccessKeyId"] != nil)
  }
}
