import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// A user who connects and closes without end: what another user's new connection waits for.
@Suite(
  .onStage, .enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
struct ConnectFloodTests {
  /// New connections of all users wait in one queue of the kernel, up to 4096 of them, so a flood delays
  /// them by that many refusals. How long these take is the machine's, so they are counted and no clock is
  /// asked: a connection waits behind the queue, and about as many are refused before the next one, while
  /// Python rests and starts. What one connection waits for is counted exactly in
  /// `a new connection waits behind those before it alone`.
  static let mostRefusals = 2 * 4096

  @Test func aUserWhoConnectsWithoutEndDelaysNewConnectionsOfOthersALittle() throws {
    let host = try TestHost(arguments: [])
    let other = try Bystander(host, connectsAnew: 1)
    let process = try PythonScript(Self.flood).start(host, as: .daemon)
    expect(try process.wait(), equals: 0, "\(process.errors)")
    let answers = try other.answers()
    let refusals = try self.refusals(host)
    expect(refusals <= (answers + 1) * Self.mostRefusals, "\(refusals) for \(answers) answers")
    expect(host.log.contains("a limit was hit"))
    // Nothing is left of it.
    expect(try host.ask(#"{"op":"ping"}"#)["Daemon"] != nil)
  }

  private func refusals(_ host: TestHost) throws -> Int {
    let text = try host.ask(#"{"op":"metrics"}"#)["Metrics"]?.text ?? ""
    let line = text.split(separator: "\n").first {
      $0.hasPrefix(#"credd_limit_hits_total{limit="connections"}"#)
    }
    return try #require(line?.split(separator: " ").last.flatMap { Int($0) }, "\(text)")
  }

  /// Hundreds of connections that ask nothing, most of which are beyond the limit, and some that end at
  /// once.
  private static let flood = """
    import os, signal, socket, sys, time
    def connect():
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        return s
    held, children = [connect() for _ in range(64)], []
    for _ in range(3):
        children.append(os.fork())
        if children[-1] == 0:
            while True: connect().close()
    time.sleep(3)
    assert all(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children)
    for child in children: os.kill(child, signal.SIGKILL)
    """
}
