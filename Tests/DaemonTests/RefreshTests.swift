import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

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
    expect(first["AccessKeyId"] != nil)
    for caller in callers.dropFirst() { expect(try caller.reply(), equals: first) }
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  /// The backend may say something else of the user by now: other tags, links, another identity.
  @Test
  func aForcedRefreshAsksTheBackendAnew() throws {
    let host = try TestHost(sandbox: ["--token-lifetime", "86400"])
    func cacheControl() throws -> String? {
      try host.sandbox.lastRequest("token")["Headers"]?["Cache-Control"]?.text
    }
    let first = try host.credentials()
    expect(try cacheControl() == nil)
    expect(try host.credentials(refresh: true) != first)
    expect(try host.sandbox.callbacks, equals: 2)
    expect(try cacheControl(), equals: "no-cache")
    let token = try host.ask(#"{"op":"token"}"#)
    expect(try host.sandbox.callbacks, equals: 2)
    let forced = try host.credctl("token", "--refresh", "--wait", "30")
    expect(forced.status, equals: 0, "\(forced)")
    expect(try JSON(forced.output)["Token"] != token["Token"])
    expect(try host.sandbox.callbacks, equals: 3)
    expect(try cacheControl(), equals: "no-cache")
    expect(try host.sandbox.exchanges, equals: 2)
  }

  @Test
  func callersOfCredctlShareOneExchangeToo() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"delay","Seconds":0.5}"#)
    let processes = try (0..<20).map { _ in
      try ChildProcess([Programs.credctl, "--socket", host.socketPath, "get"])
    }
    for process in processes { expect(try process.wait(), equals: 0) }
    expect(Set(processes.map(\.output)).count, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  /// The rest of a session's life is tested in virtual time: CredServiceTests, RefreshTests.
  @Test
  func aSessionInUseIsRenewedAheadOfTime() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "4"]) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("used", endpoint: sandbox.url)
        + Configuration.profile("idle", endpoint: sandbox.url, identifier: "bob")
    }
    func refreshes(_ profile: String) -> Int {
      host.log.split(separator: "\n").count {
        $0.contains("credentials refreshed") && $0.contains("profile=\(profile)")
      }
    }
    let first = try host.ask(#"{"profile":"used"}"#)
    expect(try host.ask(#"{"profile":"idle"}"#)["AccessKeyId"] != nil)
    // Asked once more, it counts as in use; no client asks again until it was renewed.
    expect(try host.ask(#"{"profile":"used"}"#), equals: first)
    try Deadline.usual.wait(for: "the refresh ahead") { refreshes("used") == 2 }
    let renewed = try host.ask(#"{"profile":"used"}"#)
    expect(renewed["AccessKeyId"] != nil && renewed != first)
    expect(refreshes("idle"), equals: 1)
  }

  @Test
  func aRefreshContinuesWhenACallerLeaves() throws {
    let host = try TestHost { Configuration.usual($0) }
    try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":3}"#)
    var first: StreamSocket? = try host.beginToAsk(#"{"wait":30}"#)
    let second = try host.beginToAsk(#"{"wait":30}"#)
    expect(first != nil)
    first = nil
    try Deadline.usual.wait(for: "the first one's end") { try host.waiters() == 1 }
    // The call that it began has not been answered yet.
    expect(try host.sandbox.exchanges, equals: 0)
    expect(try second.reply()["AccessKeyId"] != nil)
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  @Test
  func callerIsDismissedWhenTheDaemonStops() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"hang"}"#)
    let waiting = try host.connect()
    try waiting.send("{\"wait\":60}\n")
    try Deadline.usual.wait(for: "the exchange") { try host.sandbox.exchanges == 1 }
    expect(try host.stopDaemon(), equals: 0)
    expect(try waiting.reply().errorCode, equals: "ShuttingDown")
  }
}
