import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What TLS may write.
@Suite(.onStage)
struct TLSFilesTests {
  private let tls: Certificates

  init() throws {
    tls = try Certificates()
  }

  /// Of those that libraries know, the one of which this host's libcurl makes a file.
  @Test
  func theSecretsOfTLSAreWrittenToNoFile() throws {
    let log = try Stage.current().newFile("keys")
    let trust = "ca_file = \(tls.folder)/server.pem"
    let host = try TestHost(sandbox: tls.server, environment: ["SSLKEYLOGFILE": log]) { sandbox in
      Configuration.http(url: sandbox.tlsURL + "/token", backend: trust)
        + Configuration.profile("default", endpoint: sandbox.tlsURL, trust)
    }
    _ = try host.credentials()
    let answer = try host.run(
      [Programs.credctl, "--socket", host.socketPath, "get"], environment: ["SSLKEYLOGFILE": log])
    expect(answer.status, equals: 0, "\(answer.errors)")
    expect(!FileManager.default.fileExists(atPath: log))
  }

  /// What the last test has to find.
  @Test(.enabled(if: Programs.installed("curl") != nil, "takes curl(1)"))
  func curlWritesTheSecretsOfTLS() throws {
    let log = try Stage.current().newFile("keys")
    let sandbox = try Sandbox(tls.server)
    let curl = try ChildProcess(
      [
        try #require(Programs.installed("curl")), "--silent", "--cacert",
        tls.folder + "/server.pem", sandbox.tlsURL + "/",
      ], environment: ["SSLKEYLOGFILE": log])
    expect(try curl.wait(), equals: 0, "\(curl.errors)")
    expect(try !Data(contentsOf: URL(filePath: log)).isEmpty)
  }
}
