import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// What an operator finds in the log afterwards.
@Suite(.onStage)
struct AuditTests {
  private func given(_ host: TestHost) -> [Substring] {
    host.log.split(separator: "\n").filter { $0.contains("credentials given") }
  }

  @Test
  func eachCallerIsNamedOnceForEachIssueOfCredentials() throws {
    let host = try TestHost()
    let socket = try host.connect()
    for _ in 0..<5 {
      try socket.send("{}\n")
      expect(try socket.reply()["AccessKeyId"] != nil)
    }
    // Another connection of the same process is the same caller.
    try host.ask()
    expect(given(host).count, equals: 1)
    let entry = try #require(given(host).first)
    expect(entry.contains("pid=\(getpid())"))
    expect(entry.contains("uid=\(getuid())"))
    expect(entry.contains("profile=default"))
    expect(entry.contains("identity=us-east-1:"))
    expect(entry.contains("expiration=20"))
    let key = try #require(try host.ask()["AccessKeyId"]?.text)
    expect(entry.contains("access_key_id=\(key)"))
    // Another process is another caller.
    expect(try host.get().status, equals: 0)
    expect(given(host).count, equals: 2)
    // After a refresh each caller is named anew.
    try socket.send(#"{"refresh":true}"# + "\n{}\n")
    expect(try socket.reply()["AccessKeyId"] != nil)
    expect(try socket.reply()["AccessKeyId"] != nil)
    expect(given(host).count, equals: 3)
  }

  private func entries(_ host: TestHost, _ message: String) -> [Substring] {
    host.log.split(separator: "\n").filter { $0.contains(": \(message) ") }
  }

  /// CloudTrail shows the key; the journal shows the host's user.
  @Test
  func eachRefreshIsFoundByItsAccessKey() throws {
    let host = try TestHost(arguments: [])
    for line in ["{}", #"{"refresh":true}"#] {
      let key = try #require(try host.ask(line)["AccessKeyId"]?.text)
      let refreshed = entries(host, "credentials refreshed").filter {
        $0.contains("access_key_id=\(key)")
      }
      expect(refreshed.count, equals: 1)
      expect(refreshed.first?.contains("uid=\(getuid())") == true)
      expect(refreshed.first?.contains("identity=us-east-1:") == true)
    }
  }

  @Test
  func eachSignInAndSignOutSaysWhoAndHow() throws {
    let host = try TestHost(arguments: []) { Configuration.password($0) }
    let who = "pid=\(getpid()) profile=default"
    expect(try host.logIn("alice", password: "no").errorCode, equals: "SignInFailed")
    let refused = entries(host, "sign-in refused")
    expect(refused.count, equals: 1)
    for words in [who, "code=SignInFailed", "means=password", "username=alice", "uid=\(getuid())"] {
      expect(refused.first?.contains(words) == true, "\(words): \(refused)")
    }
    expect(try host.logIn("alice")["State"]?.text, equals: "signedIn")
    // Once for each, also where the state stays the same.
    expect(try host.logIn("bob")["State"]?.text, equals: "signedIn")
    let signedIn = entries(host, "signed in")
    expect(signedIn.count, equals: 2)
    expect(signedIn.first?.contains("username=alice") == true)
    expect(signedIn.last?.contains("username=bob") == true)
    expect(signedIn.allSatisfy { $0.contains(who) && $0.contains("identity=us-east-1:") })
    expect(entries(host, "session is now signedIn").isEmpty)
    try host.ask(#"{"op":"logout"}"#)
    let signedOut = entries(host, "signed out")
    expect(signedOut.count, equals: 1)
    for words in [who, "means=password", "identity=us-east-1:"] {
      expect(signedOut.first?.contains(words) == true, "\(words): \(signedOut)")
    }
    expect(!host.log.contains("alice-password"))
  }

  /// Nobody asked for a sign-in by name; the first who wanted credentials caused it.
  @Test
  func aSignInByTheHostNamesTheFirstCaller() throws {
    let host = try TestHost(arguments: [])
    try host.ask()
    let entry = try #require(entries(host, "session is now signedIn").first)
    expect(entry.contains("means=host"))
    expect(entry.contains("pid=\(getpid())"))
  }

  @Test
  func aTokenIsWorthAsMuch() throws {
    let host = try TestHost()
    expect(try host.ask(#"{"op":"token"}"#)["Token"] != nil)
    let entry = host.log.split(separator: "\n").filter { $0.contains("developer token given") }
    expect(entry.count, equals: 1)
    expect(entry.first?.contains("pid=\(getpid())") ?? false)
  }

  @Test
  func refusalsAreSaidOnceAMinute() throws {
    let host = try TestHost { Configuration.usual($0, profile: "allow_users = 65533") }
    for _ in 0..<10 { expect(try host.ask().errorCode, equals: "AccessDenied") }
    let entries = host.log.split(separator: "\n").filter { $0.contains("refused a caller") }
    expect(entries.count, equals: 1)
    expect(entries.first?.contains("notice") ?? false)
    expect(entries.first?.contains("code=AccessDenied") ?? false)
  }

  @Test
  func aFailureIsSaidWithItsCode() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"status","Status":403,"Count":-1}"#)
    expect(try host.refusal("{}").errorCode, equals: "BackendRejected")
    let entry = host.log.split(separator: "\n").filter { $0.contains("no credentials: ") }
    expect(entry.count, equals: 1)
    expect(entry.first?.contains("code=BackendRejected") ?? false)
  }
}
