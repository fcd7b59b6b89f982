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
  /// them by that many refusals. The programs of the debug build took 900 times as long as without a flood,
  /// on a machine with much else to do, and 3,200 times while each refusal made an object.
  static let mostTimesLonger = 1500.0

  @Test func aUserWhoConnectsWithoutEndDelaysNewConnectionsOfOthersALittle() throws {
    let host = try TestHost(arguments: [])
    func median(meanwhile: () throws -> Void) throws -> Double {
      let other = try Bystander(host, connectsAnew: 1)
      try meanwhile()
      return try other.median()
    }
    let quiet = try median { usleep(1_500_000) }
    let flooded = try median {
      let process = try PythonScript(Self.flood).start(host, as: .daemon)
      expect(try process.wait(), equals: 0, "\(process.errors)")
    }
    expect(flooded < quiet * Self.mostTimesLonger, "\(flooded) s in place of \(quiet) s")
    expect(host.log.contains("a limit was hit"))
    // Nothing is left of it.
    expect(try host.ask(#"{"op":"ping"}"#)["Daemon"] != nil)
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
