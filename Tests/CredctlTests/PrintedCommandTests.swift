import ArgumentParser
import CredCore
import CredctlKit
import Foundation
import TestSupport
import Testing

@testable import credctl

/// Every command that a message advises works as it is printed: credctl's own parser takes it, and it names
/// the profile.
struct PrintedCommandTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Verbs that work without a profile.
  private static let withoutProfile: Set = [
    "help", "respond", "import", "ping", "status", "profiles", "metrics", "watch",
  ]

  /// The commands in a text. A quote, a bracket or a comma ends one.
  private func commands(_ text: String) -> [String] {
    text.matches(of: /credctl (?<words>[a-z][^',;()`|>"]*)/)
      .map { $0.words.trimmingCharacters(in: .whitespaces) }
  }

  private func expectParsed(_ command: String, namesProfile: Bool = true, _ place: String) {
    let words = command.split(separator: " ").map(String.init)
    do {
      _ = try Credctl.parseAsRoot(AccountArguments.inOrder(words))
    } catch {
      guard Credctl.exitCode(for: error) != .success else { return }
      Issue.record("\(place): 'credctl \(command)' is no command: \(Credctl.message(for: error))")
    }
    guard namesProfile, !Self.withoutProfile.contains(words[0]) else { return }
    let profiles = ["work", "staff", "maps", "club", "default", "demo"]
    let named = words.dropFirst().contains { profiles.contains($0) || $0 == "--all-profiles" }
    expect(named, "\(place): \(command)")
  }

  private func files(in folder: String, _ end: String) throws -> [URL] {
    let folder = Self.root.appending(path: folder)
    let paths = try #require(FileManager.default.enumerator(atPath: folder.path))
    return paths.compactMap { $0 as? String }.filter { $0.hasSuffix(end) }.sorted()
      .map { folder.appending(path: $0) }
  }

  @Test func thoseOfTheStories() throws {
    var count = 0
    for file in try files(in: "Tests/Data/Golden/stories", ".txt") {
      // A narrow terminal's lines are joined again.
      let text = try String(contentsOf: file, encoding: .utf8).replacing("\n  |   ", with: " ")
      for line in text.split(separator: "\n")
      // What a person typed may be wrong.
      where !line.contains(#/^[0-9:]+ [a-z]+[$#] /#) {
        for command in commands(String(line)) {
          count += 1
          expectParsed(command, file.lastPathComponent)
        }
      }
    }
    expect(count > 10, "\(count)")
  }

  /// Commands in quotes in the messages of the sources. Help texts name verbs in passing.
  @Test func thoseOfTheSources() throws {
    var count = 0
    for folder in ["CredCore", "CredService", "CredRuntime", "CredctlKit", "credd", "credctl"] {
      for file in try files(in: "Sources/\(folder)", ".swift")
      where !file.path.contains("credctl/Verbs") {
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        where !line.contains(/^ *\/\//) {
          for match in line.matches(of: /'credctl (?<words>[^']+)'/) {
            count += 1
            let words = match.words.replacing(#"\(answers)"#, with: "code=-")
              .replacing(/\\\([^()]*\)/, with: "work")
            expectParsed(String(words), "\(file.lastPathComponent): \(line)")
          }
        }
      }
    }
    expect(count >= 8, "\(count)")
  }

  /// The lines of the help that begin with a command.
  @Test func thoseOfTheHelp() throws {
    var count = 0
    for file in try files(in: "Sources/credctl", ".swift") {
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      where line.contains(/^ +credctl [a-z]/) {
        for command in commands(String(line)) {
          count += 1
          expectParsed(command, namesProfile: false, file.lastPathComponent)
        }
      }
    }
    expect(count > 15, "\(count)")
  }

  /// What credctl adds to each code of the protocol.
  @Test func thoseOfEachCode() {
    for code in ProtocolErrorCode.allCases {
      for kind in [nil, "signIn", "denied", "permanent"] {
        let refusal = Refusal(code: code.rawValue, message: "no", kind: kind)
        let failure = Failure(refusal, profile: "work")
        for command in commands(failure.message) { expectParsed(command, code.rawValue) }
        for command in commands(failure.advising(username: "carol", profile: "work").message)
        where command.hasPrefix("account") {
          expectParsed(command, code.rawValue)
          expect(command.hasSuffix("--username carol"), "\(command)")
        }
      }
    }
  }

  @Test func thoseAfterAnActionOfAnAccount() throws {
    func reply(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }
    let delivery = #"{"Delivery":{"Medium":"SMS","Destination":"+*11"}}"#
    let texts = [
      AccountReport.signedUp(try reply(delivery), "work", username: "carol"),
      AccountReport.signedUp(try reply("{}"), "work", username: "carol"),
      AccountReport.attributesSet(try reply(delivery), "work"),
      AccountReport.deviceForgotten(try reply(#"{"State":"signedOut"}"#), "work"),
      AdvisedCommand.account("mfa --preferred SOFTWARE_TOKEN_MFA", "work"),
      AdvisedCommand.account("reset-password", "work", username: "carol"),
      AdvisedCommand.text("serve", "work", "--token-only"),
    ]
    for text in texts {
      expect(commands(text).count, equals: 1, "\(text)")
      for command in commands(text) { expectParsed(command, text) }
    }
  }

  @Test func wordsThatAShellWouldChangeAreQuoted() {
    expect(
      AdvisedCommand.account("confirm", "wo rk", username: "a'b"),
      equals: #"credctl account 'wo rk' confirm --username 'a'\''b'"#)
  }
}

/// Who names no profile, where there is no profile `default`.
struct DefaultProfileTests {
  private func failure(_ code: String, _ message: String) -> Failure {
    Failure(Refusal(code: code, message: message), profile: "default")
  }

  @Test func theCommandsThatWorkAreNamed() {
    let unknown = failure("UnknownProfile", "there is no profile 'default'; known are work, staff")
    expect(unknown.isOfDefaultProfile)
    func named(_ names: [String], _ verb: String) -> Failure {
      unknown.naming(profiles(names), for: verb, isNamed: true)
    }
    expect(
      named(["work"], "get").line,
      equals: "credctl: there is no profile 'default': credctl get work\n")
    expect(
      named(["a", "b", "c", "d"], "login").message,
      equals: "there is no profile 'default': credctl login a, credctl login b, credctl login c")
    expect(
      named(["a", "b"], "exec").message,
      equals: "there is no profile 'default': name one with '--profile', such as a, b")
    expect(named(["default"], "get"), equals: unknown)
    let closed = failure("AccessDenied", "profile 'default' is not available to you")
    expect(closed.isOfDefaultProfile)
    expect(
      closed.naming(profiles(["work"]), for: "get", isNamed: true).message,
      equals: "profile 'default' is not available to you: credctl get work")
  }

  private func profiles(_ names: [String], forOthersAlone: String? = nil) -> JSONValue {
    let rows = names.map { name in
      JSONValue.object(
        [("Profile", .string(Secret(name))), ("Credentials", .bool(name != forOthersAlone))]
          .map { JSONMember(key: $0, keyOffset: 0, value: $1) })
    }
    return .object([JSONMember(key: "Profiles", keyOffset: 0, value: .array(rows))])
  }

  @Test func whoNamedNoProfileIsToldOfThoseThatAreOpen() {
    let unknown = failure("UnknownProfile", "there is no profile 'default'; known are work, staff")
    let open = profiles(["src", "staff", "work"], forOthersAlone: "src")
    expect(
      unknown.naming(open, for: "get").line,
      equals: "credctl: no profile was named; open to you: staff, work; name one, as in "
        + "'credctl get staff'\n")
    expect(
      unknown.naming(open, for: "login").message,
      equals: "no profile was named; open to you: src, staff, work; name one, as in "
        + "'credctl login src'")
    expect(
      unknown.naming(open, for: "exec").message,
      equals: "no profile was named; open to you: staff, work; name one, as in '--profile staff'")
    let many = unknown.naming(profiles((0..<11).map { "p\($0)" }), for: "get").message
    expect(many.contains("p9, …; name one"), "\(many)")
    expect(unknown.naming(profiles(["src"], forOthersAlone: "src"), for: "get"), equals: unknown)
  }

  @Test func rootMayCheckWhatItMayNotUse() {
    let text = "profile 'work' is not open to root: run it without sudo, or add root to allow_users"
    expect(
      failure("AccessDenied", text).namingCheckOfAll.message,
      equals: text + ", or 'credctl check --all-profiles'")
    let other = failure("AccessDenied", "profile 'work' is not available to 'bob'")
    expect(other.namingCheckOfAll, equals: other)
  }

  @Test(arguments: [
    ("UnknownProfile", "there is no profile 'work'"), ("AccessDenied", "only root may see it"),
    ("UnknownProfile", "no profile is configured on this host"),
    ("SignInRequired", "profile 'default' is not signed in"),
    ("AccessDenied", "profile 'default' is not served to root's HTTP clients"),
  ])
  func otherRefusalsStay(_ code: String, _ message: String) {
    expect(!failure(code, message).isOfDefaultProfile)
  }
}

/// A user's own credd, which hides the host's.
struct OwnDaemonTests {
  private let own = "/run/user/1004/credd/credd.sock"

  private func socket(_ argument: String? = nil) -> SocketPath {
    SocketPath(
      argument: argument, environment: { $0 == "XDG_RUNTIME_DIR" ? "/run/user/1004" : nil },
      exists: { $0 == own })
  }

  private func line(_ code: String, at socket: SocketPath, hasSystem: Bool = true) -> String {
    Failure(
      Refusal(code: code, message: "there is no profile 'work'; known are mine"), profile: "work"
    ).answered(at: socket) { _ in hasSystem }.line
  }

  @Test func aRefusalSaysWhichCreddItIsOf() {
    expect(
      line("UnknownProfile", at: socket()),
      equals:
        "credctl: there is no profile 'work'; known are mine (this is your own credd, \(own); "
        + "for the host's add --socket /run/credd/credd.sock)\n")
    expect(line("AccessDenied", at: socket()).contains("(this is your own credd, "))
  }

  @Test func whereNoneIsHiddenNothingIsSaid() {
    for text in [
      line("UnknownProfile", at: socket(), hasSystem: false),
      line("UnknownProfile", at: socket("/elsewhere")), line("UnknownProfile", at: .system),
      line("SignInRequired", at: socket()),
    ] {
      expect(!text.contains("own credd"), "\(text)")
    }
  }

  @Test func statusSaysItToo() throws {
    let reply = try JSONValue.parse(
      Array(#"{"Version":1,"Sessions":[],"Daemon":{"Version":"1","Pid":7}}"#.utf8))
    let text = StatusReport(
      reply, hidden: socket().hiddenSystem { _ in true }, now: WallTime(milliseconds: 0)
    ).rendered(on: TextTable.Display(width: nil, hasColour: false))
    expect(
      text,
      equals: """
        credd 1, pid 7
        this is your own credd, \(own); for the host's add --socket /run/credd/credd.sock
        no sessions

        """)
  }
}
