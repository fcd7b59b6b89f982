import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Files that TLS takes, replaced while credd runs, and what TLS may write.
@Suite(.onStage)
struct TLSFilesTests {
  /// How a file is replaced.
  enum Way: CaseIterable {
    case rename
    case inPlace
    case renameAndReload
    case inPlaceAndReload

    var reloads: Bool { self == .renameAndReload || self == .inPlaceAndReload }
    var renames: Bool { self == .rename || self == .renameAndReload }
  }

  private let tls: Certificates

  init() throws {
    tls = try Certificates()
  }

  /// Makes a file of the configuration say what another one says.
  private func put(_ source: String, as path: String, _ way: Way = .inPlace) throws {
    let content = try Data(contentsOf: URL(filePath: "\(tls.folder)/\(source)"))
    guard way.renames else { return try content.write(to: URL(filePath: path)) }
    try content.write(to: URL(filePath: path + ".new"))
    let failed = unsafe rename(path + ".new", path)
    expect(failed, equals: 0)
  }

  /// One has credentials, the next is refused, and the last comes when all is well again: none waits
  /// for the pause after another's failure.
  private static let profiles = ["warm", "refused", "last"]

  private func profiles(_ endpoint: String, _ more: String = "") -> String {
    Self.profiles.map { Configuration.profile($0, endpoint: endpoint, more) }.joined()
  }

  private func refusal(_ host: TestHost) throws -> JSON {
    try host.refusal(#"{"profile":"refused","wait":1}"#)
  }

  /// The backend, and AWS's endpoint, each of which has kept a connection and a TLS session.
  @Test(arguments: Way.allCases, ["backend", "endpoint"])
  func anAuthorityThatIsTakenOutIsNotTrustedAtTheNextCall(_ way: Way, _ server: String) throws {
    let stage = try Stage.current()
    let (replaced, fixed) = (stage.newFile("ca"), stage.newFile("ca"))
    for path in [replaced, fixed] { try put("server.pem", as: path) }
    let isBackend = server == "backend"
    let host = try TestHost(sandbox: tls.server) { sandbox in
      Configuration.http(
        url: sandbox.tlsURL + "/token", backend: "ca_file = \(isBackend ? replaced : fixed)")
        + profiles(sandbox.tlsURL, "ca_file = \(isBackend ? fixed : replaced)")
    }
    _ = try host.credentials("warm")
    _ = try host.credentials("warm", refresh: true)
    let (callbacks, exchanges) = (try host.sandbox.callbacks, try host.sandbox.exchanges)
    try put("stranger.pem", as: replaced, way)
    if way.reloads { try host.reload() }
    let refused = try refusal(host)
    expect(
      refused.errorCode, equals: isBackend ? "BackendUnavailable" : "CognitoUnavailable",
      "\(refused)")
    expect(refused.errorMessage?.contains("certificate is not trusted") == true, "\(refused)")
    if isBackend { expect(try host.sandbox.callbacks, equals: callbacks) }
    expect(try host.sandbox.exchanges, equals: exchanges)
    // Others in the file do no harm.
    let both = try ["stranger.pem", "server.pem"].map {
      try String(contentsOfFile: "\(tls.folder)/\($0)", encoding: .utf8)
    }
    try Data(both.joined().utf8).write(to: URL(filePath: "\(tls.folder)/both.pem"))
    try put("both.pem", as: replaced, way)
    if way.reloads { try host.reload() }
    _ = try host.credentials("last")
  }

  @Test(arguments: Way.allCases)
  func aClientCertificateThatIsReplacedIsShownAtTheNextCall(_ way: Way) throws {
    let stage = try Stage.current()
    let (certificate, key) = (stage.newFile("certificate"), stage.newFile("key"))
    func put(_ name: String, _ way: Way) throws {
      try self.put(name + ".pem", as: certificate, way)
      try self.put(name + ".key", as: key, way)
    }
    try put("client", .inPlace)
    let host = try TestHost(
      sandbox: tls.server + ["--tls-client-ca", tls.folder + "/client.pem"]
    ) { sandbox in
      Configuration.http(
        url: sandbox.tlsURL + "/token",
        backend: """
          ca_file = \(tls.folder)/server.pem
          client_certificate = \(certificate)
          client_key = \(key)
          """) + profiles(sandbox.url)
    }
    _ = try host.credentials("warm")
    _ = try host.credentials("warm", refresh: true)
    let callbacks = try host.sandbox.callbacks
    try put("stranger", way)
    if way.reloads { try host.reload() }
    expect(try refusal(host).errorCode, equals: "BackendUnavailable")
    expect(try host.sandbox.callbacks, equals: callbacks)
    try put("client", way)
    if way.reloads { try host.reload() }
    _ = try host.credentials("last")
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
