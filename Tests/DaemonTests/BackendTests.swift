import Foundation
import Glibc
import Testing

/// The ways to reach a backend.
@Suite(.onStage)
struct BackendTests {
  @Test
  func postSendsTheQueryAndTheHeaders() throws {
    let host = try TestHost {
      Configuration.usual($0, backend: "header.X-Team = infra & co")
    }
    #expect(try host.ask()["AccessKeyId"] != nil)
    let request = try host.sandbox.lastRequest("token")
    #expect(request["Method"]?.text == "POST")
    #expect(request["Headers"]?["X-Team"]?.text == "infra & co")
    #expect(request["Headers"]?["Authorization"] == nil)
    #expect(
      try JSON(try #require(request["Body"]?.text))
        == JSON(
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
    #expect(try host.ask()["AccessKeyId"] != nil)
    let request = try host.sandbox.lastRequest("token")
    #expect(request["Method"]?.text == "GET")
    #expect(request["Path"]?.text == "/token/alice")
    #expect(request["Query"]?.text?.hasSuffix("&uid=\(getuid())") == true)
    #expect(request["Body"]?.text == "")
  }

  @Test
  func unixSocketIsUsedWhateverTheURLSays() throws {
    let path = try Stage.current().newFile("backend")
    let host = try TestHost(sandbox: ["--unix-socket", path]) { sandbox in
      Configuration.http(
        url: "http://backend.invalid/token", backend: "unix_socket = \(path)")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    #expect(try host.ask()["AccessKeyId"] != nil)
    #expect(
      try host.sandbox.lastRequest("token")["Headers"]?["Host"]?.text == "backend.invalid")
  }

  @Test
  func bearerTokenFileIsReadForEachCall() throws {
    let file = try Stage.current().newFile("bearer")
    try Data("wrong".utf8).write(to: URL(filePath: file))
    let host = try TestHost(sandbox: ["--backend-token", "the-right-one"]) {
      Configuration.usual($0, backend: "bearer_token_file = \(file)")
    }
    let refused = try host.credctl("get", "--wait", "1")
    #expect(refused.status == 77)
    #expect(refused.output.isEmpty)
    // Written by an editor, it ends in a newline.
    try Data("the-right-one\n".utf8).write(to: URL(filePath: file))
    try Deadline.usual.wait(for: "the sign-in") {
      try host.ask(#"{"wait":1}"#)["AccessKeyId"] != nil
    }
    #expect(
      try host.sandbox.lastRequest("token")["Headers"]?["Authorization"]?.text
        == "Bearer the-right-one")
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
    #expect(login["State"]?.text == "signedIn", "\(login)")
    let headers = try host.sandbox.lastRequest("token")["Headers"]
    #expect(headers?["Credd-Host-Authorization"]?.text == "Bearer of-the-host")
    #expect(headers?["Authorization"]?.text?.contains("of-the-host") == false)
    try Data("has-run-out".utf8).write(to: URL(filePath: file))
    let refused = try host.ask(#"{"refresh":true,"wait":30}"#)
    #expect(refused.errorCode == "BackendRejected")
    #expect(refused.errorMessage?.contains("bearer_token_file") == true)
    #expect(try host.state() == "signedIn")
    #expect(try host.ask()["AccessKeyId"] != nil)
    // The next refusal is no news.
    #expect(try host.logIn("alice").errorCode == "BackendRejected")
    #expect(host.log.components(separatedBy: "does not accept this host").count == 2)
    try Data("of-the-host".utf8).write(to: URL(filePath: file))
    try Deadline.usual.wait(for: "the host to be accepted") {
      try host.ask(#"{"refresh":true,"wait":1}"#)["AccessKeyId"] != nil
    }
    #expect(try host.ask(#"{"op":"logout","global":true}"#)["State"]?.text == "signedOut")
  }

  @Test
  func callerIsNamedToABackendThatWantsIt() throws {
    let host = try TestHost { Configuration.usual($0, backend: "send_caller = yes") }
    #expect(try host.ask(#"{"purpose":"nightly backup"}"#)["AccessKeyId"] != nil)
    let caller = try host.sandbox.lastBody("token")["Caller"]
    #expect(caller?["Uid"]?.number == Double(getuid()))
    #expect(caller?["Purpose"]?.text == "nightly backup")
    #expect(host.log.contains("purpose=nightly backup"))
  }

  @Test
  func missingBearerTokenFileIsNamed() throws {
    let file = try Stage.current().newFile("bearer")
    let host = try TestHost { Configuration.usual($0, backend: "bearer_token_file = \(file)") }
    let outcome = try host.credctl("get")
    #expect(outcome.status != 0)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("bearer_token_file"))
    #expect(outcome.errors.contains(file))
    #expect(try host.sandbox.callbacks == 0)
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
    #expect(try host.ask()["AccessKeyId"] != nil)
  }

  @Test
  func strangersCertificateIsRefused() throws {
    let tls = try Certificates()
    let trust = "ca_file = \(tls.folder)/server.pem"
    let wrong = "ca_file = \(tls.folder)/stranger.pem"
    let backend = try tlsHost(tls.server, backend: wrong, profile: trust)
    let refused = try backend.refusal(#"{"wait":1}"#)
    #expect(refused.errorCode == "BackendUnavailable")
    #expect(refused.errorMessage?.contains("certificate is not trusted") == true)
    #expect(try backend.sandbox.callbacks == 0)
    // Without ca_file the system's authorities count, and they do not know it either.
    let endpoint = try tlsHost(tls.server, backend: trust, profile: "")
    #expect(try endpoint.refusal(#"{"wait":1}"#).errorCode == "CognitoUnavailable")
    #expect(try endpoint.sandbox.exchanges == 0)
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
    #expect(try host("client").ask()["AccessKeyId"] != nil)
    let stranger = try host("stranger")
    #expect(try stranger.refusal(#"{"wait":1}"#).errorCode == "BackendUnavailable")
    #expect(try stranger.sandbox.callbacks == 0)
  }
}
