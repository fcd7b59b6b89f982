import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// The endpoint and the token socket on a host that lacks something: a module of the kernel,
/// descriptors, a configuration.
@Suite(.onStage, .enabled(if: PythonScript.canRun, "takes python3"))
struct EndpointTroubleTests {
  // MARK: A kernel without tcp_diag

  /// Runs a command for which questions to a netlink socket fail as on a kernel without the modules:
  /// with ENOENT.
  private static let withoutDiag = """
    import ctypes, os, struct, sys
    number = {"x86_64": 44, "aarch64": 206}[os.uname().machine]
    code = [(0x20, 0, 0, 0), (0x15, 0, 4, number),  # sendto(2)
            (0x20, 0, 0, 48), (0x15, 0, 3, 0), (0x20, 0, 0, 52), (0x15, 0, 1, 0),  # with an address
            (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050002)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    filter = struct.pack("@HxxxxxxQ", len(code), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.create_string_buffer(filter), 0, 0) == 0, ctypes.get_errno()
    os.execv(sys.argv[1], sys.argv[1:])
    """

  private func prefix() throws -> [String] {
    [try #require(Programs.installed("python3")), try PythonScript(Self.withoutDiag).path]
  }

  @Test(arguments: ["serve", "exec"])
  func whereTheKernelCannotSayWhoConnectsCredctlNamesTheModules(_ verb: String) throws {
    let host = try TestHost()
    let words = [verb] + (verb == "exec" ? ["--renew"] : [])
    func run(_ words: [String]) throws -> TestHost.Outcome {
      try host.run(
        try prefix() + [Programs.credctl, "--socket", host.socketPath] + words
          + ["--", "/bin/echo", "started"])
    }
    let refused = try run(words)
    expect(refused.status == 69 && refused.output.isEmpty, "\(refused)")
    expect(refused.errors.contains("modprobe tcp_diag"), "\(refused)")
    expect(refused.errors.contains("'credctl serve default --token-only'"), "\(refused)")
    expect(refused.errors.split(separator: "\n").count, equals: 1, "\(refused)")
    let trusting = try run(["serve", "--token-only"])
    expect(trusting.status == 0 && trusting.output == "started\n", "\(trusting)")
  }

  @Test func whereTheKernelCannotSayWhoConnectsCreddRefusesAndCheckSaysWhy() throws {
    let port = try FreePort.any()
    let host = try TestHost(
      arguments: ["--log-level", "debug", "--endpoint", "127.0.0.1:\(port)"], under: try prefix()
    ) { Configuration.usual($0, profile: "allow_users = * root") }
    try Deadline.usual.wait(for: "the endpoint") {
      try host.ask(#"{"op":"endpoint"}"#).errorCode != "EndpointOff"
    }
    expect(host.log.contains("the endpoint refuses everybody"), "\(host.log)")
    let token = try #require(try host.ask(#"{"op":"endpoint"}"#)["Token"]?.text)
    let socket = try StreamSocket(port: port)
    try socket.send(
      "GET /credentials/default HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: \(token)\r\n\r\n"
    )
    expect(String(decoding: try socket.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 403 "))
    let check = try host.credctl("check")
    expect(check.status == 69 && check.errors.contains("what failed: endpoint"), "\(check)")
    expect(check.output.contains("tcp_diag and inet_diag"), "\(check)")
  }

  // MARK: No descriptors

  /// A unit's token is fetched as the user `daemon`, whom the token socket believes by its uid alone.
  private static let fetch = """
    import socket, sys
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.bind("\\0" + sys.argv[3])
    s.connect(sys.argv[2])
    print("connected", flush=True)
    print(len(s.makefile().read()), flush=True)
    """

  private func limit(_ process: ChildProcess, to count: Int) throws {
    let outcome = try ChildProcess([
      try #require(Programs.installed("prlimit")), "--pid", "\(process.pid)", "--nofile=\(count):",
    ])
    expect(try outcome.wait(), equals: 0, "\(outcome.errors)")
  }

  /// Leaves a process none. The connection of the request before may close only now, and would leave
  /// one.
  private func takeDescriptors(_ process: ChildProcess) throws {
    func firstFree() throws -> Int {
      let open = try Set(
        FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").map { Int($0) })
      return try #require((0...open.count).first { !open.contains($0) })
    }
    var count: Int
    repeat {
      count = try firstFree()
      usleep(200_000)
    } while try firstFree() != count
    try limit(process, to: count)
  }

  /// Seconds of the processor that a process has used.
  private func processorTime(_ process: ChildProcess) throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)
    let fields = try #require(text.split(separator: ")").last).split(separator: " ")
    let ticks = try #require(Int(fields[11])) + (try #require(Int(fields[12])))
    return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  @Test(
    .enabled(if: OtherUser.canBe, "takes root"),
    .enabled(if: Programs.installed("prlimit") != nil, "takes prlimit(1)"))
  func withoutDescriptorsNothingSpinsAndEveryClientIsServedLater() throws {
    let endpoint = try EndpointHost()
    let host = endpoint.host
    let token = try endpoint.token()
    expect(try endpoint.firstAnswer(token).status, equals: 200)
    _ = unsafe chmod(URL(filePath: endpoint.tokenSocket).deletingLastPathComponent().path, 0o755)
    try takeDescriptors(host.daemon)

    let unit = try PythonScript(Self.fetch).start(
      host, as: .daemon, [endpoint.tokenSocket, "a1/unit/job@x.service/credd.default"])
    try Deadline.usual.wait(for: "the unit's client") { unit.output.contains("connected") }
    let http = try StreamSocket(port: endpoint.port)
    try http.send(endpoint.head(token, "Connection: close\r\n"))
    let client = try host.connect()
    try client.send("{}\n")
    let before = try processorTime(host.daemon)
    usleep(1_000_000)
    let used = try processorTime(host.daemon) - before
    // On a busy machine a loop that spins gets a part of a processor only.
    expect(used < 0.15, "\(used)")
    expect(unit.status == nil && host.daemon.status == nil)

    try limit(host.daemon, to: 1024)
    expect(try client.reply()["AccessKeyId"] != nil)
    expect(String(decoding: try http.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
    expect(try unit.wait(), equals: 0, "\(unit.errors)")
    expect(unit.output != "connected\n0\n", "\(unit.output)")
  }

  // MARK: What a command gives up

  /// As programs do that tell by the end of a pipe that they are ready.
  @Test func whatACommandClosesIsClosed() throws {
    let host = try TestHost()
    let script = try PythonScript(
      """
      import os, select, subprocess, sys
      r, w = os.pipe()
      os.dup2(w, 9)
      os.close(w)
      child = subprocess.Popen(
          [sys.argv[2], "--socket", sys.argv[1], "serve", "--", "/bin/sh", "-c",
           "exec 9>&-; read line"], stdin=subprocess.PIPE, pass_fds=[9])
      os.close(9)
      print("closed" if select.select([r], [], [], 20)[0] and not os.read(r, 1) else "open")
      print(child.poll())
      child.stdin.close()
      child.wait()
      """)
    expect(try script.lines(host, [Programs.credctl]), equals: ["closed", "None"])
  }

  // MARK: No configuration

  /// As systemd starts credd, with a token socket and an endpoint.
  private static let passing = """
    import os, socket, sys, time
    tokens = socket.socket(socket.AF_UNIX)
    tokens.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o666)
    endpoint = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=128)
    tokens.listen()
    for number, listener in enumerate([tokens, endpoint], 3):
        listener.setblocking(False)
        os.dup2(os.dup(listener.fileno()), 100 + number)
    for number in (3, 4):
        os.dup2(100 + number, number)
        os.close(100 + number)
    print("listening", flush=True)
    # Clients connect first: credd answers them for a second.
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.01)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="tokens:endpoint")
    os.execv(sys.argv[4], sys.argv[4:])
    """

  /// A mistake in the configuration keeps no unit from starting. A unit that would start without its
  /// token is named in the journal.
  @Test(.enabled(if: OtherUser.canBe, "takes root"))
  func withoutAConfigurationUnitsGetTheirTokensAndRefusalsAreLogged() throws {
    let stage = try Stage.current()
    let (path, port) = (stage.newFile("t"), try FreePort.any())
    let configuration = stage.newFile("credd.conf")
    try Data("[profile default]\nnonsense = 1\n".utf8).write(to: URL(filePath: configuration))
    let runtime = "/dev/shm/credd-closed-\(getpid())-\(port)"
    try FileManager.default.createDirectory(
      atPath: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: runtime) }
    let start = stage.newFile("start")
    let python = try #require(Programs.installed("python3"))
    let daemon = try ChildProcess(
      [
        python, try PythonScript(Self.passing).path, path, "\(port)", start, Programs.credd,
        "--config", configuration,
      ], environment: ["RUNTIME_DIRECTORY": runtime])
    try Deadline.usual.wait(for: "the sockets") { daemon.output.contains("listening") }
    _ = unsafe chmod(URL(filePath: path).deletingLastPathComponent().path, 0o755)
    let fetch = try PythonScript(Self.fetch).path
    let unit = try ChildProcess(
      try OtherUser.daemon.prefix + [
        python, fetch, "-", path, "b1/unit/job@x.service/credd.default",
      ])
    // Root is in no unit of that name.
    let stranger = try ChildProcess([
      python, fetch, "-", path, "b2/unit/job@x.service/credd.default",
    ])
    try Deadline.usual.wait(for: "the clients") {
      [unit, stranger].allSatisfy { $0.output.contains("connected") }
    }
    let http = try StreamSocket(port: port)
    try Data().write(to: URL(filePath: start))
    expect(try daemon.wait(), equals: 78)
    expect(String(decoding: try http.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 503 "))
    expect(try unit.wait() == 0 && unit.output != "connected\n0\n", "\(unit.output)")
    expect(try stranger.wait() == 0 && stranger.output == "connected\n0\n", "\(stranger.output)")
    expect(
      daemon.errors.contains(
        #"no endpoint token is given: the caller names the unit "job@x.service""#),
      "\(daemon.errors)")
  }
}
