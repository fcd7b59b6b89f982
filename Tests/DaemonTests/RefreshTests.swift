import Foundation
import Testing

/// When credd asks upstream, and when it does not.
@Suite(.onStage)
struct RefreshTests {
  @Test
  func aHundredColdCallersAreOneExchange() throws {
    let host = try TestHost { Configuration.usual($0, daemon: "max_connections_per_user = 200") }
    try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":0.5}"#)
    var callers = try (0..<100).map { _ in try host.connect() }
    for caller in callers { try caller.send("{\"wait\":30}\n") }
    // A caller that leaves, here the first, disturbs no other.
    callers.removeFirst()
    let first = try callers[0].reply()
    #expect(first["AccessKeyId"] != nil)
    for caller in callers.dropFirst() { #expect(try caller.reply() == first) }
    #expect(try host.sandbox.callbacks == 1)
    #expect(try host.sandbox.exchanges == 1)
  }

  @Test
  func callersOfCredctlShareOneExchangeToo() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"delay","Seconds":0.5}"#)
    let processes = try (0..<20).map { _ in
      try ChildProcess([Programs.credctl, "--socket", host.socketPath, "get"])
    }
    for process in processes { #expect(try process.wait() == 0) }
    #expect(Set(processes.map(\.output)).count == 1)
    #expect(try host.sandbox.exchanges == 1)
  }

  @Test
  func whatIsUsedIsRenewedAheadAndWhatIsNotIsNot() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "8"]) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("used", endpoint: sandbox.url)
        + Configuration.profile("idle", endpoint: sandbox.url, identifier: "bob")
    }
    let first = try host.ask(#"{"profile":"used"}"#)
    #expect(try host.ask(#"{"profile":"idle"}"#)["AccessKeyId"] != nil)
    // Asked once more, it counts as in use; no client asks again until it was renewed.
    #expect(try host.ask(#"{"profile":"used"}"#) == first)
    try Deadline.usual.wait(for: "the refresh ahead") {
      host.log.split(separator: "\n").count {
        $0.contains("credentials refreshed") && $0.contains("profile=used")
      } == 2
    }
    let renewed = try host.ask(#"{"profile":"used"}"#)
    #expect(renewed["AccessKeyId"] != nil && renewed != first)
    try Deadline.usual.wait(for: "the end of the idle credentials") {
      let status = try host.ask(#"{"op":"status"}"#)
      return status["Sessions"]?[0]?["Expiration"] == nil
    }
    let idle = try #require(try host.ask(#"{"op":"status"}"#)["Sessions"]?[0])
    #expect(idle["Profile"]?.text == "idle")
    #expect(
      host.log.split(separator: "\n").count {
        $0.contains("credentials refreshed") && $0.contains("profile=idle")
      } == 1)
    // Its next caller gets new ones all the same.
    #expect(try host.ask(#"{"profile":"idle"}"#)["AccessKeyId"] != nil)
  }

  @Test
  func aFailedBackgroundRefreshIsTriedAgainBeforeExpiry() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "12"])
    let first = try host.credentials()
    // In use, so it is renewed at half-life, while no client waits; that fails.
    #expect(try host.credentials() == first)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":500}"#)
    try Deadline.usual.wait(for: "the second attempt") { try host.sandbox.exchanges == 3 }
    let expiration = try #require(first["Expiration"]?.text?.time)
    #expect(Date() < expiration)
    try Deadline.usual.wait(for: "the refresh") {
      try host.ask(#"{"op":"status"}"#)["Sessions"]?[0]?["Failures"]?.number == 0
    }
    #expect(try host.credentials() != first)
  }

  @Test
  func aFailedRefreshIsNotSticky() throws {
    let host = try TestHost()
    for (service, code) in [("backend", "BackendUnavailable"), ("cognito", "CognitoUnavailable")] {
      try host.sandbox.plan(
        #"{"Service":"\#(service)","Kind":"status","Status":500,"Count":-1}"#)
      #expect(try host.refusal(#"{"refresh":true,"wait":1}"#).errorCode == code)
      try host.sandbox.clearFaults()
      // The fault is over, and nothing was restarted, cleared or logged in.
      _ = try host.credentials(refresh: true)
    }
  }

  @Test
  func aRefreshContinuesWhenACallerLeaves() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":0.5}"#)
    var first: StreamSocket? = try host.beginToAsk(#"{"wait":30}"#)
    let second = try host.beginToAsk(#"{"wait":30}"#)
    #expect(first != nil)
    first = nil
    try Deadline.usual.wait(for: "the first one's end") { try host.waiters() < 2 }
    #expect(try second.reply()["AccessKeyId"] != nil)
    #expect(try host.sandbox.callbacks == 1)
    #expect(try host.sandbox.exchanges == 1)
  }

  @Test
  func expiredCredentialsAreNeverHandedOut() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "2"])
    #expect(try host.ask()["AccessKeyId"] != nil)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":500,"Count":-1}"#)
    try Deadline.usual.wait(for: "the refusal") {
      let asked = Date()
      let reply = try host.ask(#"{"wait":0}"#)
      guard reply["AccessKeyId"] != nil else { return reply.errorCode == "CognitoUnavailable" }
      #expect(try #require(reply["Expiration"]?.text?.time) > asked - 1)
      return false
    }
    try host.sandbox.clearFaults()
    try Deadline.usual.wait(for: "the recovery") {
      try host.ask(#"{"wait":2}"#)["AccessKeyId"] != nil
    }
  }

  @Test
  func tokenIsReplacedBeforeItRunsOut() throws {
    let host = try TestHost(sandbox: ["--token-lifetime", "2"])
    let first = try host.ask(#"{"op":"token"}"#)
    #expect(first["Token"] != nil)
    try Deadline.usual.wait(for: "another token") {
      let asked = Date()
      let token = try host.ask(#"{"op":"token"}"#)
      #expect(try #require(token["Expiration"]?.text?.time) > asked - 1)
      return token["Token"] != first["Token"]
    }
    #expect(try host.ask()["AccessKeyId"] != nil)
  }

  @Test
  func callerIsDismissedWhenTheDaemonStops() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"hang"}"#)
    let waiting = try host.connect()
    try waiting.send("{\"wait\":60}\n")
    try Deadline.usual.wait(for: "the exchange") { try host.sandbox.exchanges == 1 }
    #expect(try host.stopDaemon() == 0)
    #expect(try waiting.reply().errorCode == "ShuttingDown")
  }
}
