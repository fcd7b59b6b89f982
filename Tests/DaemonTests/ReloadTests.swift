import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// SIGHUP: the configuration is read anew, whole or not at all.
@Suite(.onStage)
struct ReloadTests {
  /// Writes another configuration and waits until credd has read it.
  private func reload(
    _ host: TestHost, _ text: String, until said: String = "configuration loaded"
  ) throws {
    try Data(text.utf8).write(to: URL(filePath: host.configurationPath))
    try host.reload(until: said)
  }

  private func profile(_ name: String, _ sandbox: Sandbox, _ keys: String = "") -> String {
    Configuration.profile(name, endpoint: sandbox.url, keys)
  }

  @Test
  func aBadConfigurationIsSaidAndTheOldOneStays() throws {
    let host = try TestHost()
    let before = try host.ask()
    try reload(
      host, Configuration.usual(host.sandbox, daemon: "max_conections = 5\nlog_level = loud"),
      until: "the new configuration is not used")
    expect(host.log.contains("credd.conf:2: unknown key 'max_conections'"))
    expect(try host.ask(), equals: before)
    let problem = try host.ask(#"{"op":"status"}"#)["Daemon"]?["ReloadError"]?.text
    // It names files, which are for administrators.
    if geteuid() == 0 {
      expect(problem?.contains("max_conections") ?? false)
      expect(problem?.hasSuffix("and 1 more") ?? false)
    } else {
      expect(problem == nil)
    }
    // Mended, the complaint is gone.
    try reload(host, Configuration.usual(host.sandbox))
    expect(try host.ask(#"{"op":"status"}"#)["Daemon"]?["ReloadError"] == nil)
    expect(try host.ask(), equals: before)
  }

  @Test(arguments: ["the file", "a fragment"])
  func aChangeThatWasNotReadIsToldToWhoAsksForIt(_ place: String) throws {
    let host = try TestHost()
    func refusal() throws -> String? {
      try host.ask(#"{"profile":"fresh","wait":0}"#)["Error"]?["Message"]?.text
    }
    let without = "there is no profile 'fresh'; known are default"
    expect(try refusal(), equals: without)
    let fresh = profile("fresh", host.sandbox)
    if place == "the file" {
      try host.configure { Configuration.usual($0) + fresh }
    } else {
      let folder = host.configurationPath + ".d"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(fresh.utf8).write(to: URL(filePath: folder + "/fresh.conf"))
    }
    let told =
      "credd's configuration has changed since it was read: 'kill -HUP \(host.daemon.pid)' applies it"
    // A look counts for a second.
    try Deadline.usual.wait(for: "another look") { try refusal() != without }
    expect(try refusal(), equals: "\(without) (\(told))")
    let status = try host.run([Programs.credctl, "--socket", host.socketPath, "status"])
    expect(status.output.contains(told), "\(status.output)")
    try host.reload()
    expect(try host.ask(#"{"profile":"fresh"}"#)["AccessKeyId"] != nil)
    expect(try host.ask(#"{"op":"status"}"#)["Daemon"]?["ReloadNeeded"] == nil)
  }

  /// No check before the reload sees what systemd gave to the service alone.
  @Test
  func aCredentialThatTheServiceCannotOpenIsSaidAndTheOldConfigurationStays() throws {
    let folder = try Stage.current().newFile("credentials")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let token = "bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token"
    let host = try TestHost(environment: ["CREDENTIALS_DIRECTORY": folder]) {
      Configuration.usual($0)
    }
    let before = try host.ask()
    let next = Configuration.usual(host.sandbox, backend: token) + profile("more", host.sandbox)
    try reload(host, next, until: "the new configuration is not used")
    expect(host.log.contains("bearer_token_file: cannot open '\(folder)/corp-token'"))
    expect(try host.ask(#"{"profile":"more"}"#).errorCode, equals: "UnknownProfile")
    expect(try host.ask(), equals: before)
    try Data("of-this-host\n".utf8).write(to: URL(filePath: folder + "/corp-token"))
    try reload(host, next)
    expect(try host.ask(#"{"op":"identity","profile":"more"}"#).errorCode == nil)
  }

  /// The start goes on with it, too: other profiles do not need it.
  @Test(arguments: [
    ("one\ntwo\n", "has more than one line"), ("\n", "holds nothing but white space"),
    ("", "is empty"),
  ])
  func aCredentialOfNoUseIsNamedAndTheReloadGoesOn(_ content: String, _ fault: String) throws {
    let folder = try Stage.current().newFile("credentials")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(content.utf8).write(to: URL(filePath: folder + "/corp-token"))
    let token = "bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token"
    let host = try TestHost(environment: ["CREDENTIALS_DIRECTORY": folder]) {
      Configuration.usual($0)
    }
    try reload(
      host, Configuration.usual(host.sandbox, backend: token) + profile("more", host.sandbox))
    expect(
      host.log.contains("bearer_token_file: '\(folder)/corp-token' \(fault)"), "\(host.log)")
    expect(try host.ask(#"{"op":"identity","profile":"more"}"#).errorCode == nil)
  }

  /// Neither the files of the service alone nor the others alone are a pair.
  @Test(
    .enabled(if: Programs.installed("openssl") != nil, "takes openssl"), arguments: [true, false])
  func aKeyOfTheServiceIsComparedWithACertificateElsewhere(_ isKey: Bool) throws {
    let folder = try Stage.current().newFile("credentials")
    let elsewhere = try Stage.current().newFile("elsewhere")
    let script = """
      set -eu; mkdir "$0" "$1"
      for name in own other; do
        openssl ecparam -name prime256v1 -genkey -noout -out "$0/$name.key"
        openssl req -x509 -new -key "$0/$name.key" -subj /CN=$name -days 2 -out "$0/$name.pem"
      done
      cp "$0"/* "$1"
      """
    let made = try ChildProcess(["/bin/sh", "-c", script, folder, elsewhere])
    try #require(try made.wait() == 0, "\(made.errors)")
    let (certificate, key) = isKey ? (elsewhere, folder) : (folder, elsewhere)
    func keys(_ name: String) -> String {
      "client_certificate = \(certificate)/own.pem\nclient_key = \(key)/\(name).key"
    }
    let host = try TestHost(environment: ["CREDENTIALS_DIRECTORY": folder]) {
      Configuration.usual($0)
    }
    let fault = "does not belong to the certificate in '\(certificate)/own.pem'"
    try reload(host, Configuration.usual(host.sandbox, backend: keys("own")))
    expect(!host.log.contains(fault), "\(host.log)")
    try reload(host, Configuration.usual(host.sandbox, backend: keys("other")))
    expect(
      host.log.contains("client_key: the private key in '\(key)/other.key' \(fault)"),
      "\(host.log)")
  }

  /// Before the first call that needs it. A file that is not there yet may come in time.
  @Test
  func aFileThatIsOfNoUseIsNamedAtTheStartAndAtAReload() throws {
    let stage = try Stage.current()
    let (token, other) = (stage.newFile("token"), stage.newFile("other"))
    try Data("one\ntwo\n".utf8).write(to: URL(filePath: token))
    try Data("\n".utf8).write(to: URL(filePath: other))
    let text = { (sandbox: Sandbox, path: String) in
      Configuration.usual(
        sandbox, backend: "bearer_token_file = \(path)\nca_file = /nonexistent/ca.pem")
    }
    let host = try TestHost { text($0, token) }
    let first = "bearer_token_file: '\(token)' has more than one line"
    try Deadline.usual.wait(for: "the warning") { host.log.contains(first) }
    expect(!host.log.contains("/nonexistent/ca.pem"))
    try reload(host, text(host.sandbox, other))
    expect(host.log.contains("bearer_token_file: '\(other)' holds nothing but white space"))
    expect(host.log.split(separator: "\n").count { $0.contains(first) }, equals: 1)
    // The call itself says so, too.
    try reload(host, Configuration.usual(host.sandbox, backend: "bearer_token_file = \(token)"))
    let reply = try host.ask()
    expect(reply.errorCode, equals: "BackendUnavailable")
    expect(
      reply.errorMessage?.contains("bearer_token_file \(token) has more than one line") == true,
      "\(reply)")
  }

  /// Each with what a call that needs it would say.
  enum Useless: CaseIterable {
    case empty, tooLarge, directory, closed, loop

    func make(at path: String) throws {
      switch self {
      case .empty: try Data().write(to: URL(filePath: path))
      case .tooLarge: try Data(repeating: 0x61, count: 65 << 10).write(to: URL(filePath: path))
      case .directory:
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      case .closed:
        try Data("one".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
      case .loop:
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
      }
    }

    func fault(_ path: String) -> String {
      switch self {
      case .empty: "'\(path)' is empty"
      case .tooLarge: "'\(path)' is larger than 65536 bytes"
      case .directory: "'\(path)' is a directory"
      case .closed: "cannot open '\(path)': Permission denied"
      case .loop: "cannot open '\(path)': Too many levels of symbolic links"
      }
    }

    /// Root opens what is closed.
    static var possible: [Useless] { allCases.filter { $0 != .closed || geteuid() != 0 } }
  }

  @Test(arguments: Useless.possible)
  func aFileThatCannotBeReadIsNamedAtTheStartAndAtAReload(_ file: Useless) throws {
    let stage = try Stage.current()
    let (token, other) = (stage.newFile("token"), stage.newFile("other"))
    for path in [token, other] { try file.make(at: path) }
    let text = { (sandbox: Sandbox, path: String) in
      Configuration.usual(sandbox, backend: "bearer_token_file = \(path)")
    }
    let host = try TestHost { text($0, token) }
    try Deadline.usual.wait(for: "the warning") {
      host.log.contains("bearer_token_file: \(file.fault(token))")
    }
    try reload(host, text(host.sandbox, other))
    expect(host.log.contains("bearer_token_file: \(file.fault(other))"), "\(host.log)")
  }

  @Test
  func aMissingFileChangesNothing() throws {
    let host = try TestHost()
    let before = try host.ask()
    try FileManager.default.removeItem(atPath: host.configurationPath)
    host.daemon.send(SIGHUP)
    try Deadline.usual.wait(for: "the complaint") {
      host.log.contains("is not used: cannot read \(host.configurationPath)")
    }
    expect(try host.ask(), equals: before)
  }

  @Test
  func logLevelAndLimitsChange() throws {
    let host = try TestHost(arguments: []) {
      Configuration.usual($0, daemon: "log_level = warning")
    }
    try host.ask()
    expect(!host.log.contains("credd: info:"))
    try reload(
      host,
      Configuration.usual(host.sandbox, daemon: "log_level = info\nmax_connections_per_user = 2"))
    try host.ask(#"{"refresh":true}"#)
    try Deadline.usual.wait(for: "the entry of the refresh") { host.log.contains("credd: info:") }
    let held = try host.servedConnections(2)
    expect(try host.ask().errorCode, equals: "TooManyRequests")
    expect(held.count, equals: 2)
  }

  @Test
  func manyHangUpsAtOnceEndInTheLatestConfiguration() throws {
    let host = try TestHost()
    for number in 0..<20 {
      try Data((Configuration.usual(host.sandbox) + profile("p\(number)", host.sandbox)).utf8)
        .write(to: URL(filePath: host.configurationPath), options: .atomic)
      host.daemon.send(SIGHUP)
    }
    try Deadline.usual.wait(for: "the latest configuration") {
      try host.ask(#"{"op":"identity","profile":"p19"}"#)["State"] != nil
    }
    expect(try host.ask(#"{"profile":"p18"}"#).errorCode, equals: "UnknownProfile")
  }
}
