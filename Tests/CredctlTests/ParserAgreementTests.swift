import ArgumentParser
import CredctlKit
import TestSupport
import Testing

@testable import credctl

/// ArgumentParser accepts every command line that ``FastCommand`` accepts, with the same meaning.
struct ParserAgreementTests {
  private func byArgumentParser(_ arguments: [String]) throws -> FastCommand? {
    try (Credctl.parseAsRoot(arguments) as? any FastVerb)?.fastCommand()
  }

  @Test(arguments: [
    ["get"], ["--socket", "/a", "get", "-p", "work", "--user", "x", "--refresh", "--min-ttl=1.5"],
    ["get", "--wait", "1", "--wait=2", "--profile", "a", "-p", "b", "--refresh", "--refresh"],
    ["get", "--profile=-x", "--user=a=b", "--socket=/a b", "-p=c"],
    ["get", "--profile", "größe", "--user", "\u{1F600}"],
    ["env"], ["--socket=/a", "env", "--format", "fish", "--socket", "/b"],
    ["env", "--format=json", "--format", "dotenv", "--min-ttl", "0", "--refresh"],
    ["exec", "--", "true"], ["exec", "--refresh", "-p", "work", "--", "sh", "-c", "exit 3", "--"],
    ["--socket=/a", "exec", "--wait=0.2", "--", "--", "get", "--socket", "/b", "-h", "--version"],
    ["exec", "--", "", "--help"],
    ["ping"], ["ping", "--json", "--json"], ["--socket", "/a", "--socket=/b", "ping"],
    ["ping", "--socket=/a", "--socket", "/b", "--json"], ["ping", "--timeout=7"],
    ["get", "work"], ["get", "--refresh", "work", "--user", "x"],
    ["env", "work", "--format", "sh"],
    ["exec", "work", "--", "sh", "-c", "true"], ["exec", "--wait", "1", "work", "--", "--"],
  ])
  func bothUnderstandTheSame(_ arguments: [String]) throws {
    let command = try #require(try FastCommand(arguments[...]))
    expect(try byArgumentParser(arguments), equals: command)
  }

  private static let words = [
    "--socket", "--socket=/s", "-p", "--profile=x", "--profile=", "--min-ttl", "--wait=1",
    "--refresh", "--refresh=1", "--format=json", "--json", "--user", "--", "7", "get", "-h",
    "--timeout=3",
  ]

  /// All lists of up to two of these words after each verb, alone and before a command.
  @Test(arguments: ["get", "env", "exec", "ping"])
  func bothUnderstandEveryListOfWords(_ verb: String) throws {
    let firsts = TestRounds.isShort ? Self.words.prefix(2) : Self.words[...]
    let pairs = firsts.flatMap { first in Self.words.map { [first, $0] } }
    var accepted = 0
    for list in [[]] + Self.words.map({ [$0] }) + pairs {
      for arguments in [[verb] + list, [verb] + list + ["--", "true"]] {
        guard let command = try? FastCommand(arguments[...]) else { continue }
        accepted += 1
        expect(try byArgumentParser(arguments), equals: command, "\(arguments)")
      }
    }
    expect(accepted >= 8, "\(accepted)")
  }
}
