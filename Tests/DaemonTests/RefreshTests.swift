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
}
