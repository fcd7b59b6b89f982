import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// What one user may have of upstream.
@Suite(.onStage)
struct FairUseTests {
  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func aUserThatSignsInAgainAndAgainIsSlowedDown() throws {
    let host = try TestHost()
    let other = try Bystander(host)
    var refused: JSON?
    for _ in 0..<200 where refused == nil {
      let reply = try host.ask(#"{"op":"login"}"#)
      if reply.errorCode != nil { refused = reply }
    }
    expect(refused?.errorCode, equals: "TooManyRequests")
    expect(refused?.errorMessage?.contains("upstream calls") == true)
    expect((refused?["Error"]?["RetryAfter"]?.number ?? 0) > 0)
    // What is asked for in the ordinary way is given.
    expect(try host.credentials()["AccessKeyId"] != nil)
    try expectUpstreamServesAnother(host)
    // Two a second come back.
    try Deadline.usual.wait(for: "the next sign-in") {
      try host.ask(#"{"op":"login"}"#).errorCode == nil
    }
    try other.expectServed()
  }

  /// While the user goes on signing in, another gets new credentials, which are not in the cache.
  private func expectUpstreamServesAnother(_ host: TestHost) throws {
    let flood = try PythonScript(
      """
      import json, socket, sys
      s = socket.socket(socket.AF_UNIX)
      s.connect(sys.argv[1])
      replies, refused = s.makefile(), 0
      while True:
          s.sendall(b'{"op":"login"}\\n')
          if "Error" in json.loads(replies.readline()):
              refused += 1
              if refused == 1: print("refused", flush=True)
      """
    ).start(host)
    try Deadline.usual.wait(for: "a refusal") { flood.output.contains("refused") }
    let credctl = try Stage.current().executable(Programs.credctl)
    let first = try host.credctl(credctl, as: .daemon, "get")
    let asked = ContinuousClock.now
    let next = try host.credctl(credctl, as: .daemon, "get", "--refresh")
    expect(asked.duration(to: .now) < .seconds(5))
    expect(first.status == 0 && next.status == 0, "\(first.errors)\(next.errors)")
    expect(try JSON(first.output)["AccessKeyId"] != JSON(next.output)["AccessKeyId"])
    expect(flood.status == nil, "\(flood.errors)")
    flood.stop()
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func requestsOfOneUserWaitInSoManySessionsAndNoMore() throws {
    let limit = 32
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token", timeout: "30s")
        + Configuration.profile("default", endpoint: sandbox.url)
        + (0...limit).map { Configuration.profile("p\($0)", endpoint: sandbox.url) }.joined()
    }
    let other = try Bystander(host)
    try host.sandbox.plan(#"{"Service":"backend","Kind":"hang","Count":-1}"#)
    var waiting = try (0..<limit).map { number in
      let socket = try host.connect()
      try socket.send(#"{"profile":"p\#(number)","wait":60}"# + "\n")
      return socket
    }
    try Deadline.usual.wait(for: "all to wait") {
      try (0..<limit).allSatisfy { try host.waiters("p\($0)") == 1 }
    }
    let refused = try host.ask(#"{"profile":"p\#(limit)"}"#)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("32 other profiles") == true)
    // Another user has places of its own.
    let place = try PythonScript(
      """
      import json, socket, sys
      s = socket.socket(socket.AF_UNIX)
      s.connect(sys.argv[1])
      s.sendall(b'{"profile":"p0","wait":0.2}\\n')
      print(json.loads(s.makefile().readline())["Error"]["Code"])
      """)
    expect(try place.lines(host, as: .daemon), equals: ["Timeout"])
    // A client that joins waiting ones costs nothing.
    expect(try host.ask(#"{"profile":"p0","wait":0}"#).errorCode != "TooManyRequests")
    // A place is free as soon as a client leaves.
    waiting.removeLast()
    try Deadline.usual.wait(for: "a place") {
      try host.ask(#"{"profile":"p\#(limit)","wait":0}"#).errorCode != "TooManyRequests"
    }
    withExtendedLifetime(waiting) {}
    try other.expectServed()
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func onePasswordOfAUserIsCheckedAtATime() throws {
    let host = try TestHost { Configuration.password($0) }
    try host.sandbox.plan(
      #"{"Service":"backend","Operation":"login","Kind":"delay","Seconds":1.5}"#)
    let line = #"{"op":"login","username":"alice","password":"alice-password"}"#
    let first = try host.connect()
    try first.send(line + "\n")
    try Deadline.usual.wait(for: "the first to be under way") {
      try host.waiters() == 1 || host.sandbox.calls("backend.login") == 1
    }
    let refused = try host.ask(line)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("another sign-in of yours") == true)
    // Another user's is checked beside it.
    unsafe chmod(host.socketPath, 0o666)
    let password = try Stage.current().newFile("password")
    try Data("bob-password\n".utf8).write(to: URL(filePath: password))
    let credctl = try Stage.current().executable(Programs.credctl)
    let other = try ChildProcess(
      try OtherUser.games.prefix + [
        credctl, "--socket", host.socketPath, "login", "--username", "bob", "--password-stdin",
      ], input: password)
    try Deadline.usual.wait(for: "the other user's sign-in") {
      try host.sandbox.calls("backend.login") == 2
    }
    expect(try other.wait(), equals: 0, "\(other.errors)")
    expect(try first.reply().errorCode == nil)
    expect(try host.ask(line).errorCode == nil)
    expect(try host.sandbox.calls("backend.login"), equals: 3)
  }

  @Test func sessionsAreAsManyAsConfigured() throws {
    let host = try TestHost {
      Configuration.usual($0, daemon: "max_sessions = 1")
        + Configuration.profile("next", endpoint: $0.url)
    }
    expect(try host.credentials()["AccessKeyId"] != nil)
    let refused = try host.ask(#"{"profile":"next"}"#)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("max_sessions") == true)
    // The place of a profile that is removed is free.
    try host.configure {
      Configuration.http(url: $0.url + "/token", daemon: "max_sessions = 1")
        + Configuration.profile("next", endpoint: $0.url)
    }
    host.daemon.send(SIGHUP)
    try Deadline.usual.wait(for: "the reload") { host.log.contains("removed=1") }
    expect(try host.credentials("next")["AccessKeyId"] != nil)
  }
}
