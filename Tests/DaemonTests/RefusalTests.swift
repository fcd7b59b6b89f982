import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What a person reads when `credctl get` has no credentials to give: one line that says what to do.
@Suite(.onStage)
struct RefusalTests {
  private func expectRefusal(
    _ outcome: TestHost.Outcome, status: Int32, says words: String...,
    at location: SourceLocation = #_sourceLocation
  ) {
    expect(outcome.status, equals: status, sourceLocation: location)
    // The SDKs for C++ and PHP ignore the exit status.
    expect(outcome.output.isEmpty, sourceLocation: location)
    expect(outcome.errors.hasPrefix("credctl: "), sourceLocation: location)
    expect(outcome.errors.hasSuffix("\n"), sourceLocation: location)
    expect(outcome.errors.split(separator: "\n").count, equals: 1, sourceLocation: location)
    for word in words {
      expect(outcome.errors.contains(word), "\(outcome.errors)", sourceLocation: location)
    }
  }

  /// A port of this host that refuses connections: the sandbox that had it is gone.
  private func closedURL() throws -> String {
    let sandbox = try Sandbox()
    sandbox.process.stop()
    return sandbox.url
  }

  @Test
  func daemonIsDown() throws {
    let host = try TestHost()
    expect(try host.stopDaemon(), equals: 0)
    expectRefusal(
      try host.get(), status: 69, says: "credd is not running", host.socketPath, "start")
  }

  @Test
  func profileIsUnknown() throws {
    let host = try TestHost()
    expectRefusal(
      try host.get("--profile", "defualt"), status: 64,
      says: "no profile 'defualt'", "'default'")
  }

  @Test
  func userIsNotSignedIn() throws {
    let host = try TestHost(sandbox: ["--require-session"])
    expectRefusal(
      try host.get("--wait", "2"), status: 77, says: "wants the user to sign in",
      "credctl login")
    expect(try host.ask(#"{"op":"identity"}"#)["State"]?.text, equals: "tokensInvalid")
  }

  @Test
  func backendRefusesTheUser() throws {
    let host = try TestHost()
    try host.sandbox.control("POST", "user", #"{"Name":"alice","Disabled":true}"#)
    expectRefusal(
      try host.get(), status: 77, says: "backend 'corp' refuses this user", "access",
      "user 'alice' is disabled")
  }

  @Test
  func backendDoesNotKnowTheUser() throws {
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("default", endpoint: sandbox.url, identifier: "mallory")
    }
    expectRefusal(
      try host.get(), status: 77, says: "backend 'corp' does not know this user",
      "user_identifier")
  }

  @Test
  func backendIsDown() throws {
    let url = try closedURL()
    let host = try TestHost { sandbox in
      Configuration.http(url: url + "/token")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    expectRefusal(
      try host.get("--wait", "1"), status: 75,
      says: "backend 'corp' cannot be reached", "check", "ask again in")
  }

  @Test
  func backendIsMisconfigured() throws {
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/elsewhere")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    expectRefusal(try host.get(), status: 77, says: "backend 'corp'", "url")
  }

  @Test
  func cognitoRefusesForThePool() throws {
    let host = try TestHost()
    try host.sandbox.control("POST", "pool", #"{"RemoveRoles":true}"#)
    expectRefusal(
      try host.get(), status: 69, says: "Cognito finds no usable role", "attach")
  }

  @Test
  func cognitoRefusesTheToken() throws {
    let host = try TestHost()
    try host.sandbox.plan(
      #"{"Service":"cognito","Kind":"status","Count":-1,"Error":"NotAuthorizedException","#
        + #""Message":"Invalid login token. Couldn't verify signed token."}"#)
    expectRefusal(
      try host.get(), status: 77, says: "Cognito does not accept the token's signature",
      "the backend must")
    // A new token is tried once, not for ever.
    expect(try host.sandbox.callbacks, equals: 2)
    expect(try host.sandbox.exchanges, equals: 2)
  }

  @Test
  func cognitoIsDown() throws {
    let url = try closedURL()
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("default", endpoint: url)
    }
    expectRefusal(
      try host.get("--wait", "1"), status: 75, says: "Cognito cannot be reached",
      "check", "ask again in")
  }

  @Test(arguments: [
    (["get", "--nonsense"], "--nonsense"), (["get", "work", "home"], "'home'"),
    (["get", "--wait", "301"], "300"), (["get", "--min-ttl", "soon"], "soon"),
    (["gte"], "gte"),
  ])
  func commandLineIsWrong(_ arguments: [String], _ word: String) throws {
    let outcome = try ChildRun(arguments).outcome
    expectRefusal(outcome, status: 64, says: word)
  }

  @Test
  func socketIsOutOfReach() throws {
    let long = "/tmp/" + String(repeating: "x", count: 200)
    expectRefusal(try ChildRun(["--socket", long, "get"]).outcome, status: 64, says: "107 bytes")
    let folder = try Stage.current().folder
    expectRefusal(
      try ChildRun(["--socket", folder + "/none", "get"]).outcome, status: 69,
      says: "no listener at \(folder)/none")
  }

  @Test(.enabled(if: Programs.installed("nc") != nil, "takes nc(1)"))
  func somethingElseListensThere() throws {
    let path = try Stage.current().newFile("s")
    let reply = try Stage.current().newFile("reply")
    try Data("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).write(to: URL(filePath: reply))
    _ = try ChildProcess([try #require(Programs.installed("nc")), "-lU", path], input: reply)
    var outcome = try ChildRun(["--socket", path, "get"]).outcome
    try Deadline.usual.wait(for: "a listener") {
      guard outcome.errors.contains("no listener") else { return true }
      outcome = try ChildRun(["--socket", path, "get"]).outcome
      return false
    }
    expectRefusal(outcome, status: 69, says: "not one of credd's")
  }

  /// `credctl` without a daemon of its own.
  private struct ChildRun {
    let outcome: TestHost.Outcome

    init(_ arguments: [String]) throws {
      let process = try ChildProcess([Programs.credctl] + arguments)
      let status = try process.wait()
      outcome = TestHost.Outcome(status: status, output: process.output, errors: process.errors)
    }
  }
}
