import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// A host with many sessions, which `status` shows in pages.
@Suite(.onStage)
struct PassingUsersTests {
  @Test func credctlShowsTheSessionsOfAllPages() throws {
    let names = (100..<400).map { "p\($0)" }
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + names.map { Configuration.profile($0, endpoint: sandbox.url) }.joined()
    }
    let socket = try host.connect()
    for name in names {
      try socket.send(#"{"op":"release","profile":"\#(name)"}"# + "\n")
      _ = try socket.reply(.usual)
    }
    let page = try host.ask(#"{"op":"status","limit":2,"after":"\#(geteuid())/p200"}"#)
    expect(page["Sessions"]?.count == 2 && page["Next"] != nil)
    let printed = try host.credctl("status", "--json")
    let reply = try #require(
      try JSONSerialization.jsonObject(with: Data(printed.output.utf8)) as? [String: Any])
    let sessions = try #require(reply["Sessions"] as? [[String: Any]])
    expect(sessions.compactMap { $0["Profile"] as? String }, equals: names)
    expect(reply["Next"] == nil && reply["Daemon"] != nil)
    let table = try host.credctl("status").output
    expect(names.allSatisfy { table.contains($0) })
    expect(try host.credctl("status", "--all", "--json").status, equals: (geteuid() == 0 ? 0 : 77))
  }
}
