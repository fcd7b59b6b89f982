import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The users that may ask in the name of others: none, unless a profile says so.
@Suite(.onStage, .enabled(if: OtherUser.canBe, "takes root, which can be other users"))
struct ImpersonationTests {
  private func refusal(_ host: TestHost, _ line: String) throws -> String? {
    let reply = try host.ask(line)
    expect(reply.errorCode, equals: "AccessDenied")
    expect(reply["AccessKeyId"] == nil)
    return reply["Error"]?["Message"]?.text
  }

  @Test
  func notEvenRootActsForOthersUnlessListed() throws {
    let host = try TestHost.ofAnyUser()
    let refused = try refusal(host, #"{"user":"games"}"#)
    expect(refused, equals: "you may not act for others in profile 'default'")
    // Neither a user nor a profile that does not exist looks different.
    expect(try refusal(host, #"{"user":"not-there"}"#), equals: refused)
    expect(
      try refusal(host, #"{"user":"games","profile":"other"}"#),
      equals: refused?.replacing("'default'", with: "'other'"))
    expect(try host.get("--user", "games").status, equals: 77)
    expect(try host.sandbox.callbacks, equals: 0)
    expect(host.log.contains("refused a caller"))
  }

  @Test
  func aListedUserGetsTheOthersSessionAndBothAreNamedInTheLog() throws {
    let host = try TestHost.ofAnyUser("impersonate = root")
    let credctl = try Stage.current().executable(Programs.credctl)
    let own = try host.credctl(credctl, as: .games, "get")
    expect(own.status, equals: 0)
    for user in ["games", "5"] {
      let forGames = try host.get("--user", user)
      expect(forGames.status, equals: 0, "\(forGames.errors)")
      expect(forGames.output, equals: own.output)
    }
    let entry = try #require(
      host.log.split(separator: "\n").first { $0.contains("for_uid=5") })
    expect(entry.contains("credentials given"))
    expect(entry.contains("for_user=games"))
    expect(entry.contains(" uid=0"))
    // Own credentials are others.
    expect(try JSON(own.output)["AccessKeyId"] != host.ask()["AccessKeyId"])
    // The list is of root alone.
    expect(try host.credctl(credctl, as: .daemon, "get", "--user", "games").status, equals: 77)
  }

  /// A service that may act for the users of the host was not given what a person typed a password for.
  @Test
  func notForAUserThatSignedInInPersonUnlessTheProfileSaysSo() throws {
    for isMeant in [false, true] {
      let host = try TestHost(sandbox: ["--any-user"]) { sandbox in
        Configuration.passwordBackend(sandbox)
          + Configuration.profile(
            "default", endpoint: sandbox.url, identifier: "{user}",
            "impersonate = root\nimpersonate_signed_in = \(isMeant ? "yes" : "no")")
      }
      // It waits for the sign-in, which is in person then.
      let waiting = try host.connect()
      try waiting.send(#"{"user":"games","wait":60}"# + "\n")
      let credctl = try Stage.current().executable(Programs.credctl)
      let password = try Stage.current().newFile("password")
      try Data("games-password\n".utf8).write(to: URL(filePath: password))
      let login = try ChildProcess(
        OtherUser.games.prefix + [credctl, "--socket", host.socketPath, "login"]
          + ["--username", "games", "--password-stdin"], input: password)
      expect(try login.wait(), equals: 0, "\(login.errors)")
      for reply in [try waiting.reply(), try host.ask(#"{"user":"games"}"#)] {
        if isMeant {
          expect(reply["AccessKeyId"] != nil, "\(reply)")
        } else {
          expect(reply.errorCode, equals: "AccessDenied")
          expect(reply.errorMessage?.contains("impersonate_signed_in") == true)
        }
      }
    }
  }

  @Test
  func onlyForUsersThatTheProfileAdmits() throws {
    let host = try TestHost.ofAnyUser(
      "impersonate = root\nallow_users = daemon\nallow_groups = games")
    expect(try host.ask(#"{"user":"daemon"}"#)["AccessKeyId"] != nil)
    expect(try host.ask(#"{"user":"games"}"#)["AccessKeyId"] != nil)
    expect(
      try refusal(host, #"{"user":"bin"}"#), equals: #"profile 'default' is not available to "bin""#
    )
    expect(
      try refusal(host, #"{"user":"not-there"}"#), equals: #"the host knows no user "not-there""#)
    // To act for others is not to be allowed oneself.
    expect(
      try refusal(host, "{}"),
      equals:
        "profile 'default' is not open to root: run it without sudo, or add root to allow_users")
  }

  @Test
  func aConnectionThatActedForOthersHasItsOwnSessionNext() throws {
    let host = try TestHost.ofAnyUser("impersonate = root")
    let socket = try host.connect()
    let lines = [#"{"user":"games"}"#, "{}", #"{"user":"daemon"}"#, "{}", #"{"user":"games"}"#]
    for _ in 0..<3 { try socket.send(lines.map { $0 + "\n" }.joined()) }
    var keys: [String?] = []
    for _ in 0..<15 { keys.append(try socket.reply()["AccessKeyId"]?.text) }
    expect(!keys.contains(nil))
    expect(Set(keys).count, equals: 3)
    for turn in 0..<3 {
      let five = Array(keys[turn * 5..<turn * 5 + 5])
      expect(five, equals: Array(keys[0..<5]))
    }
    expect(keys[0] == keys[4] && keys[1] == keys[3])
  }
}
