import Foundation
import Testing
import TestSupport

@testable import DaemonHarness

/// Request lines with secrets in them that came to nothing leave nothing in the daemon's memory.
@Suite(.onStage, .enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
struct MemoryLineTests {
  @Test func nothingIsLeftOfALineThatDoesNotEnd() throws {
    let host = try TestHost()
    let secret = ["half": newSecret()]
    var socket: StreamSocket? = try host.connect()
    try socket?.send(#"{"op":"login","username":"a","password":"\#(secret["half"] ?? "")"#)
    try host.expectAll(secret)
    socket = nil
    try host.expectNone(secret)
  }

  struct Line: CustomTestStringConvertible {
    let testDescription: String
    /// `%` stands for the secret.
    let text: String
    let code: String
    /// It stands where names do.
    var isName = false
    /// The connection is closed: what speaks no JSON may be a browser.
    var isClosed = false
  }

  static let lines = [
    Line(
      testDescription: "cut short", text: #"{"op":"login","password":"%""#, code: "InvalidRequest"),
    Line(
      testDescription: "in a key", text: #"{"op":"login","%":1}"#, code: "InvalidRequest",
      isName: true),
    Line(
      testDescription: "an unknown operation", text: #"{"op":"%"}"#, code: "UnknownOperation",
      isName: true),
    Line(
      testDescription: "an operation that takes none", text: #"{"op":"get","token":"%"}"#,
      code: "InvalidRequest"),
    Line(
      testDescription: "twice", text: #"{"op":"login","token":"%","token":"%"}"#,
      code: "InvalidRequest"),
    Line(
      testDescription: "of another kind", text: #"{"op":"login","username":"a","password":["%"]}"#,
      code: "InvalidRequest"),
    Line(
      testDescription: "nested too deeply",
      text: #"{"op":"login","logins":{"a":{"b":{"c":{"d":"%"}}}}}"#,
      code: "InvalidRequest"),
    Line(
      testDescription: "escaped", text: #"{"op":"login","username":"a","password":"\u002d%\q"}"#,
      code: "InvalidRequest"),
    Line(testDescription: "no JSON", text: "%", code: "InvalidRequest", isClosed: true),
    Line(testDescription: "as a number", text: #"{"op":"get","wait":1%}"#, code: "InvalidRequest"),
    Line(
      testDescription: "for a profile that is none",
      text: #"{"op":"login","profile":"none","username":"a","password":"%"}"#,
      code: "UnknownProfile"),
    Line(
      testDescription: "in the profile's name", text: #"{"op":"login","profile":"%"}"#,
      code: "UnknownProfile", isName: true),
    Line(
      testDescription: "for a backend that takes none",
      text: #"{"op":"login","profile":"default","username":"a","password":"%"}"#,
      code: "InvalidRequest"),
    Line(
      testDescription: "a token that is none",
      text: #"{"op":"login","profile":"default","identity_id":"x","token":"%"}"#,
      code: "InvalidRequest"),
    Line(
      testDescription: "larger than is remembered",
      text: #"{"op":"login","id":"\#(String(repeating: "i", count: 200))","logins":"%%%%"}"#,
      code: "InvalidRequest"),
  ]

  /// The connection that sent it lives on, unless it is closed for what it sent.
  @Test(arguments: lines)
  func nothingIsLeftOfALineThatIsRefused(_ line: Line) throws {
    let host = try TestHost()
    let secret = newSecret()
    let socket = try host.connect()
    try socket.send(line.text.replacing("%", with: secret))
    try host.expectAll(["line": secret])
    try socket.send("\n")
    let reply = try socket.reply()
    expect(reply.errorCode, equals: line.code)
    // Only a name is repeated, and only to the client that sent it.
    expect("\(reply)".contains(secret), equals: line.isName)
    expect(!host.log.contains(secret))
    try host.expectNone(["line": secret])
    guard !line.isClosed else {
      expect(socket.isClosed())
      return
    }
    try socket.send(#"{"op":"ping"}"# + "\n")
    expect(try socket.reply()["Daemon"] != nil)
  }

  @Test func nothingIsLeftOfALineThatIsTooLong() throws {
    let host = try TestHost()
    let secret = newSecret(64)
    let socket = try host.connect()
    try socket.send(#"{"op":"login","logins":{"a":""#)
    // 8 KiB short of the limit.
    try socket.send(String(repeating: secret, count: (504 << 10) / 64))
    try host.expectAll(["line": secret])
    try socket.send(String(repeating: secret, count: (16 << 10) / 64))
    expect(try socket.reply().errorCode, equals: "RequestTooLarge")
    try host.expectNone(["line": secret])
  }
}
