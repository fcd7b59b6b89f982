import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

/// epoll says each thing once; nothing of it may be forgotten.
struct EdgeTests {
  /// One less and one more than what is read at once, and twice as much.
  @Test(arguments: [-1, 0, 1, ServerLimits.readSize])
  func `a read that is filled is followed by another`(_ more: Int) throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    let blank = [UInt8](repeating: UInt8(ascii: "\n"), count: ServerLimits.readSize + more - 2)
    client.send(blank + Array("x\n".utf8))
    expect(client.line(), equals: "re:x")
    client.send(blank + Array("y\nz".utf8))
    client.finishSending()
    expect(client.rest(), equals: "re:y\nre:z\n")
  }

  /// A read stops before what is out of band, and the kernel does not say that more follows.
  @Test func `what lies behind out-of-band data is read`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    for text in ["a\n", "b\n", "c\n"] {
      client.send(text)
      var urgent = UInt8(ascii: "\n")
      expect(unsafe send(client.descriptor, &urgent, 1, Int32(MSG_OOB)), equals: 1)
    }
    client.send("d\n")
    expect((0..<4).map { _ in client.line() }, equals: ["re:a", "re:b", "re:c", "re:d"])
  }

  @Test func `what came while a request waits is read afterwards`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("wait\n")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    client.send("x\n")
    client.send("y")
    client.finishSending()
    // The loop has heard of it, and has nothing to do about it.
    let other = try fixture.connect()
    other.send("z\n")
    expect(other.line(), equals: "re:z")
    try fixture.run { receiver, _ in receiver.answerWaiting() }
    expect(client.rest(), equals: "at last\nre:x\nre:y\n")
    expect(try fixture.sawClosing())
  }

  /// All that epoll ever says of it comes at once.
  @Test func `a client that leaves unread is noticed`() throws {
    let fixture = try ServerFixture()
    for text in ["wait\n", "x\nwait\nx\n", "x\nhalf"] {
      let client = try fixture.connect()
      client.send("x\n")
      expect(client.line(), equals: "re:x")
      // The loop is busy with us meanwhile.
      try fixture.run { _, _ in
        client.send(text)
        client.shutDown()
      }
      expect(try fixture.sawClosing(), "\(text)")
    }
    expect(try fixture.run { _, server in server.connectionCount }, equals: 0)
  }

  /// As with PassCredentials= in a socket unit. Each message then names its sender, and a read ends
  /// where another's begins.
  @Test func `what two processes send on one connection is read`() throws {
    let fixture = try ServerFixture()
    try fixture.nameSenders()
    let client = try fixture.connect()
    for _ in 0..<3 {
      // The loop is busy with us meanwhile.
      try fixture.run { _, _ in
        client.send("a\n")
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", "printf 'b\\n' >&0"]
        shell.standardInput = FileHandle(fileDescriptor: client.descriptor, closeOnDealloc: false)
        try shell.run()
        shell.waitUntilExit()
      }
      expect(client.line(), equals: "re:a")
      expect(client.line(), equals: "re:b")
    }
  }

  @Test func `a client that leaves with lines behind a waiting one is noticed`() throws {
    let fixture = try ServerFixture()
    do {
      let client = try fixture.connect()
      client.send("wait\nx\n")
      expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
      client.send("y\n")
    }
    expect(try fixture.reaches { _, server in server.connectionCount == 0 })
  }

  @Test func `what came while replies were not taken is read afterwards`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    // More than the kernel holds for a client that does not read.
    client.send("big 1000000\n")
    expect(try fixture.reaches { _, server in server.connections.contains { $0.backlog > 0 } })
    client.send("y\nz")
    client.finishSending()
    expect(client.line()?.utf8.count, equals: 1_000_000)
    expect(client.rest(), equals: "re:y\nre:z\n")
  }

  /// A loop that was told of nothing sleeps.
  @Test func `the loop does not spin while clients wait`() throws {
    // Its looks at stalled clients would be turns with a cause.
    var limits = ServerLimits(connections: 10, connectionsPerUser: 10)
    limits.stallCheck = .seconds(3600)
    let fixture = try ServerFixture(limits)
    let clients = try (0..<4).map { _ in try fixture.connect() }
    clients[0].send("half")
    clients[1].send("wait\nx\n")
    clients[1].finishSending()
    clients[2].send("wait\n")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 2 })
    clients[3].send("x\n")
    expect(clients[3].line(), equals: "re:x")
    expect(try !fixture.thread.spins())
  }
}
