import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// Descriptors and memory run out: nothing spins, nothing is lost.
@Suite(.onStage, .enabled(if: Programs.installed("prlimit") != nil, "takes prlimit of util-linux"))
struct ScarcityTests {
  private func limit(_ resource: String, _ daemon: ChildProcess) throws {
    let prlimit = try #require(Programs.installed("prlimit"))
    let process = try ChildProcess([prlimit, "--pid", String(daemon.pid), resource])
    expect(try process.wait(), equals: 0, "\(process.errors)")
  }

  private func descriptors(_ daemon: ChildProcess) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
  }

  private func isAsleep(_ daemon: ChildProcess) throws -> Bool {
    // PID (COMMAND) STATE …
    try ProcessFile.text(daemon.pid, "stat").split(separator: ") ").last?.hasPrefix("S") == true
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func withoutDescriptorsNothingSpins() throws {
    let host = try TestHost { Configuration.usual($0, daemon: "max_connections_per_user = 1000") }
    let credentials = try host.credentials()
    // It asks seldom, so that the daemon is asleep most of the time, also on a busy machine.
    let other = try Bystander(host, connectsAnew: 0, pause: .milliseconds(20))
    let before = try descriptors(host.daemon)
    try limit("--nofile=64:64", host.daemon)
    let held = try (0..<60).map { _ in try host.connect() }
    try Deadline.usual.wait(for: "the last descriptor") { try descriptors(host.daemon) >= 64 }
    // More of them wait in the backlog, so that the listener is ready all the time.
    let waiting = try (0..<20).map { _ in try host.connect() }
    for socket in waiting { try socket.send("{}\n") }
    var asleep = 0
    for look in 0..<50 {
      if look.isMultiple(of: 5) {
        // Open connections are served.
        try held[0].send("{}\n")
        expect(try held[0].reply(), equals: credentials)
      }
      usleep(20_000)
      if try isAsleep(host.daemon) { asleep += 1 }
    }
    // It looks at the backlog ten times a second; one that spins is never asleep.
    expect(asleep >= 25, "\(asleep) of 50 times")
    try other.expectServed()
    // A refresh finds no descriptor, or the connection that is kept.
    try held[0].send(#"{"refresh":true,"wait":2}"# + "\n{}\n")
    let refreshed = try held[0].reply()
    expect(
      refreshed["AccessKeyId"] != nil
        || ["BackendUnavailable", "CognitoUnavailable", "Timeout"].contains(refreshed.errorCode),
      "\(refreshed)")
    expect(try held[0].reply()["AccessKeyId"] != nil)
    held.dropFirst().forEach { $0.finishSending() }
    for (number, socket) in waiting.enumerated() {
      let reply: JSON
      do {
        reply = try socket.reply()
      } catch {
        Issue.record("of the backlog, \(number): \(error)")
        throw error
      }
      expect(reply["AccessKeyId"] != nil, "\(reply)")
    }
    waiting.forEach { $0.finishSending() }
    held[0].finishSending()
    _ = try host.credentials(refresh: true)
    try Deadline.usual.wait(for: "the descriptors") {
      // Connections to upstream may have come, and one of ours is being closed.
      try descriptors(host.daemon) <= before + 4
    }
  }

  /// Where memory ends, a program in Swift ends; what it had must not. Half lines are what clients
  /// can make it hold: four of one user, of two MiB together.
  @Test(.enabled(if: !Sanitizer.isOn, "a sanitizer's shadow memory leaves nothing to limit"))
  func withoutMemoryNothingIsLost() throws {
    let host = try TestHost(sandbox: ["--unauthenticated"], managed: true) {
      Configuration.password($0) + Configuration.direct($0, "direct", "guest = yes")
    }
    expect(try host.logIn("alice").errorCode == nil)
    let credentials = try ["default", "direct"].map { try host.credentials($0) }
    let calls = try (host.sandbox.callbacks, host.sandbox.exchanges)
    let status = try String(contentsOfFile: "/proc/\(host.daemon.pid)/status", encoding: .utf8)
    let size = try #require(
      status.firstMatch(of: /VmSize:\s+(\d+) kB/).flatMap { Int($0.1) }, "\(status)")
    let bytes = (size + 512) * 1024
    try limit("--as=\(bytes):\(bytes)", host.daemon)
    let half = [UInt8](repeating: UInt8(ascii: "x"), count: 500 << 10)
    let held = try (0..<4).map { _ in
      let socket = try host.connect()
      // It ends in the middle.
      try? socket.send(half, .in(.seconds(5)))
      return socket
    }
    // By a signal: its memory did run out.
    expect(try host.daemon.wait() > 128)
    withExtendedLifetime(held) {}
    try host.startAgain()
    for (profile, credentials) in zip(["default", "direct"], credentials) {
      expect(try host.credentials(profile), equals: credentials)
    }
    expect(try (host.sandbox.callbacks, host.sandbox.exchanges) == calls)
    // The sign-in too: a new callback is made in its name.
    expect(try host.credentials(refresh: true)["AccessKeyId"] != credentials[0]["AccessKeyId"])
  }
}
