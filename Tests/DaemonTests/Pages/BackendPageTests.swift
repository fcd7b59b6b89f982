import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The backend that docs/backend.md shows works.
@Suite(.onStage)
struct BackendPageTests {
  private static let page = "docs/backend.md"

  /// Runs the sample with a Cognito of its own and sends it callbacks. Prints the answers, and the
  /// requests that reached Cognito.
  private static let driver = #"""
    import http.server, json, os, socket, sys, threading, types, urllib.error, urllib.request
    text = open(sys.argv[1]).read()
    calls, answers, faults = [], [], []

    class ClientError(Exception):
        def __init__(self, code):
            super().__init__(f"an error occurred ({code})")
            self.response = {"Error": {"Code": code}}

    class Cognito:
        def get_open_id_token_for_developer_identity(self, **request):
            calls.append(request)
            if faults:
                raise ClientError(faults.pop())
            user = request["Logins"]["login.example.app"]
            own = request.get("IdentityId", f"us-east-1:{user}-{len(calls)}")
            return {"IdentityId": own, "Token": f"token-{len(calls)}"}

    boto3, botocore = types.ModuleType("boto3"), types.ModuleType("botocore")
    boto3.client = lambda name: {"cognito-identity": Cognito()}[name]
    botocore.exceptions = types.ModuleType("botocore.exceptions")
    botocore.exceptions.ClientError = ClientError
    sys.modules.update({
        "boto3": boto3, "botocore": botocore, "botocore.exceptions": botocore.exceptions})

    ready, servers = threading.Event(), []
    class Server(http.server.ThreadingHTTPServer):
        def __init__(self, address, handler):
            assert address[0] == "127.0.0.1"
            handler.log_message = lambda *arguments: None
            super().__init__(("127.0.0.1", 0), handler)
            servers.append(self)
            ready.set()
    http.server.ThreadingHTTPServer = Server
    sample = compile(text, "callback.py", "exec")
    threading.Thread(target=lambda: exec(sample, {"__name__": "__main__"}), daemon=True).start()
    assert ready.wait(120)

