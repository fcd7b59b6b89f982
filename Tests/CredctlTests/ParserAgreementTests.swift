import ArgumentParser
import CredCore
import CredctlKit
import TestSupport
import Testing

@testable import credctl

/// ArgumentParser accepts every command line that ``GetArguments`` accepts, with the same meaning.
struct ParserAgreementTests {
  private func byArgumentParser(_ arguments: [String]) throws -> GetOptions? {
    try (Credctl.parseAsRoot(arguments) as? Get)?.options()
  }

  @Test(arguments: [
    ["get"], ["--socket", "/a", "get", "-p", "work", "--user", "x", "--refresh", "--min-ttl=1.5"],
    ["get", "--wait", "1", "--wait=2", "--profile", "a", "-p", "b", "--refresh", "--refresh"],
    ["get", "--profile=-x", "--user=a=b", "--socket=/a b", "-p=c"],
    ["get", "--profile", "größe", "--user", "\u{1F600}"],
    ["--socket=/a", "--socket", "/b", "get"],
    ["get", "work"], ["get", "--refresh", "work", "--user", "x"],
  ])
  func bothUnderstandTheSame(_ arguments: [String]) throws {
    let options = try #require(try GetArguments.read(arguments[...]))
    expect(try byArgumentParser(arguments), equals: options)
  }

  private static let words = [
    "--socket", "--socket=/s", "-p", "--profile=x", "--profile=", "--min-ttl", "--wait=1",
    "--refresh", "--refresh=1", "--json", "--user", "--", "7", "get", "-h",
  ]

  /// All lists of up to two of these words after the verb.
  @Test func bothUnderstandEveryListOfWords() throws {
    let firsts = TestRounds.isShort ? Self.words.prefix(2) : Self.words[...]
    let pairs = firsts.flatMap { first in Self.words.map { [first, $0] } }
    var accepted = 0
    for list in [[]] + Self.words.map({ [$0] }) + pairs {
      let arguments = ["get"] + list
      guard let options = try? GetArguments.read(arguments[...]) else { continue }
      accepted += 1
      expect(try byArgumentParser(arguments), equals: options, "\(arguments)")
    }
    expect(accepted >= 8, "\(accepted)")
  }

  // MARK: Verbs that ArgumentParser alone reads

  private func verb<V>(_ type: V.Type, _ arguments: [String]) throws -> V {
    try #require(try Credctl.parseAsRoot(arguments) as? V)
  }

  @Test func environmentGetsCredentialsThatLast() throws {
    let env = try verb(Env.self, ["env", "work", "--format", "json"])
    expect(env.format, equals: .json)
    expect(
      String(decoding: try env.getOptions().request, as: UTF8.self),
      equals: "{\"op\":\"get\",\"profile\":\"work\",\"min_ttl\":900}\n")
  }

  @Test func commandStartsAfterTheTerminator() throws {
    let command = ["get", "--socket", "/x", "--", "-h"]
    let exec = try verb(
      Exec.self, ["--socket=/a", "exec", "-p", "work", "--min-ttl=60", "--"] + command)
    let options = try exec.getOptions()
    expect(exec.command, equals: command)
    expect(!exec.renew)
    expect(options.socket, equals: "/a")
    expect(options.profile, equals: "work")
    expect(options.waiting.minimumLifetime, equals: Seconds(milliseconds: 60_000))
  }

  @Test func hidingTheConfigurationGoesWithRenewAlone() throws {
    #expect(throws: (any Error).self) {
      try verb(Exec.self, ["exec", "--no-config", "--", "true"])
    }
    let exec = try verb(Exec.self, ["exec", "--renew", "--no-config", "--", "true"])
    expect(exec.renew && exec.noConfig && exec.command == ["true"])
  }

  @Test func theSocketAfterTheVerbCountsMore() throws {
    expect(try verb(Ping.self, ["--socket", "/a", "ping"]).socket, equals: "/a")
    let ping = try verb(Ping.self, ["--socket", "/a", "ping", "--json", "--socket=/b"])
    expect(ping.socket, equals: "/b")
    expect(ping.format.json)
  }
}
