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

  @Test
  func loginResumesThemWithTheErrorToo() throws {
    let host = try host()
    let waiting = try host.beginToAsk(#"{"wait":120}"#)
    try host.sandbox.refuse(
      "InvalidIdentityPoolConfigurationException", "Check assigned IAM roles for this pool.")
    // The password is good; it is the pool that is not.
    expect(try host.logIn("alice").errorCode, equals: "PoolMisconfigured")
    expect(try waiting.reply().errorCode, equals: "PoolMisconfigured")
    expect(try host.state(), equals: "signedIn")
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

  @Test
  func noClientWaitsLongerThanItAsked() throws {
    let host = try host()
    let patient = try host.beginToAsk(#"{"wait":300}"#)
    // The other client waits on.
    expect(try host.ask(#"{"wait":0.5}"#).errorCode, equals: "SignInRequired")
    expect(try host.waiters(), equals: 1)
    _ = try host.logIn("alice")
    expect(try patient.reply()["AccessKeyId"] != nil)
  }

  @Test
  func waiterThatLeavesDisturbsNoOther() throws {
    let host = try host()
    var leaving: StreamSocket? = try host.beginToAsk(#"{"wait":120}"#)
    let staying = try host.beginToAsk(#"{"wait":120}"#)
    expect(leaving != nil)
    leaving = nil
    try Deadline.usual.wait(for: "the daemon to notice") { try host.waiters() == 1 }
    _ = try host.logIn("alice")
    expect(try staying.reply()["AccessKeyId"] != nil)
  }

  @Test
  func secondPasswordIsNotTriedBesideTheFirst() throws {
    let host = try host()
    try host.sandbox.plan(
      #"{"Service":"backend","Operation":"login","Kind":"delay","Seconds":1}"#)
    let first = try host.connect()
    try first.send(
      #"{"op":"login","username":"alice","password":"alice-password"}"# + "\n")
    try Deadline.usual.wait(for: "the first") { try host.sandbox.calls("backend.login") == 1 }
    expect(try host.logIn("bob").errorCode, equals: "TooManyRequests")
    expect(try first.reply()["State"]?.text, equals: "signedIn")
    expect(try host.sandbox.calls("backend.login"), equals: 1)
    expect(try host.sandbox.lastBody("token")["DeveloperUserIdentifier"]?.text, equals: "alice")
  }
}
