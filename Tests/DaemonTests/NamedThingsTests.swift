import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Every key of the configuration that names something outside of it, and everything that can be
/// wrong with that: `--check-config` says the line, the key and the name.
@Suite(.onStage)
struct NamedThingsTests {
  /// What a key names.
  enum Thing { case file, program, socket, user, group }

  /// A way in which a name leads nowhere.
  enum Fault: CaseIterable {
    case missing, directory, empty, notExecutable

    func concerns(_ thing: Thing) -> Bool {
      switch (self, thing) {
      case (.missing, _): true
      case (.directory, .file), (.directory, .program), (.directory, .socket): true
      case (.empty, .file): true
      case (.notExecutable, .program): true
      default: false
      }
    }
  }

  struct Key: CustomTestStringConvertible, Sendable {
    let name: String
    let thing: Thing
    /// The section, but for the key, and what else it takes.
    let section: String

    var testDescription: String { name }
  }

  private static let http = "[backend b]\ntype = http\nurl = https://auth.example.com/token\n"
  private static let cognito = "[backend b]\ntype = cognito\n"
  private static let pool =
    "[backend b]\ntype = user-pool\nuser_pool_id = us-east-1_AbCdEfGhI\nclient_id = 1example23456789\n"
  private static let provider =
    "[backend b]\ntype = oidc\nissuer = https://login.example.com\nclient_id = example\nredirect_uri = http://127.0.0.1/back\n"
  private static let profile = """
    [profile p]
    identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
    developer_provider = login.example.app
    backend = spare

    """

  static let keys = [
    Key(name: "bearer_token_file", thing: .file, section: http),
    Key(name: "ca_file", thing: .file, section: http),
    Key(name: "client_certificate", thing: .file, section: http + "client_key = /etc/hostname\n"),
    Key(name: "client_key", thing: .file, section: http + "client_certificate = /etc/hostname\n"),
    Key(name: "unix_socket", thing: .socket, section: http),
    Key(name: "header_file.NAME", thing: .file, section: http),
    Key(name: "command", thing: .program, section: "[backend b]\ntype = exec\n"),
    Key(
      name: "environment_file.NAME", thing: .file,
      section: "[backend b]\ntype = exec\ncommand = /bin/true\n"),
    Key(name: "client_secret_file", thing: .file, section: pool),
    Key(
      name: "client_assertion_key_file", thing: .file,
      section: provider + "client_authentication = private-key-jwt\n"),
    Key(name: "credentials_file", thing: .file, section: cognito),
    Key(name: "credential_process", thing: .program, section: cognito),
    Key(
      name: "policy_file", thing: .file,
      section: profile + "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app\n"),
    Key(
      name: "web_identity_token_file", thing: .file,
      section: profile.replacing("backend = spare\ndeveloper", with: "developer")
        + "web_identity_provider = accounts.google.com\n"),
    Key(name: "ca_file", thing: .file, section: profile),
    Key(name: "allow_users", thing: .user, section: profile),
    Key(name: "impersonate", thing: .user, section: profile + "allow_users = root\n"),
    Key(name: "allow_groups", thing: .group, section: profile),
    Key(name: "admin_group", thing: .group, section: "[daemon]\n"),
  ]

  private static let spare =
    "\n[backend spare]\ntype = http\nurl = https://auth.example.com/token\n"

  private func name(_ thing: Thing, _ fault: Fault) throws -> String {
    let path = try Stage.current().newFile("named")
    switch fault {
    case .missing: return thing == .user || thing == .group ? "nobody-of-here" : path
    case .directory:
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    case .empty: try Data().write(to: URL(filePath: path))
    case .notExecutable: try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: path))
    }
    // Nobody else may read it: that is another warning.
    if fault != .directory { unsafe chmod(path, 0o600) }
    return path
  }

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"), arguments: keys)
  func whateverIsWrongWithAThingIsSaidWithItsLine(_ key: Key) throws {
    for fault in Fault.allCases where fault.concerns(key.thing) {
      let name = try name(key.thing, fault)
      let file = try Stage.current().newFile("credd.conf")
      try Data("\(key.section)\(key.name) = \(name)\n\(Self.spare)".utf8)
        .write(to: URL(filePath: file))
      let credd = try ChildProcess([Programs.credd, "--config", file, "--check-config"])
      try credd.wait()
      let number = key.section.split(separator: "\n", omittingEmptySubsequences: false).count
      let said = credd.errors.split(separator: "\n").filter {
        $0.hasPrefix("\(file):\(number): ") && $0.contains(" \(key.name): ") && $0.contains(name)
      }
      expect(said.count, equals: 1, "\(fault): \(credd.errors)")
      let isOnlyLater =
        key.thing == .user || key.thing == .group
        || key.thing == .socket && fault == .missing
      expect(credd.status, equals: (isOnlyLater ? 0 : EX_CONFIG), "\(fault): \(credd.errors)")
    }
  }

  /// A key that names a file, a command or a group is in the list above.
  @Test func noKeyOfTheManualIsLeftOut() throws {
    let page = try Repository.text("docs/man/credd.conf.5")
    let named = page.split(separator: "\n").compactMap { line -> String? in
      let words = line.split(separator: " ")
      guard line.hasPrefix(".It Sy "), words.count >= 7, words[5] == "Ar",
        ["path", "command", "group"].contains(words[6])
      else { return nil }
      return String(words[2])
    }
    expect(named.count >= 11)
    expect(Set(named).isSubset(of: Self.keys.map(\.name)), "\(named)")
  }
}
