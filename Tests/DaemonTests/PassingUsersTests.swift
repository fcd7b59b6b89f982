import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// A host with many sessions: those that nobody uses go, and `status` shows the others in pages.
@Suite(.onStage)
struct PassingUsersTests {
  @Test func aSessionThatNobodyUsesIsForgottenAndItsIdentityStays() throws {
    let folder = try Stage.current().newFile("state")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let host = try TestHost(environment: ["STATE_DIRECTORY": folder]) {
      Configuration.usual($0, profile: "forget_after = 1s")
    }
    let first = try host.credentials()
    let identity = try host.issued(first)["IdentityId"]
    try Deadline.usual.wait(for: "the session's end") {
      try host.ask(#"{"op":"status"}"#)["Sessions"]?.count == 0
    }
    expect(host.log.contains("session forgotten: nobody used it"))
    let second = try host.credentials()
    expect(second != first)
    expect(try host.issued(second)["IdentityId"], equals: identity)
    // The backend got the IdentityId that was kept.
    expect(try host.sandbox.callbacks, equals: 2)
  }

  @Test func whoSignedOutIsNotSignedInAgainByTime() throws {
    let host = try TestHost { Configuration.usual($0, profile: "forget_after = 1s") }
    _ = try host.credentials()
    _ = try host.ask(#"{"op":"logout"}"#)
    try Deadline.usual.wait(for: "the session's end") {
      try host.ask(#"{"op":"status"}"#)["Sessions"]?.count == 0
    }
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try host.sandbox.callbacks, equals: 1)
  }

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
