import AuthCore
import AuthTestSupport
import Foundation
import Testing

extension ProgramTests {
  /// Answers as Cognito, and keeps with which key a request was signed.
  private static let cognito = """
    import http.server, json, signal, sys
    # The thread that starts it has SIGTERM blocked.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    class Cognito(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            with open(sys.argv[2], "a") as file:
                names = ("Authorization", "X-Amz-Security-Token")
                file.write(json.dumps([self.headers[name] for name in names]) + "\\n")
            body = json.dumps({"IdentityId": "us-east-1:00000000-0000-4000-8000-000000000000",
                               "Token": "t"}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *words): pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cognito)
    with open(sys.argv[1], "w") as file: file.write(f"{server.server_port}\\n")
    server.serve_forever()
    """

  /// credd itself gives the server its AWS credentials: `credential_process = credctl get`.
  @Test func credentialsComeFromCredd() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let folder = try TestFolder()
    func path(_ name: String) -> String { folder.path + "/" + name }
    try Self.cognito.write(toFile: path("cognito.py"), atomically: false, encoding: .utf8)
    try programs.start(
      "/usr/bin/python3", [path("cognito.py"), path("port"), path("requests")])
    let port = try Programs.wait("cognito.py") { () throws -> String? in
      let text = try? String(contentsOfFile: path("port"), encoding: .utf8)
      return text?.hasSuffix("\n") == true ? text?.trimmingCharacters(in: .newlines) : nil
    }
    // credd's own backend and Cognito are the sandbox.
    try """
    [backend corp]
    type = http
    url = \(programs.sandbox)/token
    [profile server]
    identity_pool_id = \(Programs.poolID)
    developer_provider = login.example.app
    backend = corp
    cognito_endpoint = \(programs.sandbox)
    """.write(toFile: path("credd.conf"), atomically: false, encoding: .utf8)
    let binaries = try #require(Programs.folder)
    let environment = ["STATE_DIRECTORY": folder.path, "PATH": "/usr/bin:/bin"]
    try programs.start(
      binaries + "/credd", ["--config", path("credd.conf"), "--socket", path("credd.sock")],
      environment: environment)
    let get = ["get", "--profile", "server", "--socket", path("credd.sock")]
    let keys = try Programs.wait("credd") { () throws -> [String: Any]? in
      guard let text = try? Command.run(binaries + "/credctl", get) else { return nil }
      return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    }
    let token = try programs.enrol("web1", "--vouches", "*")
    // The words of credential_process are separated by blanks, and the programs may lie below one.
    try FileManager.default.createSymbolicLink(
      atPath: path("credctl"), withDestinationPath: binaries + "/credctl")
    let command = ([path("credctl")] + get).joined(separator: " ")
    let server = try programs.serve(
      ["cognito": "http://127.0.0.1:\(port)", "aws": "credential_process = \(command)"],
      environment: ["PATH": "/usr/bin:/bin"])
    #expect(try server.callback(token, "alice").status == 200)
    let requests = try String(contentsOfFile: path("requests"), encoding: .utf8)
    let id = try #require(keys["AccessKeyId"] as? String)
    let session = try #require(keys["SessionToken"] as? String)
    #expect(requests.contains("Credential=\(id)/"))
    #expect(requests.contains(session))
  }
}
