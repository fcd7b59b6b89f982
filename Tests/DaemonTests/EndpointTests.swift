import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// HTTP clients of the real daemon, on loopback.
@Suite(.onStage)
struct EndpointTests {
  @Test func anHTTPClientGetsTheCredentialsOfTheSocket() throws {
    let endpoint = try EndpointHost()
    let answer = try endpoint.firstAnswer(try endpoint.token())
    expect(answer.status, equals: 200)
    let reply = try endpoint.host.ask()
    expect(reply["AccessKeyId"]?.text != nil)
    expect(answer.body["AccessKeyId"], equals: reply["AccessKeyId"])
    expect(answer.body["SecretAccessKey"], equals: reply["SecretAccessKey"])
    expect(answer.body["Token"], equals: reply["SessionToken"])
    expect(answer.body["Expiration"], equals: reply["Expiration"])
    expect(try endpoint.host.sandbox.callbacks, equals: 1)
  }

  @Test func statusSaysWhatIsOpen() throws {
    let endpoint = try EndpointHost()
    _ = try endpoint.get(try endpoint.token())
    let status = try endpoint.host.ask(#"{"op":"status"}"#)
    let listeners = status["Daemon"]?["Listeners"]
    let expected = [
      ("socket", endpoint.host.socketPath), ("endpoint", "127.0.0.1:\(endpoint.port)"),
      ("tokens", endpoint.tokenSocket),
    ]
    for (index, (kind, address)) in expected.enumerated() {
      expect(listeners?[index]?["Kind"]?.text, equals: kind)
      expect(listeners?[index]?["Address"]?.text, equals: address)
    }
    // The kernel names no process for a TCP connection.
    expect(status["Sessions"]?[0]?["LastCaller"]?["Pid"] == nil)
  }

  @Test func requestsOnAKeptConnectionAreAnsweredInOrder() throws {
    let endpoint = try EndpointHost()
    let token = try endpoint.token()
    _ = try endpoint.host.credentials()
    let socket = try StreamSocket(port: endpoint.port)
    // The third closes.
    try socket.send(
      endpoint.head(token) + endpoint.head(token) + endpoint.head(nil) + endpoint.head(token))
    let text = String(decoding: try socket.rest(), as: UTF8.self)
    let statuses = text.matches(of: #/HTTP/1\.1 (\d+)/#).map { String($0.1) }
    expect(statuses, equals: ["200", "200", "401"])
  }

  @Test func onlyARequestInTheOneFormIsRead() throws {
    let endpoint = try EndpointHost()
    let token = try endpoint.token()
    let good = endpoint.head(token)
    let wrong: [(String, Int)] = [
      (good.replacing("\r\n", with: "\n"), 400),
      (good.replacing("HTTP/1.1", with: "HTTP/1.0"), 400),
      (good.replacing("GET /", with: "GET http://127.0.0.1:\(endpoint.port)/"), 400),
      (good.replacing("GET", with: "POST"), 405), (good.replacing("GET", with: "OPTIONS"), 405),
      (endpoint.head(token, "Content-Length: 1\r\n") + "x", 400),
      (endpoint.head(token, "Transfer-Encoding: chunked\r\n"), 400),
      (endpoint.head(token, "Origin: http://evil.example\r\n"), 403),
      (endpoint.head(token, "Sec-Fetch-Mode: no-cors\r\n"), 403),
      (endpoint.head(token, "X-Forwarded-For: 10.0.0.1\r\n"), 403),
      (good.replacing("Host: 127.0.0.1", with: "Host: localhost"), 403),
      (endpoint.head(token, path: "/credentials%2Fdefault"), 404),
      (endpoint.head(token, path: "/"), 404), (endpoint.head(nil), 401),
      (endpoint.head(token + "x"), 401), (endpoint.head(token, path: "/credentials/work"), 401),
      ("*1\r\n$4\r\nPING\r\n", 400),
    ]
    for (text, status) in wrong {
      let answer = try endpoint.exchange(text)
      expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(text) → \(answer)")
      let body = try JSON(answer.components(separatedBy: "\r\n\r\n").last ?? "")
      expect(body["code"]?.text != nil && body["code"] == body["Code"])
      expect(body["message"]?.text != nil && body["message"] == body["Message"])
    }
    expect(try endpoint.host.sandbox.callbacks, equals: 0)
    // What was refused took nothing from others.
    expect(try endpoint.firstAnswer(token).status, equals: 200)
  }

  @Test func aHeadMayComeInPieces() throws {
    let endpoint = try EndpointHost()
    _ = try endpoint.host.credentials()
    let socket = try StreamSocket(port: endpoint.port)
    for byte in endpoint.head(try endpoint.token(), "Connection: close\r\n").utf8 {
      try socket.send([byte])
    }
    expect(String(decoding: try socket.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
  }

  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func anotherUserWithAStolenTokenGetsNothing() throws {
    let endpoint = try EndpointHost()
    let script = try PythonScript(
      """
      import socket, sys
      s = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
      s.settimeout(120)
      s.sendall(sys.argv[3].encode().decode("unicode_escape").encode())
      print(s.makefile().readline().split()[1])
      """)
    let token = try endpoint.token()
    let head = endpoint.head(token).replacing("\r\n", with: "\\r\\n")
    let port = "\(endpoint.port)"
    _ = try endpoint.host.credentials()
    expect(try script.lines(endpoint.host, as: .daemon, [port, head]), equals: ["401"])
    expect(try script.lines(endpoint.host, [port, head]), equals: ["200"])
    expect(
      endpoint.host.log.contains("the token was given to another user or unit"),
      "\(endpoint.host.log)")
  }

  @Test func tokensOutliveARestartAndACrash() throws {
    let endpoint = try EndpointHost()
    let token = try endpoint.token()
    expect(try endpoint.firstAnswer(token).status, equals: 200)
    for signal in [SIGTERM, SIGKILL] {
      try endpoint.host.restart(by: signal)
      var status = 0
      // It loads its crypto library first.
      try Deadline.usual.wait(for: "an answer of the next daemon") {
        status = (try? endpoint.get(token).status) ?? 503
        return status != 503
      }
      expect(status, equals: 200)
    }
  }

  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func aServiceManagerGetsATokenOfItsUser() throws {
    let endpoint = try EndpointHost()
    let script = try PythonScript(
      """
      import socket, sys
      s = socket.socket(socket.AF_UNIX)
      s.settimeout(120)
      s.bind("\\0" + sys.argv[3])
      s.connect(sys.argv[2])
      token = s.makefile().read()
      if not token:
          print("nothing")
          sys.exit()
      h = socket.create_connection(("127.0.0.1", int(sys.argv[4])))
      h.settimeout(120)
      h.sendall((f"GET /credentials/default HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n"
                 f"Authorization: {token}\\r\\n\\r\\n").encode())
      print(h.makefile().readline().split()[1])
      """)
    func status(_ name: String, as user: OtherUser?) throws -> [String] {
      try script.lines(
        endpoint.host, as: user,
        [endpoint.tokenSocket, name, "\(endpoint.port)"])
    }
    chmodParents(of: endpoint.tokenSocket)
    expect(try status("a1/unit/job@x.service/credd.default", as: .daemon), equals: ["200"])
    // A token for another profile opens nothing here.
    expect(try status("a2/unit/job@x.service/credd.other", as: .daemon), equals: ["401"])
    expect(try status("a3/unit/job@x.service/other", as: .daemon), equals: ["nothing"])
    // Root is in no unit of that name.
    expect(try status("a4/unit/job@x.service/credd.default", as: nil), equals: ["nothing"])
    expect(try status("a5/unit/mail@x.service/credd.default", as: nil), equals: ["nothing"])
    expect(try status("a6/unit/job@x.service/mail", as: nil), equals: ["nothing"])
    // One uid asks for all units of a host: each that starts without a token is named.
    let refused = "no endpoint token is given: the"
    for reason in [
      #"caller names the unit "job@x.service""#, #"caller names the unit "mail@x.service""#,
      #"credential "mail" of the unit "job@x.service" must be called credd.PROFILE"#,
    ] {
      expect(endpoint.host.log.contains("\(refused) \(reason)"), "\(endpoint.host.log)")
    }
  }

  /// The folder of the test must let other users through.
  private func chmodParents(of path: String) {
    let folder = URL(filePath: path).deletingLastPathComponent().path
    unsafe chmod(folder, 0o755)
  }

  @Test func credctlPrintsVariablesThatLeadThere() throws {
    let endpoint = try EndpointHost()
    let outcome = try endpoint.host.run(
      [
        "/bin/sh", "-c",
        """
        eval "$("$0" --socket "$1" endpoint)" && env && cat "$AWS_SHARED_CREDENTIALS_FILE"
        """, Programs.credctl, endpoint.host.socketPath,
      ],
      environment: [
        "PATH": "/usr/bin:/bin", "AWS_PROFILE": "stray", "AWS_ACCESS_KEY_ID": "stray",
        "no_proxy": "example.com",
      ])
    expect(outcome.status, equals: 0, "\(outcome.errors)")
    let lines = Set(outcome.output.split(separator: "\n").map(String.init))
    expect(
      lines.contains(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:\(endpoint.port)/credentials/default"))
    expect(lines.contains("no_proxy=example.com,127.0.0.1"))
    expect(lines.contains("NO_PROXY=127.0.0.1"))
    expect(!lines.contains { $0.contains("stray") })
    let prefix = "AWS_CONTAINER_AUTHORIZATION_TOKEN="
    let token = try #require(lines.first { $0.hasPrefix(prefix) }).dropFirst(prefix.count)
    expect(try endpoint.firstAnswer(String(token)).status, equals: 200)
    let failed = try endpoint.host.credctl("endpoint", "nothing")
    expect(failed.status != 0 && failed.output == "false\n")
  }

  /// Prints the access key that it fetches, as an SDK does.
  private static let fetch = """
    import json, os, urllib.request
    r = urllib.request.Request(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"], headers={
        "Authorization": os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"]})
    for _ in range(2):
        print(json.load(urllib.request.urlopen(r, timeout=120))["AccessKeyId"])
    print([name for name in os.environ if name.startswith("AWS_ACCESS")])
    print(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
    """

  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func aCommandThatRenewsGetsTheHostsEndpoint() throws {
    let endpoint = try EndpointHost()
    _ = try endpoint.host.credentials()
    let outcome = try endpoint.host.credctl(
      "exec", "--renew", "--", "/usr/bin/python3", "-c", Self.fetch)
    let key = try #require(try endpoint.host.ask()["AccessKeyId"]?.text)
    expect(
      outcome.output,
      equals: "\(key)\n\(key)\n[]\nhttp://127.0.0.1:\(endpoint.port)/credentials/default\n",
      "\(outcome.errors)")
  }

  @Test(.enabled(if: PythonScript.canRun, "takes python3"), arguments: ["exec", "serve"])
  func aCommandGetsAnEndpointOfItsOwnWhereThereIsNone(_ verb: String) throws {
    let host = try TestHost()
    let outcome = try host.credctl(
      [verb] + (verb == "exec" ? ["--renew"] : []) + ["--", "/usr/bin/python3", "-c", Self.fetch])
    let key = try #require(try host.ask()["AccessKeyId"]?.text)
    expect(outcome.status, equals: 0)
    expect(outcome.output.hasPrefix("\(key)\n\(key)\n[]\nhttp://127.0.0.1:"), "\(outcome.errors)")
  }

  /// Lines of Python: the process that has the listener of `port` open beside this one.
  private static let findEndpoint = """
    def sockets(pid):
        found = set()
        for number in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.add(os.readlink(f"/proc/{pid}/fd/{number}"))
            except OSError:
                pass
        return {name for name in found if name.startswith("socket:")}
    def is_listener(name):
        with open("/proc/net/tcp") as table:
            rows = [row.split() for row in table.readlines()[1:]]
        return any(f"socket:[{row[9]}]" == name and row[3] == "0A"
                   and int(row[1].split(":")[1], 16) == port for row in rows)
    own = {name for name in sockets("self") if is_listener(name)}
    endpoint = None
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(pid) != os.getpid() and sockets(pid) & own:
                endpoint = int(pid)
        except OSError:
            pass
    """

  /// A daemon that does not answer holds the endpoint in forty requests, seconds each.
  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func anEndpointOfOnesOwnEndsWithItsCommandAlsoInARequest() throws {
    let host = try TestHost()
    let script = try PythonScript(
      """
      import os, signal, socket, sys, time
      url, token = (os.environ["AWS_CONTAINER_" + n] for n in (
          "CREDENTIALS_FULL_URI", "AUTHORIZATION_TOKEN"))
      port = int(url.split(":")[2].split("/")[0])
      \(Self.findEndpoint)
      before = sockets(endpoint)
      os.kill(int(sys.argv[1]), signal.SIGSTOP)
      lines = ["GET /credentials/default HTTP/1.1", "Host: 127.0.0.1", f"Authorization: {token}"]
      client = socket.create_connection(("127.0.0.1", port))
      client.sendall((chr(13) + chr(10)).join(lines + ["", ""]).encode() * 40)
      # One is the client's connection, the other leads to the daemon.
      while len(sockets(endpoint) - before) < 2:
          time.sleep(0.01)
      print(port)
      """)
    defer { host.daemon.send(SIGCONT) }
    let outcome = try host.credctl(
      "serve", "--", "/usr/bin/python3", script.path, String(host.daemon.pid))
    let port = try #require(
      outcome.output.split(separator: "\n").last.flatMap { UInt16($0) }, "\(outcome)")
    try Deadline.usual.wait(for: "the endpoint's end") {
      (try? StreamSocket(port: port)) == nil
    }
  }

  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func anEndpointOfOnesOwnIsClosedToOthersAndEndsWithItsCommand() throws {
    let host = try TestHost()
    let script = try PythonScript(
      """
      import os, signal, socket, subprocess, sys
      url, token = (os.environ["AWS_CONTAINER_" + n] for n in (
          "CREDENTIALS_FULL_URI", "AUTHORIZATION_TOKEN"))
      port = int(url.split(":")[2].split("/")[0])
      \(Self.findEndpoint)
      # As a service manager does that stops a unit, whose program may take its time.
      os.kill(endpoint, signal.SIGTERM)
      print(os.readlink(f"/proc/{endpoint}/fd/1"))
      ask = "; ".join([
          "import socket",
          f"s = socket.create_connection(('127.0.0.1', {port}))",
          "s.settimeout(120)",
          f"h = ['GET /credentials/default HTTP/1.1', 'Host: 127.0.0.1', 'Authorization: {token}']",
          "s.sendall((chr(13) + chr(10)).join(h + ['', '']).encode())",
          "print(s.makefile().readline().split()[1])"])
      crowd = "; ".join([
          "import socket",
          f"s = [socket.create_connection(('127.0.0.1', {port})) for _ in range(100)]",
          "print('there', flush=True)",
          "input()"])
      daemon = ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "--"]
      def run(words):
          print(subprocess.run(words + [sys.executable, "-c", ask], capture_output=True,
                               text=True).stdout.strip())
      run([])
      run(daemon)
      # Others that say nothing keep nobody out.
      silent = subprocess.Popen(daemon + [sys.executable, "-c", crowd], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
      silent.stdout.readline()
      run([])
      silent.kill()
      print(port)
      """)
    let outcome = try host.credctl("serve", "--", "/usr/bin/python3", script.path)
    let lines = outcome.output.split(separator: "\n").map(String.init)
    expect(
      lines.count == 5 && lines.prefix(4) == ["/dev/null", "200", "403", "200"], "\(outcome)")
    let port = try #require(lines.last.flatMap { UInt16($0) })
    try Deadline.usual.wait(for: "the endpoint's end") {
      (try? StreamSocket(port: port)) == nil
    }
  }

  @Test func oneUserHasABoundedNumberOfConnections() throws {
    let endpoint = try EndpointHost()
    let token = try endpoint.token()
    var silent = try (0..<64).map { _ in try StreamSocket(port: endpoint.port) }
    let last = try StreamSocket(port: endpoint.port)
    expect(String(decoding: try last.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 429 "))
    // One that ends makes room; on a slow machine the daemon has ended some by then.
    silent.removeLast()
    try Deadline.usual.wait(for: "room for a connection") {
      let next = try StreamSocket(port: endpoint.port)
      try next.send(endpoint.head(token, "Connection: close\r\n"))
      return String(decoding: try next.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 200 ")
    }
  }

  @Test func aPortThatEveryUserMayTakeIsWarnedOf() throws {
    let endpoint = try EndpointHost()
    expect(endpoint.host.log.contains("every user of this host may listen on port"))
  }

  @Test func withoutAnEndpointTheClientIsToldSo() throws {
    let host = try TestHost()
    let reply = try host.ask(#"{"op":"endpoint"}"#)
    expect(reply.errorCode, equals: "EndpointOff")
    expect(try host.credctl("endpoint").status, equals: 69)
  }

  // MARK: Commands that renew

  @Test(arguments: ["exec", "serve"])
  func theCommandsStatusAndProcessAreItsOwn(_ verb: String) throws {
    let host = try TestHost()
    let words = [verb] + (verb == "exec" ? ["--renew"] : []) + ["--"]
    expect(try host.credctl(words + ["/bin/sh", "-c", "exit 7"]).status, equals: 7)
    expect(try host.credctl(words + ["/nothing"]).status, equals: 127)
    let process = try ChildProcess(
      [Programs.credctl, "--socket", host.socketPath] + words + [
        "/bin/sh", "-c", "echo $$; exec sleep 60",
      ])
    try Deadline.usual.wait(for: "the command") { process.output.contains("\n") }
    expect(process.output, equals: "\(process.pid)\n")
    process.send(SIGTERM)
    expect(try process.wait(), equals: 128 + SIGTERM)
  }

  /// Perl's `while (wait() > 0) {}`, Python's `os.wait()` and supervisors wait for every child there is.
  @Test(.enabled(if: PythonScript.canRun, "takes python3"), arguments: ["exec", "serve"])
  func theCommandHasNoChildThatItDidNotMake(_ verb: String) throws {
    let host = try TestHost()
    let script = """
      import os
      print(open(f"/proc/self/task/{os.getpid()}/children").read())
      try:
          print(os.waitpid(-1, os.WNOHANG))
      except ChildProcessError:
          print("none")
      print(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"][:7])
      """
    let outcome = try host.credctl(
      [verb] + (verb == "exec" ? ["--renew"] : []) + ["--", "/usr/bin/python3", "-c", script])
    expect(outcome.output, equals: "\nnone\nhttp://\n", "\(outcome)")
  }

  @Test func theEndpointServesWithoutACommandUntilItIsInterrupted() throws {
    let host = try TestHost()
    let process = try ChildProcess([Programs.credctl, "--socket", host.socketPath, "serve"])
    defer { process.send(SIGTERM) }
    try Deadline.usual.wait(for: "the variables") { process.output.contains("NO_PROXY") }
    let outcome = try host.run([
      "/bin/sh", "-c",
      """
      eval "$(cat "$0")" && curl --silent --noproxy '*' \\
        --header "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" \\
        "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
      """, process.outputPath,
    ])
    expect(try JSON(outcome.output)["AccessKeyId"], equals: try host.ask()["AccessKeyId"])
    process.send(SIGINT)
    try process.wait()
  }

  @Test func aSourceOfCredentialsThatComesBeforeTheEndpointIsNamed() throws {
    let host = try TestHost()
    let file = try Stage.current().newFile("aws-config")
    try Data("[default]\nregion = a\ncredential_process = /bin/false\n".utf8)
      .write(to: URL(filePath: file))
    func run(_ options: String...) throws -> TestHost.Outcome {
      try host.run(
        [Programs.credctl, "--socket", host.socketPath, "exec", "--renew"] + options + [
          "--", "/bin/sh", "-c", "echo $AWS_CONFIG_FILE",
        ], environment: ["AWS_CONFIG_FILE": file])
    }
    let warned = try run()
    expect(warned.output, equals: file + "\n")
    expect(warned.errors.contains("has credential_process"))
    let hidden = try run("--no-config")
    expect(hidden.output == "/dev/null\n" && hidden.errors.isEmpty)
    expect(try host.credctl("exec", "--no-config", "--", "true").status, equals: 64)
  }

  // MARK: Each step of a sign-in

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func aCheckSaysWhichStepsAreRight() throws {
    let host = try TestHost()
    expect(try host.ask()["AccessKeyId"] != nil)
    let outcome = try host.credctl("check")
    expect(outcome.status, equals: 0, "\(outcome)")
    for name in [
      "backend corp", "cognito-identity", "token", "GetCredentialsForIdentity", "credentials",
    ] {
      expect(outcome.output.contains(name), "\(outcome.output)")
    }
    // Root sees where.
    expect(outcome.output.contains("127.0.0.1 port \(host.sandbox.port)"))
    let again = try host.credctl("check")
    expect(again.status == 75 && again.errors.contains("less than a minute ago"))
  }

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func aCheckNamesWhatFails() throws {
    let host = try TestHost { sandbox in
      Configuration.http(url: "http://127.0.0.1:1/token")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    let outcome = try host.credctl("check", "--all-profiles", "--json")
    expect(outcome.status, equals: 69)
    expect(outcome.errors.contains("what failed: backend corp"))
    expect(try JSON(outcome.output)["Ok"], equals: .bool(false))
  }
}
