import Foundation
import TestSupport
import Testing

/// Self-signed certificates for 127.0.0.1, each its own authority: `server`, `client`, `stranger`.
struct Certificates {
  let folder: String

  init() throws {
    folder = try Stage.current().newFile("tls")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["server", "client", "stranger"] {
      let openssl = try ChildProcess([
        try #require(Programs.installed("openssl")), "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
        "subjectAltName=IP:127.0.0.1", "-keyout", "\(folder)/\(name).key", "-out",
        "\(folder)/\(name).pem",
      ])
      expect(try openssl.wait(), equals: 0, "\(openssl.errors)")
    }
  }

  var server: [String] { options("server") }

  /// What makes a sandbox show one of them.
  func options(_ name: String) -> [String] {
    ["--tls-certificate", "\(folder)/\(name).pem", "--tls-key", "\(folder)/\(name).key"]
  }
}