    def ask(user, identity=None, token="host-token"):
        query = {"IdentityPoolId": "us-east-1:pool", "DeveloperProviderName": "login.example.app",
                 "DeveloperUserIdentifier": user}
        if identity:
            query["IdentityId"] = identity
        request = urllib.request.Request(
            f"http://127.0.0.1:{servers[0].server_port}/cognito/token",
            json.dumps(query).encode(), {"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                answers.append([reply.status, json.load(reply)])
        except urllib.error.HTTPError as error:
            answers.append([error.code, json.load(error)])

    ask("alice", token="another")
    ask("mallory")
    ask("alice", "us-east-1:of-bob")
    ask("alice", "us-east-1:of-bob")
    ask("bob", "us-east-1:alice-1")
    for code in ["TooManyRequestsException", "NotAuthorizedException"]:
        faults.append(code)
        ask("alice")
    # Whoever is not known is answered before anything of its body is read.
    for header in [b"", b"Authorization: Bearer h\xf6st\r\n"]:
        with socket.create_connection(("127.0.0.1", servers[0].server_port), 120) as stranger:
            stranger.sendall(b"POST /cognito/token HTTP/1.1\r\nContent-Length: 1000000\r\n"
                             + header + b"\r\n")
            answers.append([int(stranger.makefile("rb").readline().split()[1]), {}])
    print(json.dumps({"Answers": answers, "Calls": calls}))
    """#

  private static func sample() throws -> String {
    try #require(
      Repository.blocks(of: "python", in: page).first { $0.contains("TokenCallback") })
  }

  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func theSampleBackendAnswersAsCreddExpects() throws {
    let stage = try Stage.current()
    let sample = try Self.sample()
    let (code, driver, token, folder) = (
      stage.newFile("sample.py"), stage.newFile("driver.py"), stage.newFile("host-token"),
      stage.newFile("folder")
    )
    for (path, text) in [(code, sample), (driver, Self.driver), (token, "host-token\n")] {
      try Data(text.utf8).write(to: URL(filePath: path))
    }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // It makes its database in its own folder.
    let process = try ChildProcess(
      ["/bin/sh", "-c", "cd \"$1\" && exec python3 \"$2\" \"$3\"", "sh", folder, driver, code],
      environment: ["HOST_TOKEN_FILE": token])
    expect(try process.wait(), equals: 0, "\(process.errors)")
    let seen = try JSON(process.output)
    func answer(_ index: Int) -> JSON? { seen["Answers"]?[index] }
    expect(
      (0..<9).map { answer($0)?[0]?.number },
      equals: [401, 404, 200, 200, 200, 429, 502, 401, 401])
    expect(answer(1)?[1]?["message"]?.text, equals: "mallory has no account")
    expect(answer(2)?[1]?["IdentityId"]?.text, equals: "us-east-1:alice-1")
    expect(answer(2)?[1]?["Token"]?.text, equals: "token-1")
    expect(answer(5)?[1]?["message"]?.text?.contains("TooManyRequestsException") == true)
    // It never passes on an identity that a host sent, and remembers the one that it gave.
    let calls = seen["Calls"]
    expect(calls?.count, equals: 5)
    expect(calls?[0]?["IdentityId"] == nil)
    expect(calls?[1]?["IdentityId"]?.text, equals: "us-east-1:alice-1")
    expect(calls?[2]?["IdentityId"] == nil)
    expect(calls?[2]?["Logins"]?["login.example.app"]?.text, equals: "bob")
    expect(calls?[0]?["TokenDuration"]?.number, equals: 900)
  }

  private static let isWanted =
    ProcessInfo.processInfo.environment["CREDD_SKIP_REAL_CLIENTS"] != "1"

  /// The commands as they stand, but for the ports, which others may have, the environment of Python,
  /// which is made once, and the patience of a machine that runs a thousand other tests.
  @Test(.enabled(if: isWanted, "CREDD_SKIP_REAL_CLIENTS=1: takes PyPI"))
  func theTrialWithTheSandboxGivesCredentials() throws {
    let root = Repository.root.path
    let making = try ChildProcess(
      [
        root + "/scripts/python-venv", root + "/build/venv-demo",
        root + "/scripts/requirements-demo.txt",
      ], environment: ["HOME": NSHomeDirectory()])
    expect(try making.wait(.in(.seconds(600))), equals: 0, "\(making.errors)")
    let folder = try Stage.current().newFile("trial")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/venv", withDestinationPath: root + "/build/venv-demo")
    let port = "\(try FreePort.any())"
    try Data(Self.sample().replacing("8080", with: port).utf8)
      .write(to: URL(filePath: folder + "/callback.py"))
    let trial = try #require(
      try Repository.blocks(of: "sh", in: Self.page).first { $0.contains("credd-sandbox") }
    )
    .replacing("8080", with: port).replacing("4599", with: "\(try FreePort.any())")
    .replacing("type = http\n", with: "type = http\ntimeout = 60s\n")
    .replacing("get work", with: "get work --wait 120")
    let end = try #require(
      try Repository.text(Self.page).firstMatch(of: #/`(kill [^`]*)` ends the trial/#)
    ).output.1
    let process = try ChildProcess(
      [
        "/bin/bash", "-c",
        "trap 'kill $(jobs -p)' EXIT; cd '\(folder)'\n\(trial)\n\(trial)\n\(end); wait",
      ],
      environment: ["PATH": "\(Programs.folder):/usr/bin:/bin"])
    expect(try process.wait(), equals: 0, "\(process.errors)")
    // It can be repeated.
    let keys = process.output.matches(of: /"AccessKeyId":"ASIA/)
    expect(keys.count, equals: 2, "\(process.output)\(process.errors)")
    // Python's server writes a line for each request, credd what it does: never the host's token.
    let token = try String(contentsOfFile: folder + "/host-token", encoding: .utf8)
    expect(!process.errors.contains(token.trimmingCharacters(in: .newlines)))
  }
}
