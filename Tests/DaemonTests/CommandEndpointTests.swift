import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl exec --renew` and `serve`: commands that get their credentials from an endpoint.
@Suite(.onStage)
struct CommandEndpointTests {
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

  /// Lines of Python: where the command's endpoint is, and `endpoint`, the process that has its listener
  /// open beside this one.
  private static let findEndpoint = """
    import os, signal, socket, subprocess, sys, time
    url, token = (os.environ["AWS_CONTAINER_" + n] for n in (
        "CREDENTIALS_FULL_URI", "AUTHORIZATION_TOKEN"))
    port = int(url.split(":")[2].split("/")[0])
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
}
