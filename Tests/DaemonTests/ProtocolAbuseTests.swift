import Glibc
import SeededRandom
import TestSupport
import Testing

@testable import DaemonHarness

/// Clients that do wrong: each gets a clear error, and no other client notices.
@Suite(.onStage)
struct ProtocolAbuseTests {
  /// One wrong line and what is said to it.
  struct Abuse: CustomTestStringConvertible {
    let name: String
    let line: [UInt8]
    let code: String
    let words: String

    init(_ name: String, _ line: String, _ code: String, _ words: String) {
      self.init(name, Array(line.utf8), code, words)
    }

    init(_ name: String, _ line: [UInt8], _ code: String, _ words: String) {
      self.name = name
      self.line = line
      self.code = code
      self.words = words
    }

    var testDescription: String { name }
  }

  static let abuses = [
    Abuse("cut off", "{", "InvalidRequest", "at byte 1"),
    Abuse("no JSON", "GET / HTTP/1.1", "InvalidRequest", "at byte 0"),
    Abuse("comma", #"{"op":"ping",}"#, "InvalidRequest", "at byte 12"),
    Abuse("two objects", "{}{}", "InvalidRequest", "at byte 2"),
    Abuse("array", "[]", "InvalidRequest", "must be an object"),
    Abuse("null", "null", "InvalidRequest", "must be an object"),
    Abuse("string", #""get""#, "InvalidRequest", "must be an object"),
    Abuse("duplicate key", #"{"op":"ping","op":"get"}"#, "InvalidRequest", "op"),
    Abuse("unknown key", #"{"profil":"default"}"#, "InvalidRequest", #"did you mean "profile""#),
    Abuse("AWS's spelling", #"{"Op":"ping"}"#, "InvalidRequest", "Op"),
    Abuse("key of another", #"{"op":"ping","min_ttl":1}"#, "InvalidRequest", "does not belong"),
    Abuse("unknown op", #"{"op":"gte"}"#, "UnknownOperation", #"did you mean "get""#),
    Abuse("op is a number", #"{"op":5}"#, "InvalidRequest", "op"),
    Abuse("profile is null", #"{"profile":null}"#, "InvalidRequest", "profile"),
    Abuse("profile is a path", #"{"profile":"../work"}"#, "UnknownProfile", "cannot be"),
    Abuse("empty profile", #"{"profile":""}"#, "UnknownProfile", "cannot be"),
    Abuse("min_ttl is text", #"{"min_ttl":"900"}"#, "InvalidRequest", "min_ttl"),
    Abuse("min_ttl below 0", #"{"min_ttl":-1}"#, "InvalidRequest", "min_ttl"),
    Abuse("min_ttl is huge", #"{"min_ttl":1e999}"#, "InvalidRequest", "min_ttl"),
    Abuse("refresh is 1", #"{"refresh":1}"#, "InvalidRequest", "refresh"),
    Abuse("wait too long", #"{"wait":301}"#, "InvalidRequest", "300"),
    Abuse("id is an object", #"{"id":{}}"#, "InvalidRequest", "id"),
    Abuse(
      "id too long", #"{"id":"\#(String(repeating: "x", count: 300))"}"#, "InvalidRequest", "id"),
    Abuse("NULs", [0, 0, 0], "InvalidRequest", "at byte 0"),
    Abuse("NUL in a string", Array("{\"op\":\"pi\0ng\"}".utf8), "InvalidRequest", "at byte 9"),
    Abuse("escaped NUL", #"{"op":"ping\u0000"}"#, "InvalidRequest", "at byte 11"),
    Abuse("no UTF-8", [0xFF, 0xFE, 0x7B, 0x7D], "InvalidRequest", "at byte 0"),
    Abuse(
      "overlong UTF-8", Array(#"{"op":"p"#.utf8) + [0xC0, 0xAF, 0x22, 0x7D], "InvalidRequest",
      "at byte 8"),
    Abuse("half a surrogate pair", #"{"op":"\ud800"}"#, "InvalidRequest", "at byte"),
    Abuse("nested arrays", String(repeating: "[", count: 100_000), "InvalidRequest", "at byte"),
    Abuse(
      "nested objects", String(repeating: #"{"a":"#, count: 50_000), "InvalidRequest", "at byte"),
    Abuse(
      "many values", "[" + String(repeating: "1,", count: 100_000), "InvalidRequest", "at byte"),
  ]

  @Test func wrongLinesAreRefusedOneByOne() throws {
    let host = try TestHost()
    let bystander = try host.connect()
    let socket = try host.connect()
    for abuse in Self.abuses {
      try socket.send(abuse.line + [0x0A])
      let reply = try socket.reply()
      expect(reply.errorCode, equals: abuse.code, "\(abuse.name): \(reply)")
      expect(reply.errorMessage?.contains(abuse.words) == true, "\(abuse.name): \(reply)")
      // The connection lives on, and so do all others.
      try socket.send("{\"op\":\"ping\"}\n")
      expect(try socket.reply()["Daemon"] != nil, "\(abuse.name)")
      try bystander.send("{\"op\":\"ping\"}\n")
      expect(try bystander.reply()["Daemon"] != nil, "\(abuse.name)")
    }
    expect(try host.stopDaemon(), equals: 0)
  }

  /// A browser, or a server that a user tricked, speaks HTTP through a proxy that reaches Unix
  /// sockets: the body is not read as requests.
  @Test(arguments: [
    "GET / HTTP/1.1", "POST / HTTP/1.1", "  \tPOST / HTTP/1.1", "[]", "\u{FEFF}{}", "null", "\0",
  ])
  func aFirstLineThatIsNoObjectEndsTheConnection(_ line: String) throws {
    let host = try TestHost()
    let socket = try host.connect()
    try socket.send("\n \r\n\(line)\r\nHost: localhost\r\n\r\n{\"op\":\"get\"}\r\n{}\n")
    expect(try socket.reply().errorCode, equals: "InvalidRequest")
    expect(socket.isClosed())
    expect(try String(decoding: socket.rest(), as: UTF8.self).isEmpty)
    expect(try host.sandbox.calls("backend.token"), equals: 0)
    // As the last line without a newline, too.
    let last = try host.connect()
    try last.send(line)
    last.finishSending()
    expect(try last.reply().errorCode, equals: "InvalidRequest")
    expect(last.isClosed())
  }

  /// A client that has said what it is may err.
  @Test
  func aLaterWrongLineKeepsTheConnection() throws {
    let host = try TestHost()
    for first in ["{}", "{", #"{"profil":"x"}"#, " \t{\"op\":\"ping\"}"] {
      let socket = try host.connect()
      try socket.send(first + "\nGET / HTTP/1.1\n{\"op\":\"ping\"}\n")
      _ = try socket.reply()
      expect(try socket.reply().errorCode, equals: "InvalidRequest", "\(first)")
      expect(try socket.reply()["Daemon"] != nil, "\(first)")
    }
    // Also where the first line got the answer that another connection's had got.
    for _ in 0..<3 {
      let socket = try host.connect()
      try socket.send("{}\n{}\nGET / HTTP/1.1\n{}\n")
      let codes = try (0..<4).map { _ in try socket.reply().errorCode }
      expect(codes, equals: [nil, nil, "InvalidRequest", nil])
    }
  }

  @Test
  func longestLineIsTakenAndALongerOneEndsTheConnection() throws {
    let host = try TestHost()
    let limit = 512 << 10
    let bystander = try host.connect()
    let socket = try host.connect()
    let ping = #"{"op":"ping"}"#
    try socket.send(ping + String(repeating: " ", count: limit - ping.utf8.count) + "\n")
    expect(try socket.reply()["Daemon"] != nil)
    try socket.send(String(repeating: " ", count: limit + 1))
    let reply = try socket.reply()
    expect(reply.errorCode, equals: "RequestTooLarge")
    expect(socket.isClosed())
    try bystander.send(ping + "\n")
    expect(try bystander.reply()["Daemon"] != nil)
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func sixtyFifthConnectionOfAUserIsRefused() throws {
    let host = try TestHost()
    // The connection that found the socket ready must be over.
    try Deadline.usual.wait(for: "the first connection to end") {
      try host.ask(#"{"op":"status"}"#)["Daemon"]?["Connections"]?.number == 1
    }
    var sockets = try host.servedConnections(64)
    let extra = try host.connect()
    expect(try extra.reply().errorCode, equals: "TooManyRequests")
    expect(extra.isClosed())
    for socket in sockets {
      try socket.send("{\"op\":\"ping\"}\n")
      expect(try socket.reply()["Daemon"] != nil)
    }
    // Another user has connections of its own.
    unsafe chmod(host.socketPath, 0o666)
    let credctl = try Stage.current().executable(Programs.credctl)
    expect(try host.credctl(credctl, as: .games, "get").status, equals: 0)
    let refused = try host.get()
    expect(refused.status, equals: 75)
    expect(refused.output.isEmpty)
    sockets.removeFirst()
    try Deadline.usual.wait(for: "room for another") { try host.get().status == 0 }
  }

  @Test
  func randomBytesAreAnsweredOrCut() throws {
    let host = try TestHost()
    func pid() throws -> Double? {
      try host.ask(#"{"op":"ping"}"#)["Daemon"]?["Pid"]?.number
    }
    let (before, seed) = (try pid(), UInt64.random(in: 0..<UInt64.max))
    expect(before, equals: Double(host.daemon.pid))
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let socket = try host.connect()
      // A connection that began well reads on: each line is taken for one.
      let lines = (0..<50).map { _ in
        (0..<Int.random(in: 1...80, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
      }
      try socket.send(Array("{}\n".utf8) + lines.joined(separator: [0x0A]) + [0x0A])
      socket.finishSending()
      let replies = try String(decoding: socket.rest(), as: UTF8.self).split(separator: "\n")
        .map { try JSON(String($0)) }
      expect(replies.first?["AccessKeyId"] != nil, "seed \(seed)")
      // Bytes may be white space alone, and may have newlines of their own.
      expect(replies.count > 40, "seed \(seed)")
      expect(replies.dropFirst().allSatisfy { $0.errorCode != nil }, "seed \(seed)")
    }
    expect(try pid(), equals: before, "seed \(seed)")
  }
}
