import Foundation
import Glibc
import Testing

/// Descriptors and memory run out: nothing spins, nothing is lost.
@Suite(
  .onStage,
  .enabled(if: Programs.installed("prlimit") != nil, "takes prlimit of util-linux"))
struct ScarcityTests {
  private func limit(_ resource: String, _ daemon: ChildProcess) throws {
    let prlimit = try #require(Programs.installed("prlimit"))
    let process = try ChildProcess([prlimit, "--pid", String(daemon.pid), resource])
    #expect(try process.wait() == 0, "\(process.errors)")
  }

  /// What it used of a processor so far, in seconds.
  private func processorTime(_ daemon: ChildProcess) throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(daemon.pid)/stat", encoding: .utf8)
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    // utime and stime, counted after the name: proc(5).
    let ticks = try #require(Double(fields[11])) + #require(Double(fields[12]))
    return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private func descriptors(_ daemon: ChildProcess) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
  }

  @Test
  func withoutDescriptorsNothingSpins() throws {
    let host = try TestHost { Configuration.usual($0, daemon: "max_connections_per_user = 1000") }
    let credentials = try host.credentials()
    let before = try descriptors(host.daemon)
    try limit("--nofile=64:64", host.daemon)
    let held = try (0..<60).map { _ in try host.connect() }
    try Deadline.usual.wait(for: "the last descriptor") { try descriptors(host.daemon) >= 64 }
    // More of them wait in the backlog, so that the listener is ready all the time.
    let waiting = try (0..<20).map { _ in try host.connect() }
    for socket in waiting { try socket.send("{}\n") }
    let (began, used) = (ContinuousClock.now, try processorTime(host.daemon))
    while began.duration(to: .now) < .seconds(1) {
      // Open connections are served.
      try held[0].send("{}\n")
      #expect(try held[0].reply() == credentials)
      usleep(100_000)
    }
    // Ten looks at the backlog; one that spins uses all of the second.
    #expect(try processorTime(host.daemon) - used < 0.25)
    // A refresh finds no descriptor, or the connection that is kept.
    try held[0].send(#"{"refresh":true,"wait":2}"# + "\n")
    let refreshed = try held[0].reply()
    #expect(refreshed["AccessKeyId"] != nil || refreshed.errorCode != nil)
    held.dropFirst().forEach { $0.finishSending() }
    for socket in waiting { #expect(try socket.reply()["AccessKeyId"] != nil) }
    waiting.forEach { $0.finishSending() }
    held[0].finishSending()
    _ = try host.credentials(refresh: true)
    try Deadline.usual.wait(for: "the descriptors") {
      // Connections to upstream may have come, and one of ours is being closed.
      try descriptors(host.daemon) <= before + 4
    }
  }

  /// Where memory ends, a program in Swift ends; what it had must not. Lines that never end are
  /// what clients can make it hold.
  @Test(.enabled(if: !Sanitizer.isOn, "a sanitizer's shadow memory leaves nothing to limit"))
  func withoutMemoryNothingIsLost() throws {
    let host = try TestHost(managed: true) {
      Configuration.usual($0, daemon: "max_connections_per_user = 1000")
    }
    let credentials = try host.credentials()
    let status = try String(contentsOfFile: "/proc/\(host.daemon.pid)/status", encoding: .utf8)
    let size = try #require(
      status.firstMatch(of: /VmSize:\s+(\d+) kB/).flatMap { Int($0.1) }, "\(status)")
    let bytes = (size + 24 * 1024) * 1024
    try limit("--as=\(bytes):\(bytes)", host.daemon)
    let chunk = [UInt8](repeating: UInt8(ascii: " "), count: 500 << 10)
    var held: [StreamSocket] = []
    for _ in 0..<100 where host.daemon.status == nil {
      guard let socket = try? host.connect() else { break }
      // It may end in the middle.
      try? socket.send(chunk, .in(.seconds(1)))
      held.append(socket)
    }
    // It held out, or it ended and the next one goes on.
    if host.daemon.status != nil { try host.startAgain() }
    held = []
    #expect(try host.credentials() == credentials)
    #expect(try host.sandbox.exchanges == 1)
  }
}
