import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// The ways to reach a backend.
@Suite(.onStage)
struct BackendTests {
  @Test
  func postSendsTheQueryAndTheHeaders() throws {
    let host = try TestHost {
      Configuration.usual($0, backend: "header.X-Team = infra & co")
    }
    expect(try host.ask()["AccessKeyId"] != nil)
    let request = try host.sandbox.lastRequest("token")
    expect(request["Method"]?.text, equals: "POST")
    expect(request["Headers"]?["X-Team"]?.text, equals: "infra & co")
    expect(request["Headers"]?["Authorization"] == nil)
    expect(
      try JSON(try #require(request["Body"]?.text)),
      equals: try JSON(
        #"{"IdentityPoolId":"\#(Sandbox.pool)","DeveloperProviderName":"login.example.app","#
          + #""DeveloperUserIdentifier":"alice"}"#))
  }

  @Test
  func getSendsNothingButTheURL() throws {
    let host = try TestHost { sandbox in
      Configuration.http(
        url: sandbox.url + "/token/alice?host={host}&uid={uid}", backend: "method = GET")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    expect(try host.ask()["AccessKeyId"] != nil)
    let request = try host.sandbox.lastRequest("token")
    expect(request["Method"]?.text, equals: "GET")
    expect(request["Path"]?.text, equals: "/token/alice")
    expect(request["Query"]?.text?.hasSuffix("&uid=\(getuid())") == true)
    expect(request["Body"]?.text, equals: "")
  }

  @Test
  func unixSocketIsUsedWhateverTheURLSays() throws {
    let path = try Stage.current().newFile("backend")
    let host = try TestHost(sandbox: ["--unix-socket", path]) { sandbox in
      Configuration.http(
        url: "http://backend.invalid/token", backend: "unix_socket = \(path)")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    expect(try host.ask()["AccessKeyId"] != nil)
    expect(
      try host.sandbox.lastRequest("token")["Headers"]?["Host"]?.text, equals: "backend.invalid")
  }

  @Test
  func bearerTokenFileIsReadForEachCall() throws {
    let file = try Stage.current().newFile("bearer")
    try Data("wrong".utf8).write(to: URL(filePath: file))
    let host = try TestHost(sandbox: ["--backend-token", "the-right-one"]) {
      Configuration.usual($0, backend: "bearer_token_file = \(file)")
    }
    let refused = try host.get("--wait", "1")
    // No login helps.
    expect(refused.status, equals: 69)
    expect(refused.output.isEmpty)
    // Written by an editor, it ends in a newline.
    try Data("the-right-one\n".utf8).write(to: URL(filePath: file))
    try Deadline.usual.wait(for: "the sign-in") {
      try host.ask(#"{"wait":1}"#)["AccessKeyId"] != nil
    }
    expect(
      try host.sandbox.lastRequest("token")["Headers"]?["Authorization"]?.text,
      equals: "Bearer the-right-one")
  }

  /// The host's token and the user's are two: one that has run out says nothing of the other.
  @Test
  func hostsTokenStandsBesideTheUsersAndItsEndSignsNobodyOut() throws {
    let file = try Stage.current().newFile("bearer")
    try Data("of-the-host".utf8).write(to: URL(filePath: file))
    let host = try TestHost(sandbox: ["--backend-token", "of-the-host"]) {
      Configuration.password($0, backend: "bearer_token_file = \(file)")
    }
    let login = try host.logIn("alice")
    expect(login["State"]?.text, equals: "signedIn", "\(login)")
    let headers = try host.sandbox.lastRequest("token")["Headers"]
    expect(headers?["Credd-Host-Authorization"]?.text, equals: "Bearer of-the-host")
    expect(headers?["Authorization"]?.text?.contains("of-the-host") == false)
    try Data("has-run-out".utf8).write(to: URL(filePath: file))
    let refused = try host.ask(#"{"refresh":true,"wait":30}"#)
    expect(refused.errorCode, equals: "BackendRejected")
    expect(refused.errorMessage?.contains("bearer_token_file") == true)
    expect(try host.state(), equals: "signedIn")
    expect(try host.ask()["AccessKeyId"] != nil)
    // The next refusal is no news.
    let again = try host.answer { try host.logIn("alice") }
    expect(again.errorCode, equals: "BackendRejected")
    expect(host.log.components(separatedBy: "does not accept this host").count, equals: 2)
    try Data("of-the-host".utf8).write(to: URL(filePath: file))
    try Deadline.usual.wait(for: "the host to be accepted") {
      try host.ask(#"{"refresh":true,"wait":1}"#)["AccessKeyId"] != nil
    }
    expect(try host.ask(#"{"op":"logout","global":true}"#)["State"]?.text, equals: "signedOut")
  }

  @Test
  func callerIsNamedToABackendThatWantsIt() throws {
    let host = try TestHost { Configuration.usual($0, backend: "send_caller = yes") }
    expect(try host.ask(#"{"purpose":"nightly backup"}"#)["AccessKeyId"] != nil)
    let caller = try host.sandbox.lastBody("token")["Caller"]
    expect(caller?["Uid"]?.number, equals: Double(getuid()))
    expect(caller?["Purpose"]?.text, equals: "nightly backup")
    expect(host.log.contains("nightly backup"))
  }

  @Test
  func missingBearerTokenFileIsNamed() throws {
    let file = try Stage.current().newFile("bearer")
    let host = try TestHost { Configuration.usual($0, backend: "bearer_token_file = \(file)") }
    let outcome = try host.get()
    expect(outcome.status != 0)
    expect(outcome.output.isEmpty)
    expect(outcome.errors.contains("bearer_token_file"))
    expect(outcome.errors.contains(file))
    expect(try host.sandbox.callbacks, equals: 0)
  }

  // MARK: TLS

  private func tlsHost(
    _ options: [String], backend: String, profile: String
  ) throws -> TestHost {
    try TestHost(sandbox: options) { sandbox in
      Configuration.http(url: sandbox.tlsURL + "/token", backend: backend)
        + Configuration.profile("default", endpoint: sandbox.tlsURL, profile)
    }
  }

  @Test
  func authorityOfTheFileIsTrusted() throws {
    let tls = try Certificates()
    let trust = "ca_file = \(tls.folder)/server.pem"
    let host = try tlsHost(tls.server, backend: trust, profile: trust)
    expect(try host.ask()["AccessKeyId"] != nil)
  }

  @Test
  func strangersCertificateIsRefused() throws {
    let tls = try Certificates()
    let trust = "ca_file = \(tls.folder)/server.pem"
    let wrong = "ca_file = \(tls.folder)/stranger.pem"
    let backend = try tlsHost(tls.server, backend: wrong, profile: trust)
    let refused = try backend.refusal(#"{"wait":1}"#)
    expect(refused.errorCode, equals: "BackendUnavailable")
    expect(refused.errorMessage?.contains("certificate is not trusted") == true)
    expect(try backend.sandbox.callbacks, equals: 0)
    // Without ca_file the system's authorities count, and they do not know it either.
    let endpoint = try tlsHost(tls.server, backend: trust, profile: "")
    expect(try endpoint.refusal(#"{"wait":1}"#).errorCode, equals: "CognitoUnavailable")
    expect(try endpoint.sandbox.exchanges, equals: 0)
  }

  /// Speaks TLS up to a version, and says which was spoken with each client.
  private static let oldServer = """
    import ssl, socket, sys
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = getattr(ssl.TLSVersion, sys.argv[2])
    context.load_cert_chain(sys.argv[3] + "/server.pem", sys.argv[3] + "/server.key")
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        try:
            client = context.wrap_socket(client, server_side=True)
            print(client.version(), flush=True)
            client.recv(65536)
            client.sendall(b"HTTP/1.1 404 Not Found\\r\\nContent-Length: 0\\r\\n\\r\\n")
        except OSError:
            print("refused", flush=True)
        client.close()
    """

  /// Where the host's OpenSSL is configured to speak every version, which curl shows.
  @Test(
    .enabled(
      if: Programs.installed("curl") != nil && PythonScript.canRun, "takes curl(1) and python3"))
  func versionsBeforeTLS12AreRefusedWhateverTheHostAllows() throws {
    let (tls, options) = (try Certificates(), try Stage.current().newFile("openssl.cnf"))
    try Data(
      """
      openssl_conf = all
      [all]
      ssl_conf = modules
      [modules]
      system_default = old
      [old]
      MinProtocol = TLSv1
      CipherString = DEFAULT:@SECLEVEL=0

      """.utf8
    ).write(to: URL(filePath: options))
    let environment = ["OPENSSL_CONF": options]
    for (version, spoken) in [("TLSv1_1", "TLSv1.1"), ("TLSv1_2", "TLSv1.2")] {
      let server = try ChildProcess([
        try #require(Programs.installed("python3")), "-W", "ignore",
        try PythonScript(Self.oldServer).path, "", version, tls.folder,
      ])
      try Deadline.usual.wait(for: "the server") { server.output.hasSuffix("\n") }
      let url = "https://127.0.0.1:\(server.output.dropLast())/token"
      func heard() -> [Substring] { server.output.split(separator: "\n").dropFirst() + [] }
      let curl = try ChildProcess(
        [
          try #require(Programs.installed("curl")), "--silent", "--tlsv1.0", "--cacert",
          tls.folder + "/server.pem", url,
        ], environment: environment)
      expect(try curl.wait(), equals: 0, "\(curl.errors)")
      expect(heard().last, equals: Substring(spoken))
      let host = try TestHost(environment: environment) { sandbox in
        Configuration.http(url: url, backend: "ca_file = \(tls.folder)/server.pem")
          + Configuration.profile("default", endpoint: sandbox.url)
      }
      let before = heard().count
      let answer = try host.refusal(#"{"wait":10}"#)
      try Deadline.usual.wait(for: "credd") { heard().count > before }
      let isNew = version == "TLSv1_2"
      expect(heard()[before...].allSatisfy { $0 == (isNew ? Substring(spoken) : "refused") })
      expect(
        answer.errorCode, equals: (isNew ? "BackendRejected" : "BackendUnavailable"), "\(answer)")
    }
  }

  @Test
  func clientCertificateIsShown() throws {
    let tls = try Certificates()
    let options = tls.server + ["--tls-client-ca", tls.folder + "/client.pem"]
    func host(_ name: String) throws -> TestHost {
      try TestHost(sandbox: options) { sandbox in
        Configuration.http(
          url: sandbox.tlsURL + "/token",
          backend: """
            ca_file = \(tls.folder)/server.pem
            client_certificate = \(tls.folder)/\(name).pem
            client_key = \(tls.folder)/\(name).key
            """) + Configuration.profile("default", endpoint: sandbox.url)
      }
    }
    expect(try host("client").ask()["AccessKeyId"] != nil)
    let stranger = try host("stranger")
    expect(try stranger.refusal(#"{"wait":1}"#).errorCode, equals: "BackendUnavailable")
    expect(try stranger.sandbox.callbacks, equals: 0)
  }
}
