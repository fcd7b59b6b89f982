import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What README.md shows works.
@Suite(.onStage)
struct ReadmeTests {
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
    sample = compile(text, "README.md", "exec")
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

  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func theSampleBackendAnswersAsCreddExpects() throws {
    let stage = try Stage.current()
    let sample = try #require(
      Repository.blocks(of: "python", in: "README.md").first { $0.contains("TokenCallback") })
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
}
