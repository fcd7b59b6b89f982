import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

struct ClientServerTests {
  @Test func `a pipeline is answered in order`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send((0..<500).map { "line \($0)\n" }.joined())
    expect((0..<500).map { _ in client.line() }, equals: (0..<500).map { "re:line \($0)" })
  }

  @Test func `a line may arrive byte by byte`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    for byte in "{\"op\":\"ping\"}\nx\n".utf8 { client.send([byte]) }
    expect(client.line(), equals: "re:{\"op\":\"ping\"}")
    expect(client.line(), equals: "re:x")
  }

  @Test func `blank lines are passed over`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("\n \t\r\n\nx\n")
    expect(client.line(), equals: "re:x")
    expect(try fixture.run { receiver, _ in receiver.lines }, equals: 1)
  }

  @Test(arguments: ["a\nb\n", "a\nb", "\n\na\nb"])
  func `a client that has sent its end gets every answer`(_ text: String) throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send(text)
    client.finishSending()
    expect(client.rest(), equals: "re:a\nre:b\n")
    expect(try fixture.sawClosing())
  }

  @Test func `nothing but an end of input closes without a word`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.finishSending()
    expect(client.rest(), equals: "")
  }

  @Test func `a line over the limit is refused and the connection closed`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("x\n")
    client.send([UInt8](repeating: UInt8(ascii: "a"), count: Limits.Line.bytes + 1))
    expect(client.line(), equals: "re:x")
    expect(client.line()?.contains("RequestTooLarge") == true)
    expect(client.rest(), equals: "")
  }

  @Test func `a line of exactly the limit is taken`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send([UInt8](repeating: UInt8(ascii: "a"), count: Limits.Line.bytes) + [0x0A])
    expect(client.line()?.count, equals: Limits.Line.bytes + 3)
  }

  // MARK: Slow and stalled clients

  @Test func `a client that does not read is not read from`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send(String(repeating: "big 100000\n", count: 100))
    expect(try fixture.reaches { _, server in server.connections.contains { $0.backlog > 0 } })
    expect(try fixture.run { receiver, _ in receiver.lines } < 20)
    expect((0..<100).allSatisfy { _ in client.line()?.count == 100_000 })
    client.send("x\n")
    expect(client.line(), equals: "re:x")
  }

  @Test func `a reply larger than every buffer arrives whole`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("a\nbig 3000000\nb\n")
    expect(client.line(), equals: "re:a")
    expect(client.line()?.count, equals: 3_000_000)
    expect(client.line(), equals: "re:b")
  }

  @Test func `a client that never takes its replies is cut off`() throws {
    var limits = ServerLimits(connections: 10, connectionsPerUser: 10)
    limits.blockedWrite = .milliseconds(30)
    limits.stallCheck = .milliseconds(10)
    let fixture = try ServerFixture(limits)
    let client = try fixture.connect()
    client.send("big 1000000\n")
    expect(try fixture.sawClosing())
    expect(client.rest().utf8.count < 1_000_000)
  }

  @Test func `a client that is given more than the backlog's limit is cut off`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("big 1000000\n")
    expect(try fixture.reaches { _, server in server.connections.contains { $0.backlog > 0 } })
    try fixture.run { _, server in
      for connection in server.connections {
        server.reply([UInt8](repeating: 0x78, count: Limits.Client.backlogBytes), to: connection)
      }
    }
    expect(try fixture.sawClosing())
  }

  @Test func `a line that is begun and not ended is refused after its time`() throws {
    var limits = ServerLimits(connections: 10, connectionsPerUser: 10)
    limits.partialLine = .milliseconds(30)
    limits.stallCheck = .milliseconds(10)
    let fixture = try ServerFixture(limits)
    let (idle, stalled) = (try fixture.connect(), try fixture.connect())
    stalled.send("{\"op\":")
    expect(stalled.line()?.contains("Timeout") == true)
    expect(stalled.rest(), equals: "")
    idle.send("x\n")
    expect(idle.line(), equals: "re:x")
  }

  @Test func `each line that is begun has a time of its own`() throws {
    var limits = ServerLimits(connections: 10, connectionsPerUser: 10)
    limits.partialLine = .seconds(600)
    let fixture = try ServerFixture(limits)
    let client = try fixture.connect()
    client.send("a")
    expect(try fixture.reaches { _, server in server.deadlines.byToken.count == 1 })
    let first = try fixture.run { _, server in server.deadlines.byToken.values.first }
    client.send("\na")
    expect(client.line(), equals: "re:a")
    expect(
      try fixture.reaches { _, server in
        guard let first, let next = server.deadlines.byToken.values.first else { return false }
        return next > first
      })
    // None for a client that has begun no line.
    client.send("\n")
    expect(client.line(), equals: "re:a")
    expect(try fixture.reaches { _, server in server.deadlines.byToken.isEmpty })
  }

  // MARK: Limits and fairness

  @Test func `connections over the limit are told so`() throws {
    let fixture = try ServerFixture(ServerLimits(connections: 2, connectionsPerUser: 100))
    let clients = [try fixture.connect(), try fixture.connect()]
    for client in clients { client.send("x\n") }
    expect(clients.map { $0.line() }, equals: ["re:x", "re:x"])
    let third = try fixture.connect()
    expect(third.line()?.contains("TooManyRequests") == true)
    expect(third.rest(), equals: "")
    clients[0].shutDown()
    expect(try fixture.reaches { _, server in server.connectionCount == 1 })
    let fourth = try fixture.connect()
    fourth.send("x\n")
    expect(fourth.line(), equals: "re:x")
  }

  @Test(.enabled(if: geteuid() == 0, "needs a second user"))
  func `one user's connections leave the other users theirs`() throws {
    let fixture = try ServerFixture(ServerLimits(connections: 100, connectionsPerUser: 1))
    let first = try fixture.connect()
    first.send("x\n")
    expect(first.line(), equals: "re:x")
    expect(try fixture.connect().line()?.contains("TooManyRequests") == true)
    try OtherUser(fixture).ask(times: 3)
    // The place is free again when the first leaves.
    first.shutDown()
    expect(try fixture.reaches { _, server in server.connectionCount == 0 })
    let next = try fixture.connect()
    next.send("z\n")
    expect(next.line(), equals: "re:z")
  }

  /// Twenty connections with lines without end: another client of their user has its turns, and so
  /// has another user, whose turn comes after each of theirs.
  @Test(.enabled(if: geteuid() == 0, "needs a second user"))
  func `clients that flood starve no other client and no other user`() throws {
    let fixture = try ServerFixture()
    let floods = try (0..<20).map { _ in try fixture.connect() }
    defer { for flood in floods { flood.shutDown() } }
    let other = try fixture.connect()
    let line = Array(String(repeating: "xxxxxxx\n", count: 4096).utf8)
    for flood in floods {
      Thread.detachNewThread { while flood.send(line) {} }
      Thread.detachNewThread { while !flood.receive().isEmpty {} }
    }
    // In no turn of the loop each of them has one of its own.
    let mostLines = floods.count * ServerLimits.turnLines
    // Not before the flood has begun, however busy the machine is.
    let first = try fixture.mostLinesOfATurn {
      expect(try fixture.reaches { receiver, _ in receiver.lines > 10_000 })
    }
    try #require(first < mostLines)
    let before = try fixture.run { receiver, _ in receiver.lines }
    let later = try fixture.mostLinesOfATurn {
      let user = try OtherUser(fixture)
      for _ in 0..<20 {
        other.send("x\n")
        expect(other.line(), equals: "re:x")
      }
      // Which turn it gets is counted in ``FairUseTests``; a starved user gets none.
      try user.ask(times: 100)
      // The flood goes on.
      expect(try fixture.reaches { receiver, _ in receiver.lines - before > 10_000 })
    }
    expect(later < mostLines)
    for flood in floods { flood.shutDown() }
    for _ in floods { expect(try fixture.sawClosing()) }
  }

  /// As without descriptors (EMFILE), which would be taken from all other tests too.
  @Test func `where accepting fails for long nothing spins and clients are served`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("x\n")
    expect(client.line(), equals: "re:x")
    fixture.breakListener()
    for _ in 0..<50 {
      client.send("y\n")
      expect(client.line(), equals: "re:y")
    }
    expect(try !fixture.thread.spins())
    client.send("z\n")
    expect(client.line(), equals: "re:z")
  }

  // MARK: Waiting requests

  @Test func `behind a waiting request nothing is answered before it`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("a\nwait\nb\nwait\nc")
    client.finishSending()
    expect(client.line(), equals: "re:a")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    try fixture.run { receiver, _ in receiver.answerWaiting() }
    expect(client.line(), equals: "at last")
    expect(client.line(), equals: "re:b")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    try fixture.run { receiver, _ in receiver.answerWaiting() }
    expect(client.rest(), equals: "at last\nre:c\n")
  }

  @Test func `a waiting client that hangs up is noticed`() throws {
    let fixture = try ServerFixture()
    do {
      let client = try fixture.connect()
      client.send("wait\n")
      expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    }
    expect(try fixture.sawClosing())
    expect(try fixture.run { _, server in server.connectionCount }, equals: 0)
    try fixture.run { receiver, _ in receiver.answerWaiting() }
  }

  @Test func `a waiting client has no deadline for a line it began`() throws {
    var limits = ServerLimits(connections: 10, connectionsPerUser: 10)
    limits.partialLine = .milliseconds(20)
    limits.stallCheck = .milliseconds(5)
    let fixture = try ServerFixture(limits)
    let (client, stalled) = (try fixture.connect(), try fixture.connect())
    client.send("wait\nrest")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    stalled.send("begun")
    expect(stalled.line()?.contains("Timeout") == true)
    expect(try fixture.run { _, server in server.connectionCount }, equals: 1)
    try fixture.run { receiver, _ in receiver.answerWaiting() }
    expect(client.line(), equals: "at last")
    expect(client.line()?.contains("Timeout") == true)
  }

  @Test func `many waiting clients are answered in one turn`() throws {
    let fixture = try ServerFixture()
    let clients = try (0..<200).map { _ in try fixture.connect() }
    for client in clients { client.send("wait\nx\n") }
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 200 })
    try fixture.run { receiver, _ in receiver.answerWaiting() }
    expect(clients.allSatisfy { $0.line() == "at last" && $0.line() == "re:x" })
  }

  // MARK: Listeners

  @Test func `a server that ends leaves its listener open and its file alone`() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/passed"
    let listener = try Socket.listening(at: path)
    let thread = try LoopThread()
    let served = try thread.run { loop in
      let receiver = ScriptedReceiver()
      let server = try SocketServer(
        loop: loop, limits: ServerLimits(connections: 9, connectionsPerUser: 9),
        receiver: receiver)
      try server.listen(at: UnixListener(listener.descriptor, receiver: receiver))
      server.stopListening()
      return server.connectionCount
    }
    expect(served, equals: 0)
    let client = try Socket(path: path)
    client.send("x")
    expect(listener.accept()?.receive(), equals: [UInt8(ascii: "x")])
  }
}
