import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Many uids without a name, as a container host has them, take as much as they get.
@Suite(
  .onStage, .enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root, setpriv and python3"))
struct SubordinateFloodTests {
  @Test func manyUidsLockNobodyOut() throws {
    let host = try TestHost { Configuration.usual($0, daemon: "max_connections = 512") }
    unsafe chmod(host.socketPath, 0o666)
    let credctl = try Stage.current().executable(Programs.credctl)
    let flood = try PythonScript(Self.flood).start(host)
    try Deadline.usual.wait(for: "the flood") {
      if let status = flood.status { throw Overdue("it: \(status) \(flood.errors)") }
      return flood.output.contains("open ")
    }
    for verb in ["ping", "status"] {
      let outcome = try host.credctl(verb)
      expect(outcome.status, equals: 0, "\(verb): \(outcome.errors)")
    }
    let other = try host.credctl(credctl, as: .games, "get")
    expect(other.status, equals: 0, "\(other.errors)")
    // At most half of them, and those that are being looked up, once the daemon has looked at each.
    try Deadline.usual.wait(for: "the daemon to close the others") {
      let counted = flood.output.split(separator: "\n").last { $0.hasPrefix("open ") }
      return (1...(256 + 128)).contains(counted.flatMap { Int($0.dropFirst(5)) } ?? 0)
    }
    expect(host.log.contains("a limit was hit"))
    expect(host.log.contains("max_connections"))
    flood.send(SIGTERM)
  }

  /// 65 uids, each with 64 connections that ask nothing. Says how many are open still.
  private static let flood = """
    import os, resource, select, socket, sys, time
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    os.setgroups([])
    sockets = []
    for uid in range(1900000001, 1900000066):
        os.setresuid(-1, uid, 0)
        for _ in range(64):
            try:
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(20)
                s.connect(sys.argv[1])
                sockets.append(s)
            except OSError:
                break
        os.setresuid(-1, 0, 0)
        # Those that were refused leave room for the next ones.
        time.sleep(0.005)
    def is_open(s):
        try:
            s.setblocking(False)
            while True:
                if not s.recv(4096):
                    return False
        except BlockingIOError:
            return True
        except OSError:
            return False
    for _ in range(600):
        print("open", sum(is_open(s) for s in sockets), flush=True)
        time.sleep(0.2)
    """
}
