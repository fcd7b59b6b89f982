import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Clients that send without end, read nothing or stop in the middle: another user is served in time.
@Suite(.onStage)
struct FloodTests {
  @Test
  func halfALineIsWaitedForTenSeconds() throws {
    let host = try TestHost()
    let slow = try host.connect()
    let gone = try host.connect()
    try slow.send(#"{"op":"#)
    let sent = ContinuousClock.now
    try gone.send(#"{"op":"#)
    gone.finishSending()
    expect(try gone.reply().errorCode, equals: "InvalidRequest")
    expect(gone.isClosed())
    expect(try host.ask(#"{"op":"ping"}"#)["Daemon"] != nil)
    let reply = try slow.reply()
    expect(reply.errorCode, equals: "Timeout")
    expect((Duration.seconds(9.5)...(.seconds(20))).contains(sent.duration(to: .now)))
    expect(slow.isClosed())
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func aClientThatNeverReadsHarmsNoOther() throws {
    let host = try TestHost()
    let other = try Bystander(host)
    let flood = try host.connect()
    let request = Array(String(repeating: "{\"op\":\"ping\"}\n", count: 1000).utf8)
    // Its replies fill the socket; then its requests are no longer read.
    #expect(throws: Overdue.self) {
      for _ in 0..<10_000 { try flood.send(request, .in(.seconds(1))) }
    }
    expect(try host.ask(#"{"op":"ping"}"#)["Daemon"] != nil)
    expect(try host.get().status, equals: 0)
    try other.expectServed()
  }

  /// Two users, each with ten connections that have requests waiting all the time.
  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func usersThatFloodDelayNoOther() throws {
    let host = try TestHost(arguments: [])
    let other = try Bystander(host)
    let flood = try PythonScript(
      """
      import os, signal, socket, sys, time
      lines, children = b'{"op":"status"}\\n' * 4000, []
      for _ in range(10):
          s = socket.socket(socket.AF_UNIX)
          s.connect(sys.argv[1])
          for step in [lambda: s.sendall(lines), lambda: s.recv(1 << 20)]:
              children.append(os.fork())
              if children[-1] == 0:
                  while True: step()
      time.sleep(3)
      assert all(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children)
      for child in children: os.kill(child, signal.SIGKILL)
      """)
    let busy = try ProcessFile.busyTime(host.daemon.pid)
    let flooding = [try flood.start(host), try flood.start(host, as: .daemon)]
    for process in flooding { expect(try process.wait(), equals: 0, "\(process.errors)") }
    // The daemon had no moment's rest.
    expect(try ProcessFile.busyTime(host.daemon.pid) - busy > .seconds(2))
    try other.expectServed()
  }

  /// A program of the other user itself, at a socket with a cap: the user's main socket is served.
  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func aFloodAtASocketWithACapDelaysNotItsOwnUser() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost(arguments: []) {
      Configuration.usual($0) + "[socket \(path)]\nprofiles = default\n"
    }
    let other = try Bystander(host)
    let flood = try PythonScript(
      """
      import os, signal, socket, sys, time
      lines, sockets, children = b'{"op":"identity"}\\n' * 4000, [], []
      # As many connections as its user may have, and half a line on each.
      for _ in range(64):
          sockets.append(socket.socket(socket.AF_UNIX))
          sockets[-1].connect(sys.argv[2])
      for s in sockets[:10]:
          for step in [lambda: s.sendall(lines), lambda: s.recv(1 << 20)]:
              children.append(os.fork())
              if children[-1] == 0:
                  while True: step()
      for s in sockets[10:]: s.sendall(b'{' + b' ' * 30000)
      time.sleep(3)
      for child in children: os.kill(child, signal.SIGKILL)
      """
    ).start(host, as: .games, [path])
    expect(try flood.wait(), equals: 0, "\(flood.errors)")
    try other.expectServed()
  }

  /// Where it is cut off: `a client that does not read its events is closed, and no other`.
  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func slowWatcherDelaysNoOtherClient() throws {
    let host = try TestHost(sandbox: ["--unauthenticated"]) {
      Configuration.direct($0, "default", "guest = yes")
    }
    _ = try host.credentials()
    let other = try Bystander(host)
    let slow = try host.connect()
    // The longest id there may be makes the events long.
    let id = String(repeating: "i", count: 250)
    try slow.send(#"{"op":"watch","profile":"default","id":"\#(id)"}"# + "\n")
    // It reads nothing, not even the replies to these: they fill the kernel's buffers.
    let pings = Array(String(repeating: #"{"op":"ping"}"# + "\n", count: 1000).utf8)
    #expect(throws: Overdue.self) {
      for _ in 0..<10_000 { try slow.send(pings, .in(.milliseconds(500))) }
    }
    let quick = try host.watch()
    let worker = try host.connect()
    // Two calls each; many more would be more than one user may insist on.
    for _ in 0..<20 {
      try worker.send(#"{"op":"clear","what":"identity"}"# + "\n{}\n")
      expect(try worker.reply()["State"]?.text, equals: "signedOut")
      expect(try worker.reply()["AccessKeyId"] != nil)
      _ = try quick.event("refreshed")
    }
    try other.expectServed()
    // Every event is kept for it.
    for _ in 0..<20 { _ = try slow.event("refreshed") }
  }
}
