import Foundation
import Glibc
import Testing

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
      #expect(try socket.reply()["AccessKeyId"] != nil)
    }
    // Another connection of the same process is the same caller.
    try host.ask()
    #expect(given(host).count == 1)
    let entry = try #require(given(host).first)
    #expect(entry.contains("pid=\(getpid())"))
    #expect(entry.contains("uid=\(getuid())"))
    #expect(entry.contains("profile=default"))
    #expect(entry.contains("identity=us-east-1:"))
    #expect(entry.contains("expiration=20"))
    // Another process is another caller.
    #expect(try host.credctl("get").status == 0)
    #expect(given(host).count == 2)
    // After a refresh each caller is named anew.
    try socket.send(#"{"refresh":true}"# + "\n{}\n")
    #expect(try socket.reply()["AccessKeyId"] != nil)
    #expect(try socket.reply()["AccessKeyId"] != nil)
    #expect(given(host).count == 3)
  }

  @Test
  func aTokenIsWorthAsMuch() throws {
    let host = try TestHost()
    #expect(try host.ask(#"{"op":"token"}"#)["Token"] != nil)
    let entry = host.log.split(separator: "\n").filter { $0.contains("developer token given") }
    #expect(entry.count == 1)
    #expect(entry.first?.contains("pid=\(getpid())") ?? false)
  }

  @Test
  func aLoopOfCallersDoesNotFillTheLog() throws {
    let host = try TestHost()
    for _ in 0..<40 { #expect(try host.credctl("get").status == 0) }
    #expect((1...20).contains(given(host).count))
    // `status` knows the last one all the same.
    let last = try host.ask(#"{"op":"status"}"#)["Sessions"]?[0]?["LastCaller"]?["Pid"]?.number
    #expect(last != nil && last != Double(getpid()))
  }

  @Test
  func refusalsAreSaidOnceAMinute() throws {
    let host = try TestHost { Configuration.usual($0, profile: "allow_users = 65533") }
    for _ in 0..<10 { #expect(try host.ask().errorCode == "AccessDenied") }
    let entries = host.log.split(separator: "\n").filter { $0.contains("refused a caller") }
    #expect(entries.count == 1)
    #expect(entries.first?.contains("notice") ?? false)
    #expect(entries.first?.contains("code=AccessDenied") ?? false)
  }

  @Test
  func aFailureIsSaidWithItsCode() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"status","Status":403,"Count":-1}"#)
    #expect(try host.refusal("{}").errorCode == "BackendRejected")
    let entry = host.log.split(separator: "\n").filter { $0.contains("no credentials: ") }
    #expect(entry.count == 1)
    #expect(entry.first?.contains("code=BackendRejected") ?? false)
  }
}
