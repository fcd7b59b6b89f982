import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Where the listening socket comes from, and what becomes of it.
@Suite(.onStage)
struct ActivationTests {
  /// Its path is there before a process listens.
  private func waitForListener(_ manager: ChildProcess) throws {
    try Deadline.usual.wait(for: "the listener") { manager.errors.contains("Listening on") }
  }

  @Test(
    .enabled(
      if: Programs.installed("systemd-socket-activate") != nil, "takes systemd-socket-activate(1)"))
  func passedSocketIsServedAndLeftAlone() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let (path, file) = (stage.newFile("s"), stage.newFile("credd.conf"))
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    let daemon = try ChildProcess([
      try #require(Programs.installed("systemd-socket-activate")), "--listen", path,
      Programs.credd, "--config", file,
    ])
    try waitForListener(daemon)
    unsafe chmod(path, 0o640)
    // The first connection starts credd, and is served by it.
    let socket = try StreamSocket(unixPath: path)
    try socket.send("{\"op\":\"ping\"}\n{}\n")
    let pid = try socket.reply()["Daemon"]?["Pid"]?.number
    expect(pid, equals: Double(daemon.pid))
    expect(try socket.reply()["AccessKeyId"] != nil)
    daemon.send(SIGTERM)
    expect(try daemon.wait(), equals: 0)
    expect(socket.isClosed())
    expect(TestHost.mode(path), equals: 0o640)
  }

  /// Each is named; the daemon then serves at its own path.
  @Test(
    .enabled(
      if: Programs.installed("systemd-socket-activate") != nil, "takes systemd-socket-activate(1)"))
  func socketsOfOtherKindsAreNamedAndLeftAlone() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let (path, file) = (stage.newFile("s"), stage.newFile("credd.conf"))
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    let ports = [try FreePort.any(), try FreePort.any()]
    let daemon = try ChildProcess(
      [try #require(Programs.installed("systemd-socket-activate"))]
        + ports.flatMap { ["--listen", "127.0.0.1:\($0)"] }
        + [Programs.credd, "--config", file, "--socket", path])
    try waitForListener(daemon)
    let stray = try StreamSocket(port: ports[0])
    // It is there a moment before connections to it are taken.
    try Deadline.usual.wait(for: "credd's own socket") {
      daemon.errors.contains("serving socket=\(path) ")
    }
    let socket = try StreamSocket(unixPath: path)
    try socket.send("{}\n")
    expect(try socket.reply()["AccessKeyId"] != nil)
    for descriptor in [3, 4] {
      expect(daemon.errors.contains("warning: cannot serve passed socket \(descriptor) "))
    }
    daemon.send(SIGTERM)
    expect(try daemon.wait(), equals: 0)
    withExtendedLifetime(stray) {}
  }

  @Test
  func ownSocketIsMadeForAllUsersAndRemoved() throws {
    let host = try TestHost()
    expect(TestHost.mode(host.socketPath), equals: (geteuid() == 0 ? 0o666 : 0o600))
    expect(try host.stopDaemon(), equals: 0)
    expect(TestHost.mode(host.socketPath) == nil)
  }

  @Test
  func socketOfADeadDaemonIsReplacedAndThatOfALiveOneIsNot() throws {
    let host = try TestHost()
    let second = try ChildProcess(host.creddArguments + ["--socket", host.socketPath])
    expect(try second.wait(), equals: EX_OSERR)
    expect(second.errors.contains(host.socketPath))
    expect(try host.get().status, equals: 0)
    host.daemon.send(SIGKILL)
    try host.daemon.wait()
    expect(TestHost.mode(host.socketPath) != nil)
    let third = try ChildProcess(host.creddArguments + ["--socket", host.socketPath])
    try Deadline.usual.wait(for: "credd") { try host.credctl("ping").status == 0 }
    expect(third.status == nil)
  }

  @Test
  func fileThatIsNoSocketIsLeftAlone() throws {
    let host = try TestHost()
    let path = try Stage.current().newFile("notes")
    try Data("mine".utf8).write(to: URL(filePath: path))
    let daemon = try ChildProcess(host.creddArguments + ["--socket", path])
    expect(try daemon.wait(), equals: EX_OSERR)
    expect(daemon.errors.contains(path))
    expect(try String(contentsOfFile: path, encoding: .utf8), equals: "mine")
  }

  @Test(
    .enabled(
      if: Programs.installed("systemd-socket-activate") != nil, "takes systemd-socket-activate(1)"))
  func idleItEndsAndLeavesTheSocketToTheNextConnection() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let (path, file) = (stage.newFile("s"), stage.newFile("credd.conf"))
    try Data(Configuration.usual(sandbox, daemon: "exit_on_idle = 1s").utf8)
      .write(to: URL(filePath: file))
    let daemon = try ChildProcess([
      try #require(Programs.installed("systemd-socket-activate")), "--listen", path,
      Programs.credd, "--config", file,
    ])
    try waitForListener(daemon)
    let socket = try StreamSocket(unixPath: path)
    // A connected client keeps it alive, however little it sends: here nothing for longer than the
    // daemon would be idle.
    for gap in [700_000, 2_500_000, 0] as [UInt32] {
      try socket.send("{}\n")
      expect(try socket.reply()["AccessKeyId"] != nil)
      usleep(gap)
      expect(daemon.status == nil)
    }
    socket.finishSending()
    expect(try daemon.wait(), equals: 0)
    expect(daemon.errors.contains("nobody was connected for a while"))
    expect(TestHost.mode(path) != nil)
  }

  @Test
  func ofItsOwnSocketItTakesCareItself() throws {
    let host = try TestHost { Configuration.usual($0, daemon: "exit_on_idle = 1s") }
    // The socket is there before this is said.
    try Deadline.usual.wait(for: "the warning") { host.log.contains("exit_on_idle is ignored") }
  }

  /// The socket is there before the daemon serves: between the two a signal must not kill it.
  @Test
  func askedToStopWhileItStartsItEndsCleanly() throws {
    for _ in 0..<5 {
      let host = try TestHost()
      expect(try host.stopDaemon(), equals: 0)
      expect(!FileManager.default.fileExists(atPath: host.socketPath))
    }
  }
}
