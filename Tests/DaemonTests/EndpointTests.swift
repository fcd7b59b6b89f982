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
    // The first use of the profile: there was no identity, which has the region.
    for name in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
      expect(lines.contains("\(name)=us-east-1"), "\(outcome)")
    }
    expect(!lines.contains { $0.contains("stray") })
    let prefix = "AWS_CONTAINER_AUTHORIZATION_TOKEN="
    let token = try #require(lines.first { $0.hasPrefix(prefix) }).dropFirst(prefix.count)
    expect(try endpoint.firstAnswer(String(token)).status, equals: 200)
    let failed = try endpoint.host.credctl("endpoint", "nothing")
    expect(failed.status != 0 && failed.output == "false\n")
  }

  @Test func withoutASignInTheRegionIsNotKnown() throws {
    let endpoint = try EndpointHost { Configuration.password($0, "allow_users = * root") }
    let outcome = try endpoint.host.credctl("endpoint")
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(!outcome.output.contains("REGION"), "\(outcome)")
    expect(
      outcome.errors,
      equals: "credctl: the region of profile 'default' is not known so far: set AWS_REGION\n")
    let own = try endpoint.host.run(
      [Programs.credctl, "--socket", endpoint.host.socketPath, "endpoint"],
      environment: ["AWS_REGION": "eu-west-1"])
    expect(own.output.contains("export AWS_DEFAULT_REGION='eu-west-1'"), "\(own)")
    expect(own.errors, equals: "")
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
    // Root need not wait for a minute.
    expect(try host.credctl("check").status, equals: 0)
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
