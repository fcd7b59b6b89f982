import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The main job: what a client gets where all is well.
@Suite(.onStage)
struct AnswerTests {
  @Test
  func emptyObjectGetsCredentialsInTheProcessFormat() throws {
    let host = try TestHost()
    let socket = try host.connect()
    try socket.send("{}\n")
    let line = try #require(try socket.line())
    expect(line.hasPrefix(#"{"Version":1,"AccessKeyId":"ASIA"#))
    let reply = try JSON(line)
    expect(
      reply.keys,
      equals: ["Version", "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"])
    let left = try #require(reply["Expiration"]?.text?.timeFromNow)
    expect((3300...3600).contains(left))
    // aws-sdk-go v1 reads no more than 8 KiB.
    expect(line.utf8.count < 8192)
  }

  @Test(arguments: ["{}", "{}\n", "\n\n{}\n"])
  func halfClosedClientStillGetsItsReply(_ request: String) throws {
    let host = try TestHost()
    let socket = try host.connect()
    try socket.send(request)
    socket.finishSending()
    let all = String(decoding: try socket.rest(), as: UTF8.self)
    expect(all.hasSuffix("\n"))
    expect(all.split(separator: "\n").count, equals: 1)
    expect(try JSON(all)["AccessKeyId"] != nil)
  }

  @Test(.enabled(if: Programs.installed("nc") != nil, "takes nc(1)"))
  func netcatGetsCredentials() throws {
    let host = try TestHost()
    let input = try Stage.current().newFile("input")
    try Data("{}\n".utf8).write(to: URL(filePath: input))
    let netcat = try ChildProcess(
      [try #require(Programs.installed("nc")), "-N", "-U", host.socketPath], input: input)
    expect(try netcat.wait(), equals: 0)
    expect(try JSON(netcat.output)["AccessKeyId"] != nil)
  }

  @Test
  func credctlPrintsTheDaemonsLineAndTheSecondCallComesFromTheCache() throws {
    let host = try TestHost()
    let first = try host.get()
    expect(first.status, equals: 0)
    expect(first.errors.isEmpty)
    let socket = try host.connect()
    try socket.send("{}\n")
    expect(try socket.line().map { $0 + "\n" }, equals: first.output)
    expect(try host.get("--profile", "default"), equals: first)
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  @Test
  func refreshFetchesAnewWithANewToken() throws {
    let host = try TestHost()
    let before = try JSON(try host.get().output)
    let refreshed = try host.credctl("get", "--refresh", "--wait", "120")
    expect(refreshed.status, equals: 0)
    expect(try JSON(refreshed.output)["AccessKeyId"] != before["AccessKeyId"])
    expect(try host.get().output, equals: refreshed.output)
    expect(try host.sandbox.exchanges, equals: 2)
    expect(try host.sandbox.callbacks, equals: 2)
  }

  @Test
  func minimumLifetimeIsKeptOrRefused() throws {
    let host = try TestHost()
    let enough = try host.ask(#"{"min_ttl":3000}"#)
    expect(try #require(enough["Expiration"]?.text?.timeFromNow) > 3000)
    expect(try host.ask(#"{"min_ttl":1800}"#), equals: enough)
    let tooMuch = try host.get("--min-ttl", "7200")
    expect(tooMuch.status, equals: 64)
    expect(tooMuch.output.isEmpty)
    expect(tooMuch.errors.contains("7200"))
    expect(try host.sandbox.exchanges, equals: 1)
  }

  @Test
  func tokenIsTheIdentitysOwnAndIsReused() throws {
    let host = try TestHost()
    let outcome = try host.credctl("token")
    expect(outcome.status, equals: 0)
    expect(outcome.errors.isEmpty)
    let reply = try JSON(outcome.output)
    expect(reply.keys, equals: ["Version", "IdentityId", "Token", "Expiration"])
    let claims = try Self.claims(try #require(reply["Token"]?.text))
    expect(claims["sub"], equals: reply["IdentityId"])
    expect(claims["aud"]?.text, equals: Sandbox.pool)
    expect(try host.credctl("token"), equals: outcome)
    expect(try host.ask()["AccessKeyId"] != nil)
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  private static func claims(_ token: String) throws -> JSON {
    var text = token.split(separator: ".").dropFirst().first.map(String.init) ?? ""
    text = text.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    return try JSON(String(decoding: Data(base64Encoded: text) ?? Data(), as: UTF8.self))
  }

  @Test
  func identityCallsNoServer() throws {
    let host = try TestHost()
    let before = try host.ask(#"{"op":"identity"}"#)
    expect(
      before,
      equals: .object([
        "Version": .number(1), "Profile": .string("default"),
        "State": .string("signedOut"),
      ]))
    expect(try host.sandbox.callbacks, equals: 0)
    let token = try host.ask(#"{"op":"token"}"#)
    let after = try host.ask(#"{"op":"identity","profile":"default"}"#)
    expect(after["State"]?.text, equals: "signedIn")
    expect(after["IdentityId"], equals: token["IdentityId"])
    expect(try host.credctl("identity").output.contains(try #require(after["IdentityId"]?.text)))
  }

  @Test
  func statusShowsSessionsAndNoSecret() throws {
    let host = try TestHost()
    expect(try host.credctl("status").output.contains("no sessions"))
    let credentials = try host.ask()
    let table = try host.credctl("status")
    expect(table.status, equals: 0)
    expect(table.errors.isEmpty)
    expect(
      table.output.contains(
        /PROFILE +USER +STATE +IDENTITY +EXPIRES +REFRESH +LAST CALLER +LAST ERROR +SIGNED IN BY/))
    expect(
      table.output.contains(/default +\S+ +signedIn +us-east-1:\S+ +in \d.+ host as \S+\n/),
      "\(table.output)")
    let json = try host.credctl("status", "--json")
    let status = try JSON(json.output)
    let session = try #require(status["Sessions"]?[0])
    expect(session["Profile"]?.text, equals: "default")
    expect(session["State"]?.text, equals: "signedIn")
    expect(session["Expiration"], equals: credentials["Expiration"])
    expect(status["Daemon"]?["Exchanges"]?.number, equals: 1)
    for key in ["AccessKeyId", "SecretAccessKey", "SessionToken"] {
      let secret = try #require(credentials[key]?.text)
      expect(!table.output.contains(secret))
      expect(!json.output.contains(secret))
    }
  }

  @Test
  func credctlListsTheProfilesThatAreOpen() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.direct($0, "social")
        + Configuration.direct($0, "closed", "allow_users = nobody-of-this-name")
    }
    let table = try host.credctl("profiles")
    expect(
      table,
      equals: TestHost.Outcome(
        status: 0,
        output: """
          PROFILE  SIGN-IN              SIGNED IN BY
          default  host, token, logins  -
          social   token, logins        -

          """,
        errors: ""))
    let json = try JSON(host.credctl("profiles", "--json").output)
    expect(json["Profiles"]?.count, equals: 2)
    expect(json["Profiles"]?[0]?["SignIn"]?["Means"]?[0]?.text, equals: "host")
  }

  @Test
  func statusShowsOneProfileAndNoErrorThatIsOver() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.profile("other", endpoint: $0.url)
    }
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"status","Status":403,"Count":1,"Body":"{}"}"#)
    expect(try host.refusal("{}").errorCode, equals: "BackendRejected")
    expect(try host.credctl("status").output.contains("BackendRejected"))
    try Deadline.usual.wait(for: "credentials") {
      try host.ask(#"{"wait":120}"#)["AccessKeyId"] != nil
    }
    _ = try host.credentials("other")
    let both = try host.credctl("status")
    expect(both.output.contains("\ndefault ") && both.output.contains("\nother "))
    expect(!both.output.contains("BackendRejected"))
    let one = try host.credctl("status", "--profile", "other")
    expect(!one.output.contains("\ndefault ") && one.output.contains("\nother "))
    expect(try host.credctl("status", "other").output.contains("\nother "))
    let json = try JSON(host.credctl("status", "other", "--json").output)
    expect(json["Sessions"]?.count, equals: 1)
    expect(json["Daemon"]?["Pid"] != nil)
  }

  /// A terminal of 80 columns, as a person has it.
  @Test(.enabled(if: PythonScript.canRun))
  func statusFitsATerminal() throws {
    let host = try TestHost()
    try host.ask()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"status","Status":503,"Count":-1}"#)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503,"Count":-1}"#)
    try host.ask(#"{"refresh":true,"wait":1}"#)
    let script = try PythonScript(
      """
      import fcntl, os, pty, struct, sys, termios
      read, write = os.pipe()
      child, terminal = pty.fork()
      if child == 0:
        os.read(read, 1)
        os.execve(sys.argv[2], [sys.argv[2], "--socket", sys.argv[1], "status"], {"TERM": "dumb"})
      fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
      os.write(write, b"x")
      text = b""
      try:
        while part := os.read(terminal, 4096): text += part
      except OSError: pass
      print(text.decode().replace("\\r", ""))
      """)
    let lines = try script.lines(host, [Programs.credctl])
    expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
    expect(lines.contains { $0.hasPrefix("default ") })
    expect(lines.contains { $0.contains("default of ") && $0.contains("Unavailable") })
  }

  @Test
  func pingNamesTheProcess() throws {
    let host = try TestHost()
    let pid = Double(host.daemon.pid)
    expect(try host.ask(#"{"op":"ping"}"#)["Daemon"]?["Pid"]?.number, equals: pid)
    let outcome = try host.credctl("ping")
    expect(outcome.status, equals: 0)
    expect(outcome.output.contains("pid \(host.daemon.pid)"))
  }

  @Test
  func idsComeBackAsTheyWereGiven() throws {
    let host = try TestHost()
    expect(try host.ask(#"{"op":"ping","id":"a\"b"}"#)["Id"], equals: .string("a\"b"))
    expect(try host.ask(#"{"op":"ping","id":-7}"#)["Id"], equals: .number(-7))
    expect(try host.ask(#"{"op":"nothing","id":"x"}"#)["Id"], equals: .string("x"))
    expect(try host.ask(#"{"id":1}"#)["Id"], equals: .number(1))
    expect(try host.ask(#"{"profile":"missing","id":2}"#)["Id"], equals: .number(2))
  }

  @Test
  func pipelinedRequestsAreAnsweredInOrder() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":0.3}"#)
    let operations = ["get", "ping", "identity", "token", "status", "nothing"]
    let socket = try host.connect()
    // The first one waits for upstream; nothing behind it may overtake it.
    let lines = (0..<600).map { #"{"op":"\#(operations[$0 % 6])","id":\#($0)}"# }
    try socket.send(lines.joined(separator: "\n") + "\n")
    for number in 0..<600 {
      let reply = try socket.reply()
      expect(reply["Id"], equals: .number(Double(number)))
      expect((reply["Error"] != nil), equals: (number % 6 == 5))
    }
  }

  @Test
  func requestInPiecesIsOneRequest() throws {
    let host = try TestHost()
    let socket = try host.connect()
    for byte in Array(#"{"op":"ping","id":"pieces"}"#.utf8) { try socket.send([byte]) }
    try socket.send("\n{\"op\":\"pi")
    expect(try socket.reply()["Id"]?.text, equals: "pieces")
    try socket.send("ng\"}\n")
    expect(try socket.reply()["Daemon"] != nil)
  }
}
