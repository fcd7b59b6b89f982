import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `watch`: what the mobile SDKs' listeners hear.
@Suite(.onStage)
struct WatchTests {
  @Test
  func watcherHearsEveryKindOfEvent() throws {
    let host = try TestHost()
    let socket = try host.connect()
    try socket.send(#"{"op":"watch","profile":"default","id":"w"}"# + "\n")
    let now = try socket.reply()
    expect(now["Event"]?.text, equals: "state")
    expect(now["State"]?.text, equals: "signedOut")
    expect(now["Profile"]?.text, equals: "default")
    expect(now["Id"]?.text, equals: "w")
    let credentials = try host.credentials()
    let identity = try #require(try host.identity())
    let change = try socket.event("identityChanged")
    expect(change["IdentityId"]?.text, equals: identity)
    expect(change["PreviousIdentityId"] == nil)
    expect(try socket.event("state")["State"]?.text, equals: "signedIn")
    let refreshed = try socket.event("refreshed")
    expect(refreshed["Expiration"], equals: credentials["Expiration"])
    expect(refreshed["IdentityId"]?.text, equals: identity)
    expect(refreshed["NextRefresh"]?.text?.timeFromNow.map { $0 > 0 } == true)
    expect(refreshed["SecretAccessKey"] == nil)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503}"#)
    try host.ask(#"{"refresh":true,"wait":30}"#)
    let degraded = try socket.event("degraded")
    expect(degraded.errorCode, equals: "CognitoUnavailable")
    expect(degraded["Expiration"], equals: credentials["Expiration"])
    try host.sandbox.plan(#"{"Service":"backend","Kind":"changedIdentity"}"#)
    try host.ask(#"{"op":"clear","what":"identity"}"#)
    let next = try host.credentials()
    expect(try socket.event("identityChanged")["IdentityId"]?.text, equals: try host.identity())
    expect(try socket.event("refreshed")["Expiration"], equals: next["Expiration"])
    try host.ask(#"{"op":"logout"}"#)
    expect(try socket.event("state")["State"]?.text, equals: "signedOut")
  }

  @Test
  func watcherOfOneProfileHearsNothingOfOthers() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.profile("other", endpoint: $0.url)
    }
    let one = try host.watch("other")
    let all = try host.connect()
    try all.send(#"{"op":"watch"}"# + "\n")
    expect(
      try Set([all.reply(), all.reply()].compactMap { $0["Profile"]?.text }),
      equals: ["default", "other"])
    _ = try host.credentials()
    expect(try all.event("refreshed")["Profile"]?.text, equals: "default")
    _ = try host.credentials("other")
    expect(try all.event("refreshed")["Profile"]?.text, equals: "other")
    expect(try one.reply()["Profile"]?.text, equals: "other")
  }

  @Test
  func credctlPrintsEventsForPeopleAndPrograms() throws {
    let host = try TestHost()
    let arguments = [
      Programs.credctl, "--socket", host.socketPath, "watch", "--profile", "default",
    ]
    let people = try ChildProcess(arguments)
    let programs = try ChildProcess(arguments + ["--json"])
    try Deadline.usual.wait(for: "the present state") {
      people.output.contains("signedOut\n") && programs.output.hasSuffix("\n")
    }
    _ = try host.credentials()
    try Deadline.usual.wait(for: "the refresh") {
      people.output.contains("refreshed") && programs.output.contains("refreshed")
        && programs.output.hasSuffix("\n")
    }
    let identity = try #require(try host.identity())
    let time = #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ default: "#
    let lines = people.output.split(separator: "\n")
    expect(try lines.allSatisfy { try $0.firstMatch(of: Regex("^" + time)) != nil })
    expect(lines.contains { $0.hasSuffix("default: identity changed from none to \(identity)") })
    expect(lines.contains { $0.contains("default: signedIn as \(identity)") })
    expect(lines.contains { $0.contains("default: refreshed, expires in ") })
    let events = try programs.output.split(separator: "\n").map {
      try JSON(String($0))["Event"]?.text
    }
    expect(events.first, equals: "state")
    expect(events.contains("identityChanged"))
    people.send(SIGTERM)
    expect(try people.wait(), equals: 128 + SIGTERM)
    expect(people.errors.isEmpty)
    // When the daemon goes, the other one says so.
    _ = try host.stopDaemon()
    expect(try programs.wait() != 0)
    expect(!programs.errors.isEmpty)
  }

  @Test
  func watcherHearsOfFailuresBeforeTheFirstCredentials() throws {
    let host = try TestHost()
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"status","Status":403,"Count":100}"#)
    let socket = try host.watch()
    let refused = try host.refusal("{}")
    expect(refused.errorCode, equals: "BackendRejected")
    let degraded = try socket.event("degraded")
    expect(degraded.errorCode, equals: "BackendRejected")
    expect(degraded["Expiration"] == nil)
  }

  @Test
  func credctlGoesOnWatchingAfterAFailure() throws {
    let host = try TestHost()
    _ = try host.credentials()
    let arguments = [Programs.credctl, "--socket", host.socketPath, "watch", "-p", "default"]
    let people = try ChildProcess(arguments)
    let programs = try ChildProcess(arguments + ["--json"])
    try Deadline.usual.wait(for: "the present state") {
      people.output.hasSuffix("\n") && programs.output.hasSuffix("\n")
    }
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503}"#)
    try host.ask(#"{"refresh":true,"wait":30}"#)
    // It pauses after the failure.
    var refreshed = JSON.null
    try Deadline.usual.wait(for: "the next refresh") {
      refreshed = try host.ask(#"{"refresh":true,"wait":30}"#)
      return refreshed["AccessKeyId"] != nil
    }
    try Deadline.usual.wait(for: "the refresh in both outputs") {
      people.output.contains("default: refreshed, ") && programs.output.contains(#""refreshed""#)
    }
    expect(people.output.contains("default: degraded: CognitoUnavailable: "))
    expect(programs.output.contains(#""Event":"degraded""#))
    expect(people.errors.isEmpty && programs.errors.isEmpty)
    expect(people.status == nil && programs.status == nil)
  }

  /// `head` closes the pipe after its line; nothing else happens to the session.
  @Test
  func credctlEndsSilentlyWhenItsReaderIsGone() throws {
    let host = try TestHost()
    let outcome = try host.run([
      "/bin/bash", "-c",
      "'\(Programs.credctl)' --socket \(host.socketPath) watch -p default | head -n 1; "
        + "echo \"${PIPESTATUS[0]}\"",
    ])
    expect(outcome.output.hasSuffix("default: signedOut\n0\n"), "\(outcome)")
    expect(outcome.errors.isEmpty)
  }
}
