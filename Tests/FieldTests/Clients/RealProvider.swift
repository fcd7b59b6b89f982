import Foundation
import Testing

@testable import DaemonHarness

/// An OpenID Connect provider that nobody here wrote, with its user at a real browser.
final class RealProvider {
  enum Kind: String {
    /// Debian's.
    case glewlwyd
    /// PyPI's.
    case nanoidp
  }

  static let isWanted = PythonClients.isWanted

  let issuer: String
  let client: String
  let user: String
  let scopes: String
  /// Its own, where it listens.
  let port: UInt16
  private let python: String
  private let settings: String

  /// - Parameter redirectURI: as it is registered.
  init(_ kind: Kind, redirectURI: String) throws {
    python = try Self.environment() + "/bin/python"
    port = try FreePort.any()
    let stage = try Stage.current()
    let folder = stage.newFile(kind.rawValue)
    settings = stage.newFile("user")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let process = try ChildProcess([
      python, Self.script(kind.rawValue), folder, "\(port)", redirectURI,
    ])
    var ready = ""
    try Deadline.in(.seconds(150)).wait(for: "\(kind)") {
      if let status = process.status {
        throw Overdue("\(kind): it ended with \(status): \(process.errors)")
      }
      ready = process.output
      return ready.hasSuffix("\n")
    }
    try Data(ready.utf8).write(to: URL(filePath: settings))
    let values = try JSON(ready)
    func value(_ name: String) throws -> String { try #require(values[name]?.text) }
    (issuer, client) = (try value("Issuer"), try value("Client"))
    (user, scopes) = (try value("User"), try value("Scopes"))
  }

  /// The virtual environment of the provider and the browser's driver.
  private static func environment() throws -> String {
    for program in ["glewlwyd", "chromium", "chromedriver", "sqlite3", "openssl", "curl"] {
      try #require(
        Programs.installed(program) != nil,
        "\(program) is missing: 'make deps', or CREDD_SKIP_REAL_CLIENTS=1 to leave these tests out")
    }
    let root = Repository.root.path
    let folder = root + "/build/venv-oidc"
    var variables = ProcessInfo.processInfo.environment
    variables["HOME"] = variables["HOME"] ?? "/root"
    let making = try ChildProcess(
      [root + "/scripts/python-venv", folder, root + "/scripts/requirements-oidc.txt"],
      environment: variables)
    let status = try making.wait(.in(.seconds(600)))
    try #require(status == 0, "scripts/python-venv failed: \(making.errors)")
    return folder
  }

  private static func script(_ name: String) -> String {
    Repository.root.appending(path: "Tests/Data/Providers/\(name).py").path
  }

  /// The key in the logins map.
  var name: String { String(issuer.dropFirst("http://".count)) }

  /// What the provider answers to a request.
  func fetch(_ url: String, form: String? = nil) throws -> String {
    let curl = try #require(Programs.installed("curl"))
    let process = try ChildProcess(
      [curl, "-sS", "--noproxy", "*", "--max-time", "20"] + (form.map { ["-d", $0] } ?? []) + [url])
    try #require(try process.wait() == 0, "\(process.errors)")
    return process.output
  }

  func discovered(_ member: String) throws -> String {
    let document = try JSON(try fetch(issuer + "/.well-known/openid-configuration"))
    return try #require(document[member]?.text, "\(document)")
  }

  /// The command with which its user's browser opens a link, for `$BROWSER`.
  func browser() throws -> String {
    let script = try Stage.current().newFile("browser")
    let text = """
      #!/bin/sh
      exec '\(python)' '\(Self.script("browser"))' '\(settings)' "$1" >'\(settings).log' 2>&1
      """
    try Data(text.utf8).write(to: URL(filePath: script))
    // The kernel starts no file that a test, or a child that it is just starting, has open to write.
    return "/bin/sh \(script)"
  }

  /// Lets the browser open a page, sign in there, and come to a page with that text.
  func visit(_ url: String, until wanted: String) throws {
    let process = try ChildProcess([python, Self.script("browser"), settings, url, wanted])
    let status = try process.wait()
    try #require(status == 0, "\(process.errors)")
  }

  /// What the browser showed at last.
  func lastPage() throws -> String {
    let path = settings + ".page"
    try Deadline.usual.wait(for: "the browser's last page; \(browserLog)") {
      FileManager.default.fileExists(atPath: path)
    }
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  var browserLog: String { (try? String(contentsOfFile: settings + ".log", encoding: .utf8)) ?? "" }
}

/// What passed between credd and a provider.
final class Relay {
  let url: String
  private let path: String

  init(to origin: String) throws {
    path = try Stage.current().newFile("relay")
    let script = Repository.root.appending(path: "Tests/Data/Providers/relay.py").path
    let process = try ChildProcess([
      try #require(Programs.installed("python3")), script, origin, path,
    ])
    try Deadline.usual.wait(for: "the relay") { process.output.hasSuffix("\n") }
    url = "http://127.0.0.1:\(process.output.dropLast())"
  }

  /// The requests in their order: `Path`, `Form`, `Status`, `Reply`.
  var requests: [JSON] {
    get throws {
      let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      return try text.split(separator: "\n").map { try JSON(String($0)) }
    }
  }

  /// The refresh tokens that credd used, in their order.
  var usedRefreshTokens: [String] {
    get throws { try requests.compactMap { $0["Form"]?["refresh_token"]?.text } }
  }
}
