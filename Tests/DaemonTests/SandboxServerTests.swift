import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// What the sandbox does with connections: the other tests rely on it when credd meets a fault.
@Suite(.onStage)
struct SandboxServerTests {
  private static let token = "GET /token/alice HTTP/1.1\r\nHost: h\r\n\r\n"

  /// The head and body of the one reply of a connection that then ends.
  private func exchange(_ sandbox: Sandbox, _ request: String) throws -> String {
    let socket = try StreamSocket(port: sandbox.port)
    try socket.send(request)
    return String(decoding: try socket.rest(), as: UTF8.self)
  }

  private func stats(_ sandbox: Sandbox, _ name: String) throws -> Double? {
    try sandbox.control("GET", "stats")[name]?.number
  }

  @Test func resetIsAReset() throws {
    let sandbox = try Sandbox()
    for delay in ["", #","Seconds":0.1"#] {
      try sandbox.plan(#"{"Service":"backend","Kind":"reset"\#(delay)}"#)
      let socket = try StreamSocket(port: sandbox.port)
      try socket.send(Self.token)
      expect(try socket.endsByReset())
    }
  }

  @Test func truncatedHasTheWholeLengthAndHalfTheBody() throws {
    let sandbox = try Sandbox()
    try sandbox.plan(#"{"Service":"backend","Kind":"truncate"}"#)
    let reply = try exchange(sandbox, Self.token)
    let length = try #require(reply.firstMatch(of: /Content-Length: (\d+)/)?.output.1)
    let body = try #require(reply.firstRange(of: "\r\n\r\n")).upperBound
    expect(reply[body...].utf8.count, equals: (try #require(Int(length))) / 2)
    expect(reply.contains("Connection: close\r\n"))
  }

  /// As where a limit on the size of files holds (`ulimit -f`).
  @Test func aFullLogEndsNothing() throws {
    let port = try FreePort.any()
    let process = try ChildProcess([
      "/bin/sh", "-c", #"ulimit -f 0; exec "$@""#, "sh", Programs.sandbox, "--port", "\(port)",
      "--signing-key", Programs.signingKey,
    ])
    try Deadline.usual.wait(for: "the sandbox") {
      if let status = process.status { throw Overdue("the sandbox: it ended with \(status)") }
      return (try? StreamSocket(port: port)) != nil
    }
    let socket = try StreamSocket(port: port)
    try socket.send("GET /token/alice HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    expect(String(decoding: try socket.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 200"))
  }

  @Test func aClientThatLeavesAHangingCallIsNoticed() throws {
    let sandbox = try Sandbox()
    try sandbox.plan(#"{"Service":"backend","Kind":"hang"}"#)
    let open = try stats(sandbox, "ConnectionsOpen")
    do {
      let socket = try StreamSocket(port: sandbox.port)
      try socket.send(Self.token)
      try Deadline.usual.wait(for: "the call") { try stats(sandbox, "InFlight") == 1 }
      expect(!socket.isClosed(by: .in(.milliseconds(100))))
    }
    try Deadline.usual.wait(for: "its end") { try stats(sandbox, "InFlight") == 0 }
    try Deadline.usual.wait(for: "the end of its connection") {
      try stats(sandbox, "ConnectionsOpen") == open
    }
  }

  @Test func aDelayedAnswerDelaysNoOtherClient() throws {
    let sandbox = try Sandbox()
    try sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":600}"#)
    try sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":600}"#)
    let sockets = try (0..<3).map { number in
      let socket = try StreamSocket(port: sandbox.port)
      try socket.send(Self.token)
      // One after the other, so that each gets its own fault.
      try Deadline.usual.wait(for: "the call") {
        try sandbox.calls("backend.token") == number + 1
      }
      return socket
    }
    expect(try sockets[2].line(), equals: "HTTP/1.1 200 OK\r")
    // The two that wait have no answer yet.
    expect(try stats(sandbox, "InFlight"), equals: 2)
  }

  @Test func aDelayedAnswerComes() throws {
    let sandbox = try Sandbox()
    try sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":0.2}"#)
    let socket = try StreamSocket(port: sandbox.port)
    try socket.send(Self.token)
    expect(try socket.line(), equals: "HTTP/1.1 200 OK\r")
  }

  @Test func stopsWhileCallsAreHeld() throws {
    let sandbox = try Sandbox()
    try sandbox.plan(#"{"Service":"backend","Kind":"hang"}"#)
    let socket = try StreamSocket(port: sandbox.port)
    try socket.send(Self.token)
    try Deadline.usual.wait(for: "the call") { try stats(sandbox, "InFlight") == 1 }
    sandbox.process.send(SIGTERM)
    expect(try sandbox.process.wait(), equals: 0)
    expect(socket.isClosed())
  }

  @Test(arguments: ["Content-Length: 1048577\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"])
  func aBodyThatIsTooLongIsRefused(_ fields: String) throws {
    let sandbox = try Sandbox()
    var request = "POST /token HTTP/1.1\r\nHost: h\r\n" + fields
    if fields.hasPrefix("Transfer") {
      let chunk = String(repeating: "x", count: 0x8000)
      request += String(repeating: "8000\r\n\(chunk)\r\n", count: 33) + "0\r\n\r\n"
    }
    let reply = try exchange(sandbox, request)
    expect(reply.hasPrefix("HTTP/1.1 413 "))
    expect(reply.contains("Connection: close\r\n"))
    expect(reply.hasSuffix(#""Message":"body is longer than 1048576 bytes"}"#))
  }

  @Test func aClientThatAsksIsToldToContinue() throws {
    let sandbox = try Sandbox()
    let socket = try StreamSocket(port: sandbox.port)
    try socket.send(
      "POST /token HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 16\r\n\r\n")
    expect(try socket.line(), equals: "HTTP/1.1 100 Continue\r")
    expect(try socket.line(), equals: "\r")
    try socket.send(#"{"User":"alice"}"#)
    expect(try socket.line()?.hasPrefix("HTTP/1.1 ") == true)
  }

  /// Keep-alive, requests sent at once, HEAD, HTTP/1.0, a target with scheme and host, no Host.
  @Test func repliesInOrderOnOneConnection() throws {
    let sandbox = try Sandbox()
    let reply = try exchange(
      sandbox,
      "GET http://elsewhere.example/control/stats?a HTTP/1.1\r\n\r\n"
        + "HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\n" + "GET /control/stats HTTP/1.0\r\n\r\n")
    let statuses = reply.matches(of: /HTTP\/1\.\d (\d+)/).map { String($0.output.1) }
    expect(statuses, equals: ["200", "404", "200"])
    expect(reply.matches(of: /Date:/).count, equals: 3)
    expect(!reply.contains("no service at HEAD"))
  }

  private static var canOpenMany: Bool {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit.rlim_cur >= 4096
  }

  @Test(.enabled(if: canOpenMany, "2,048 connections need more descriptors"))
  func tooManyConnectionsAreClosedAtOnce() throws {
    let sandbox = try Sandbox()
    var sockets: [StreamSocket] = []
    for _ in 0..<2048 { sockets.append(try StreamSocket(port: sandbox.port)) }
    let last = try StreamSocket(port: sandbox.port)
    expect(last.isClosed())
    sockets.removeLast()
    try Deadline.usual.wait(for: "room") {
      (try? sandbox.control("GET", "stats")) != nil
    }
    expect(try stats(sandbox, "ConnectionsOpen"), equals: 2048)
  }

  @Test func anotherFileIsNotReplacedByTheSocket() throws {
    let path = try Stage.current().newFile("s")
    expect(FileManager.default.createFile(atPath: path, contents: nil))
    let process = try ChildProcess(
      [Programs.sandbox, "--signing-key", Programs.signingKey, "--unix-socket", path])
    expect(try process.wait(), equals: 1)
    expect(process.errors.contains("Address already in use"))
  }

  @Test func aSigningKeyIsMadeOnceAndKept() throws {
    let path = try Stage.current().newFile("key")
    let first = try Sandbox(["--signing-key", path])
    let key = try String(contentsOfFile: path, encoding: .utf8)
    expect(key.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    expect(attributes[.posixPermissions] as? Int, equals: 0o600)
    first.process.send(SIGTERM)
    try first.process.wait()
    _ = try Sandbox(["--signing-key", path])
    expect(try String(contentsOfFile: path, encoding: .utf8), equals: key)
    try Data("no key".utf8).write(to: URL(filePath: path))
    let refused = try ChildProcess([Programs.sandbox, "--signing-key", path])
    expect(try refused.wait() != 0)
    expect(refused.errors.contains("\(path): not an RSA key in PEM"))
  }
}

extension StreamSocket {
  /// Whether the stream ends by a reset, and not in the orderly way.
  fileprivate func endsByReset(_ deadline: Deadline = .usual) throws -> Bool {
    while true {
      try wait(for: POLLIN, deadline)
      var byte: UInt8 = 0
      let count = unsafe recv(descriptor, &byte, 1, 0)
      if count <= 0 { return count < 0 && errno == ECONNRESET }
    }
  }
}
