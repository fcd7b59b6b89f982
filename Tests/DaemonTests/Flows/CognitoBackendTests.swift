import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `type = cognito`: credd itself calls GetOpenIdTokenForDeveloperIdentity.
@Suite(.onStage)
struct CognitoBackendTests {
  private static let operation = "GetOpenIdTokenForDeveloperIdentity"
  private static let key = "AKIASANDBOXDEVELOPER"
  private static let secret = "sandbox-developer-secret"

  private func host(
    _ keys: String, environment: [String: String] = [:]
  ) throws -> TestHost {
    try TestHost(environment: environment) { sandbox in
      """
      [backend corp]
      type = cognito
      timeout = 60s
      cognito_endpoint = \(sandbox.url)
      \(keys)

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
  }

  private func credentialsFile(_ secret: String, to path: String? = nil) throws -> String {
    let file = try path ?? Stage.current().newFile("credentials")
    try Data(
      "[default]\naws_access_key_id = \(Self.key)\naws_secret_access_key = \(secret)\n".utf8
    ).write(to: URL(filePath: file))
    return file
  }

  private func expectSigned(_ host: TestHost) throws {
    let identity = try #require(try host.issued(host.credentials())["IdentityId"]?.text)
    expect(try host.identity(), equals: identity)
    let request = try host.sandbox.lastRequest(Self.operation)
    let day = #"\d{8}/us-east-1/cognito-identity/aws4_request"#
    let pattern = try Regex("^AWS4-HMAC-SHA256 Credential=\(Self.key)/\(day), ")
    let authorization = try #require(request["Headers"]?["Authorization"]?.text)
    expect(authorization.contains(pattern))
    expect(
      try host.sandbox.lastBody(Self.operation)["Logins"],
      equals: .object(["login.example.app": .string("alice")]))
    expect(!host.log.contains(Self.secret))
  }

  @Test
  func keysOfAFileSignTheCall() throws {
    let file = try credentialsFile(Self.secret)
    let host = try host(
      """
      credentials_file = \(file)
      token_duration = 24h
      principal_tags.team = infra
      principal_tags.login = u{uid}
      """)
    try expectSigned(host)
    let body = try host.sandbox.lastBody(Self.operation)
    expect(body["TokenDuration"]?.number, equals: 86_400)
    expect(
      body["PrincipalTags"],
      equals: .object(["team": .string("infra"), "login": .string("u\(getuid())")]))
    let token = try host.ask(#"{"op":"token"}"#)
    let lifetime = try #require(token["Expiration"]?.text?.timeFromNow)
    expect((86_000...86_401).contains(lifetime))
    // The token lasts: the next exchange needs no other.
    expect(try host.ask(#"{"op":"clear","what":"credentials"}"#).errorCode == nil)
    _ = try host.credentials()
    expect(try host.sandbox.calls("cognito." + Self.operation), equals: 1)
  }

  @Test
  func keysOfTheEnvironmentSignTheCall() throws {
    try expectSigned(
      host("", environment: ["AWS_ACCESS_KEY_ID": Self.key, "AWS_SECRET_ACCESS_KEY": Self.secret]))
  }

  @Test
  func keysOfAProcessSignTheCall() throws {
    let program = try Stage.current().newFile("process")
    let count = try Stage.current().newFile("count")
    try Data(
      """
      echo run >> \(count)
      echo '{"Version":1,"AccessKeyId":"\(Self.key)","SecretAccessKey":"\(Self.secret)"}'
      """.utf8
    ).write(to: URL(filePath: program))
    let host = try host("credential_process = /bin/sh \(program)")
    try expectSigned(host)
    // Keys without an end are asked for once.
    try host.ask(#"{"op":"clear","what":"identity"}"#)
    try expectSigned(host)
    expect(try String(contentsOfFile: count, encoding: .utf8), equals: "run\n")
  }

  @Test
  func wrongSecretIsSaidAndHealsWithTheFile() throws {
    let file = try credentialsFile("another-secret")
    let host = try host("credentials_file = \(file)")
    let refused = try host.ask()
    expect(refused.errorCode, equals: "BackendRejected")
    expect(refused.errorMessage?.contains("secret key") == true)
    expect(try host.sandbox.calls("cognito." + Self.operation), equals: 1)
    _ = try credentialsFile(Self.secret, to: file)
    try Deadline.usual.wait(for: "credentials") { try host.ask()["AccessKeyId"] != nil }
  }

  @Test
  func missingKeysAreNamed() throws {
    let host = try host("")
    let refused = try host.ask()
    expect(refused.errorMessage?.contains("credentials_file") == true, "\(refused)")
    expect(try host.sandbox.allCalls, equals: 0)
  }
}
