import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Who tries to get credentials from the endpoint without being the program that they are for.
@Suite(.onStage)
struct EndpointAttackTests {
  /// How often the kernel's word about a connection was missing, by reason.
  private func failures(_ endpoint: EndpointHost, _ reason: String) throws -> Int {
    try endpoint.sample("credd_attestation_failures_total{reason=\"\(reason)\"}")
  }

  /// Connections that were made and changed while the daemon slept: it attests them late.
  @Test(
    .enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"),
    .enabled(if: PythonScript.canRun, "takes python3"))
  func connectionsWithoutALivingOtherEndAreNobodys() throws {
    let endpoint = try EndpointHost()
    let script = try PythonScript(
      """
      import os, signal, socket, struct, sys, time
      port, pid, head = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode().decode(
          "unicode_escape").encode()
      os.kill(pid, signal.SIGSTOP)
      def connect(source=0):
          s = socket.socket()
          s.settimeout(120)
          s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
          s.bind(("127.0.0.1", source))
          s.connect(("127.0.0.1", port))
          s.sendall(head)
          return s
      half = connect()
      half.shutdown(socket.SHUT_WR)
      closed = connect()
      closed.close()
      reset = connect()
      source = reset.getsockname()[1]
      reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
      reset.close()
      successor = connect(source)
      os.kill(pid, signal.SIGCONT)
      print(half.makefile().readline().split()[1])
      # It is a connection of its own, and its maker is there.
      print(successor.makefile().readline().split()[1])
      """)
    let head = endpoint.head(try endpoint.token()).replacing("\r\n", with: "\\r\\n")
    let daemon = endpoint.host.daemon.pid
    // Credentials are there beforehand: the endpoint may give up before a refresh ends.
    _ = try endpoint.host.credentials()
    let callbacks = try endpoint.host.sandbox.callbacks
    defer { kill(daemon, SIGCONT) }
    expect(
      try script.lines(endpoint.host, ["\(endpoint.port)", "\(daemon)", head]),
      equals: ["403", "200"])
    expect(try failures(endpoint, "not_established"), equals: 1)
    expect(try failures(endpoint, "closed"), equals: 1)
    // The kernel knows the successor at that address; our own end is what shows the difference.
    expect(try failures(endpoint, "own_end_closed"), equals: 1)
    expect(try endpoint.host.sandbox.callbacks, equals: callbacks)
  }

  /// The kernel names the user that made a connection. Another user may hold it later.
  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func aConnectionThatWasPassedOnIsItsMakers() throws {
    let endpoint = try EndpointHost()
    let script = try PythonScript(
      """
      import os, socket, sys
      port, head = int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape").encode()
      def run(user, work):
          child = os.fork()
          if child == 0:
              os.setgid(user)
              os.setuid(user)
              work()
              os._exit(0)
          os.waitpid(child, 0)
      def ask(maker, holder):
          here, there = socket.socketpair()
          def make():
              s = socket.create_connection(("127.0.0.1", port), timeout=120)
              socket.send_fds(there, [b"x"], [s.fileno()])
          run(maker, make)
          connection = socket.socket(fileno=socket.recv_fds(here, 1, 1)[1][0])
          connection.settimeout(120)
          def use():
              connection.sendall(head)
              there.sendall(connection.makefile().readline().split()[1].encode())
          run(holder, use)
          return here.recv(3).decode()
      print(ask(0, 1))
      print(ask(1, 0))
      """)
    let head = endpoint.head(try endpoint.token()).replacing("\r\n", with: "\\r\\n")
    // The token is root's.
    expect(try script.lines(endpoint.host, ["\(endpoint.port)", head]), equals: ["200", "401"])
    expect(endpoint.host.log.contains("the token was given to another user or unit"))
  }

  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func tenThousandSilentConnectionsAreBoundedAndOthersAreServed() throws {
    let endpoint = try EndpointHost()
    let script = try PythonScript(
      """
      import resource, socket, sys
      count, port, daemon = 10000, int(sys.argv[2]), sys.argv[3]
      try:
          resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
      except (ValueError, PermissionError):
          count = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
      held, refused = [], 0
      for _ in range(count):
          try:
              held.append(socket.create_connection(("127.0.0.1", port), timeout=120))
          except ConnectionResetError:
              # The reset came before the connection was looked at.
              refused += 1
      early = refused
      # Those that were looked at first are silent for too long meanwhile, and leave their place.
      for s in held[64:]:
          answer = s.recv(4096)
          refused += b" 429 " in answer or not answer
      print(refused >= count - 64 - 8, len(held) + early == count)
      sys.stdout.flush()
      sys.stdin.read()
      """)
    let before = try endpoint.host.daemon.residentKilobytes
    let attacker = try script.start(
      endpoint.host, as: .games, ["\(endpoint.port)", "\(endpoint.host.daemon.pid)"])
    try Deadline.usual.wait(for: "10,000 connections") {
      attacker.output.contains("\n") || attacker.status != nil
    }
    expect(attacker.output, equals: "True True\n", "\(attacker.errors)")
    expect(try endpoint.firstAnswer(try endpoint.token()).status, equals: 200)
    expect(try endpoint.host.daemon.residentKilobytes < before + 8 << 10)
    expect(try endpoint.sample("credd_connections{transport=\"http\"}") <= 65)
    expect(try endpoint.sample("credd_limit_hits_total{limit=\"endpoint_connections\"}") > 1000)
    attacker.send(SIGKILL)
  }

  // MARK: Proxies

  @Test(.enabled(if: Programs.installed("curl") != nil, "takes curl"))
  func aRequestThatTakesTheEndpointForAProxyIsRefused() throws {
    let endpoint = try EndpointHost()
    let curl = try endpoint.host.run([
      "/usr/bin/curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}",
      "--noproxy", "", "--proxy", "http://127.0.0.1:\(endpoint.port)", "--header",
      "Authorization: \(try endpoint.token())",
      "http://127.0.0.1:\(endpoint.port)/credentials/default",
    ])
    expect(curl.output, equals: "400")
    expect(try endpoint.host.sandbox.callbacks, equals: 0)
  }
}
