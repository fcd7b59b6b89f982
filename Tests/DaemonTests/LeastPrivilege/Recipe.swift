import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// A recipe of docs/least-privilege.md on this host: its files in a folder, its configuration with the
/// sandbox's addresses, and its commands as they stand.
struct Recipe {
  static let page = "docs/least-privilege.md"

  let section: PageSection
  /// Where the recipe's files are, and where its commands run.
  let folder: String
  /// Programs that stand in for foreign ones.
  private let tools: String
  /// The page's credd.conf.
  private let text: String

  /// - Parameter title: as after `## `.
  init(_ title: String) throws {
    section = try PageSection(title, of: Self.page)
    text =
      try PageSection("Before you begin", of: Self.page).file("credd.conf")
      + section.file("credd.conf")
    folder = try Stage.current().newFile("recipe")
    tools = folder + "/tools"
    try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
    for block in section.blocks where block.language == "json" || block.name.contains("/aws") {
      let name = try #require(block.name.split(separator: "/").last.map(String.init))
      try write(block.text, to: name)
    }
  }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
  }

  /// A program of this name comes before the real one.
  func replace(_ program: String, with script: String) throws {
    try write("#!/bin/sh\n\(script)\n", to: "tools/\(program).sh")
  }

  /// A shell makes the programs: what this process writes, a child of another test may have open.
  private static let makePrograms =
    #"for script in tools/*.sh; do [ -e "$script" ] && install "$script" "${script%.sh}"; done"#

  // MARK: Configuration

  /// The page's credd.conf for this host.
  ///
  /// - Parameters:
  ///   - user: in place of the page's group and user; nil leaves them.
  ///   - socket: in place of the page's socket with a cap; nil leaves the section out.
  func configuration(_ sandbox: Sandbox, user: String?, socket: String? = nil) -> String {
    var text = text
    if socket == nil, let start = text.firstRange(of: "[socket ") {
      text = String(text[..<start.lowerBound])
    }
    for (old, new) in [
      ("https://tokens.example.com/cognito/token", sandbox.url + "/token\ntimeout = 60s"),
      (
        "eu-west-1:11111111-2222-3333-4444-555555555555",
        "\(Sandbox.pool)\ncognito_endpoint = \(sandbox.url)\nsts_endpoint = \(sandbox.url)"
      ), ("/etc/credd/policies", folder), ("/run/credd-agents/sock", socket ?? ""),
    ] { text = text.replacing(old, with: new) }
    guard let user else { return text }
    return text.replacing("allow_groups = staff", with: "allow_users = \(user)")
      .replacing("allow_users = builder", with: "allow_users = \(user)")
  }

  /// The user as whom the tests run.
  static let user = NSUserName()

  // MARK: Commands

  /// Runs commands of the page, which find credctl, its socket, and the stand-ins.
  func run(_ commands: String, at socket: String) throws -> TestHost.Outcome {
    let process = try ChildProcess(
      [
        "/bin/bash", "-c",
        "set -o pipefail; cd '\(folder)'; \(Self.makePrograms)\n\(onThisHost(commands))",
      ],
      environment: [
        "PATH": "\(tools):\(Programs.folder):/usr/bin:/bin", "CREDD_SOCKET": socket,
        "AWS_CONFIG_FILE": "/nonexistent",
      ])
    let status = try process.wait()
    return TestHost.Outcome(status: status, output: process.output, errors: process.errors)
  }

  /// A line with the package's credctl, for the one under test, which the shell finds.
  func onThisHost(_ text: String) -> String {
    text.replacing("/usr/bin/credctl", with: "credctl")
  }

  /// Has the partner's or the own administrator's commands make a role, in the sandbox.
  ///
  /// - Parameter missing: an action that the trust policy lacks.
  func makeRole(in sandbox: Sandbox, without missing: String = "-") throws {
    try replace("aws", with: #"printf '%s ' "$@" >> aws.log; echo >> aws.log"#)
    let made = try run(section.commands(with: "iam create-role"), at: "")
    expect(made.status, equals: 0, "\(made.errors)")
    let log = try String(contentsOfFile: folder + "/aws.log", encoding: .utf8)
    func word(after option: String) throws -> String {
      let words = log.split(whereSeparator: \.isWhitespace)
      return String(try #require(words.firstIndex(of: option[...]).map { words[$0 + 1] }, "\(log)"))
    }
    func file(_ option: String) throws -> String {
      let name = try word(after: option).replacing("file://", with: "")
      return try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
    }
    let arn = try #require(section.text.firstMatch(of: /role_arn = (\S+)/)).1
    expect(try arn.hasSuffix(":role/" + word(after: "--role-name")))
    try sandbox.makeRole(
      String(arn), trust: TrustPolicy(JSON(try file("--assume-role-policy-document"))),
      without: missing, policy: try file("--policy-document"))
  }
}

/// What a trust policy says, for the sandbox.
private struct TrustPolicy {
  var principals: Set<String> = []
  var externalID: String?
  var actions: Set<String> = []

  init(_ policy: JSON) throws {
    for statement in policy["Statement"]?.elements ?? [] {
      principals.formUnion(statement["Principal"]?["AWS"]?.texts ?? [])
      actions.formUnion(statement["Action"]?.texts ?? [])
      externalID =
        statement["Condition"]?["StringEquals"]?["sts:ExternalId"]?.text ?? externalID
    }
  }
}

extension Sandbox {
  fileprivate func makeRole(
    _ arn: String, trust: TrustPolicy, without missing: String, policy: String
  ) throws {
    let actions = trust.actions.subtracting([missing])
    // Without the action at all, nobody is trusted.
    let principals = actions.contains("sts:AssumeRole") ? trust.principals : ["arn:aws:iam::1:root"]
    let names = principals.map { #""\#($0)""# }.joined(separator: ",")
    let externalID = trust.externalID.map { #","ExternalId":"\#($0)""# } ?? ""
    try control(
      "POST", "role",
      #"{"Arn":"\#(arn)","TrustedPrincipals":[\#(names)]\#(externalID),"#
        + #""TagSession":\#(actions.contains("sts:TagSession")),"#
        + #""SetSourceIdentity":\#(actions.contains("sts:SetSourceIdentity")),"Policy":\#(policy)}"#
    )
  }

  /// Whether a key may do something, by all policies that there are.
  func may(
    _ key: String, _ action: String, _ resource: String, _ values: String = "{}"
  ) throws -> Bool {
    let reply = try control(
      "POST", "may",
      #"{"AccessKeyId":"\#(key)","Action":"\#(action)","Resource":"\#(resource)","Values":\#(values)}"#
    )
    return reply["Allowed"] == .bool(true)
  }
}

extension JSON {
  var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
  /// A text, or a list of texts.
  fileprivate var texts: [String] { text.map { [$0] } ?? elements.compactMap(\.text) }
}
