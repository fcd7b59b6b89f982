import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// What one user's connections may take from the others.
struct FairUseTests {
  /// A connection without a descriptor.
  private func connection(
    _ user: UserQueue, _ token: UInt64, _ server: SocketServer
  ) -> LineConnection {
    let peer = Peer(uid: user.uid, gid: 0, pid: 0)
    return LineConnection(
      Newcomer(descriptor: -1, peer: peer, account: nil),
      at: UnixListener(-1, receiver: ScriptedReceiver()), user: user, token: token,
      accepted: Instant(nanoseconds: 0), server: server)
  }

  private func server(_ loop: EventLoop) throws -> SocketServer {
    try SocketServer(
      loop: loop, limits: ServerLimits(connections: 1, connectionsPerUser: 1),
      receiver: ScriptedReceiver())
  }

  @Test func `users take turns, whatever number of connections they have`() throws {
    let loop = try EventLoop()
    let server = try server(loop)
    let (flood, quiet) = (UserQueue(uid: 1), UserQueue(uid: 2))
    let queue = ReadyQueue()
    for token in 1...50 { queue.append(connection(flood, UInt64(token), server)) }
    queue.append(connection(quiet, 100, server))
    expect(queue.userCount, equals: 2)
    expect(queue.popUser() === flood)
    expect(flood.popReady()?.token, equals: 1)
    queue.append(flood)
    expect(queue.popUser() === quiet)
    expect(quiet.popReady()?.token, equals: 100)
    expect(!quiet.hasReady)
    expect(queue.popUser() === flood)
    expect((2...50).allSatisfy { flood.popReady()?.token == UInt64($0) })
    expect(queue.isEmpty)
  }

  @Test func ownersTakeTurnsHoweverManyElementsTheyHave() throws {
    let loop = try EventLoop()
    let server = try server(loop)
    let (a, b, c) = (UserQueue(uid: 1), UserQueue(uid: 2), UserQueue(uid: 3))
    let queue = ReadyQueue()
    for number in 1...4 { queue.append(connection(a, UInt64(number), server)) }
    queue.append(connection(b, 10, server))
    queue.append(connection(c, 20, server))
    var order: [UInt64] = []
    while let user = queue.popUser() {
      if let next = user.popReady() { order.append(next.token) }
      if user.hasReady { queue.append(user) }
    }
    expect(order, equals: [1, 10, 20, 2, 3, 4])
    expect(queue.isEmpty)
  }

  @Test func `a queued connection keeps its place`() throws {
    let loop = try EventLoop()
    let server = try server(loop)
    let user = UserQueue(uid: 1)
    let (first, second) = (connection(user, 1, server), connection(user, 2, server))
    let queue = ReadyQueue()
    for connection in [first, second, first] { queue.append(connection) }
    expect(queue.popUser() === user)
    expect(user.popReady() === first)
    expect(user.popReady() === second)
    expect(user.popReady() == nil)
  }

  @Test func `a pipeline is answered some lines a turn and in order`() throws {
    let fixture = try ServerFixture()
    let (long, short) = (try fixture.connect(), try fixture.connect())
    let count = ServerLimits.turnLines * 20
    // Both are there before the loop turns again.
    try fixture.run { _, _ in
      long.send((0..<count).map { "\($0)\n" }.joined())
      short.send("x\n")
    }
    expect(short.line(), equals: "re:x")
    expect((0..<count).map { _ in long.line() }, equals: (0..<count).map { "re:\($0)" })
    let order = try fixture.run { receiver, _ in receiver.order }
    expect(try #require(order.firstIndex(of: 2)) <= ServerLimits.turnLines)
  }

  @Test(.enabled(if: geteuid() == 0, "needs a second user"))
  func `a user with lines for many turns leaves the next user a turn in between`() throws {
    let fixture = try ServerFixture()
    let floods = try (0..<20).map { _ in try fixture.connect() }
    let other = try OtherUser(fixture)
    let questions = other.questions
    let (own, before) = try fixture.run { receiver, server in
      for flood in floods {
        flood.send(String(repeating: "x\n", count: ServerLimits.turnLines * 2))
      }
      // The loop stands still until the other user's line is there too.
      let connection = try #require(server.connections.first { $0.peer.uid != geteuid() })
      try questions.write(contentsOf: Data("1\n".utf8))
      var input = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
      expect(unsafe poll(&input, 1, HangLimit.milliseconds), equals: 1)
      return (receiver.order.last, receiver.order.count)
    }
    try other.waitForAnswers()
    let order = try fixture.run { receiver, _ in Array(receiver.order.dropFirst(before)) }
    let place = try #require(order.firstIndex { $0 == own })
    // Not after the turns of the other twenty: some are under way when it comes.
    expect(place <= 4 * ServerLimits.turnLines, "\(place)")
  }

  @Test(.enabled(if: geteuid() == 0, "needs a second user"))
  func `a user whose connections are all answered at once leaves the next user a turn`() throws {
    let fixture = try ServerFixture()
    let floods = try (0..<20).map { _ in try fixture.connect() }
    for flood in floods {
      flood.send("wait\n" + String(repeating: "x\n", count: ServerLimits.turnLines))
    }
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == floods.count })
    let other = try OtherUser(fixture)
    let questions = other.questions
    let (own, before) = try fixture.run { receiver, server in
      // The loop stands still until the other user's line is there too.
      let connection = try #require(server.connections.first { $0.peer.uid != geteuid() })
      try questions.write(contentsOf: Data("1\n".utf8))
      var input = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
      expect(unsafe poll(&input, 1, HangLimit.milliseconds), equals: 1)
      receiver.answerWaiting()
      return (receiver.order.last, receiver.order.count)
    }
    try other.waitForAnswers()
    let order = try fixture.run { receiver, _ in Array(receiver.order.dropFirst(before)) }
    let place = try #require(order.firstIndex { $0 == own })
    // Not after the turns of the other twenty: some are under way when it comes.
    expect(place <= 4 * ServerLimits.turnLines, "\(place)")
  }

  @Test func `the lines after an answer wait for a turn`() throws {
    let fixture = try ServerFixture()
    let clients = try (0..<20).map { _ in try fixture.connect() }
    for client in clients { client.send("wait\nx\ny\n") }
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == clients.count })
    let taken = try fixture.run { receiver, server in
      receiver.answerWaiting()
      server.writeReplies()
      return receiver.lines
    }
    expect(taken, equals: clients.count)
    for client in clients {
      expect([client.line(), client.line(), client.line()], equals: ["at last", "re:x", "re:y"])
    }
  }

  @Test func `what takes long ends the turn`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send("x\nlong\nlong\nx\nx\n")
    for answer in ["re:x", "re:long", "re:long", "re:x", "re:x"] {
      expect(client.line(), equals: answer)
    }
    let full = ServerLimits.turnLines - 1
    let left = try fixture.run { receiver, _ in receiver.linesLeft }
    expect(left, equals: [full, full - 1, full, full, full - 1])
  }

  @Test func `lines that were read are answered though nothing more comes`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    client.send(String(repeating: "x\n", count: ServerLimits.turnLines * 3) + "last")
    client.finishSending()
    let answers = client.rest().split(separator: "\n")
    expect(answers.count, equals: ServerLimits.turnLines * 3 + 1)
    expect(answers.last, equals: "re:last")
  }

  @Test func `unfinished lines of one user are bounded together`() throws {
    let fixture = try ServerFixture()
    let half = [UInt8](repeating: UInt8(ascii: "a"), count: Limits.Line.bytes - 1)
    let fitting = Limits.Client.unfinishedBytesPerUser / half.count
    let clients = try (0..<fitting).map { _ in try fixture.connect() }
    for client in clients { client.send(half) }
    expect(
      try fixture.reaches { _, server in
        server.connections.reduce(0) { $0 + $1.unfinishedBytes } == fitting * half.count
      })
    let excess = try fixture.connect()
    excess.send(half)
    let refusal = excess.line()
    expect(refusal?.contains("TooManyRequests") == true)
    expect(refusal?.contains("2097152 bytes of unfinished request lines") == true)
    expect(excess.rest(), equals: "")
    // Those that were there go on, and a whole line is always taken.
    let other = try fixture.connect()
    other.send("x\n")
    expect(other.line(), equals: "re:x")
    clients[0].send("\n")
    expect(clients[0].line()?.count, equals: half.count + 3)
    expect(
      try fixture.reaches { _, server in
        server.connections.first?.user.unfinishedBytes == (fitting - 1) * half.count
      })
    // What was given back may be taken again.
    let next = try fixture.connect()
    next.send(half)
    next.send("\n")
    expect(next.line()?.count, equals: half.count + 3)
  }

  @Test func `unread replies of one user are bounded together`() throws {
    let fixture = try ServerFixture()
    let large = "big 1000000\n"
    let deaf = try (0..<8).map { _ in try fixture.connect() }
    for client in deaf { client.send(large) }
    expect(
      try fixture.reaches { _, server in
        server.connections.contains { $0.isClosing && $0.backlog > 0 }
      })
    let held = try fixture.run { _, server in server.connections.reduce(0) { $0 + $1.backlog } }
    expect(held < Limits.Client.backlogBytesPerUser + 3 * (1_000_000 + 1000))
    // A client that reads gets its replies, and then the reason.
    let endings = deaf.map { client -> String in
      client.finishSending()
      return String(client.rest().suffix(200))
    }
    expect(endings.contains { $0.contains("TooManyRequests") && $0.contains("unread replies") })
    expect(endings.contains { !$0.contains("TooManyRequests") })
    // Taken, they are no longer held against their user.
    let next = try fixture.connect()
    next.send(large)
    expect(next.line()?.count, equals: 1_000_000)
  }

  @Test func `a client that does not read its events is closed, and no other`() throws {
    let fixture = try ServerFixture()
    let (deaf, quick) = (try fixture.connect(), try fixture.connect())
    expect(try fixture.reaches { _, server in server.connectionCount == 2 })
    // Events come outside a client's turns: some 1.2 MB are kept for one that does not read.
    let event = Array(String(repeating: "e", count: 100_000).utf8) + [0x0A]
    var rounds = 0
    while try fixture.run({ _, server in server.connectionCount }) == 2 {
      rounds += 1
      try #require(rounds < 100)
      try fixture.run { _, server in
        for connection in server.connections { server.reply(event, to: connection) }
      }
      expect(quick.line()?.utf8.count, equals: event.count - 1)
    }
    expect(rounds > Limits.Client.backlogBytes / event.count)
    quick.send("x\n")
    expect(quick.line(), equals: "re:x")
    // What the kernel held is all there is, and no line of it is broken off by another one.
    expect(deaf.rest().allSatisfy { $0 == "e" || $0 == "\n" })
  }

  @Test func `what is closed is no longer counted`() throws {
    let fixture = try ServerFixture()
    let (keeper, leaver) = (try fixture.connect(), try fixture.connect())
    keeper.send("x\n")
    leaver.send("half a line")
    expect(
      try fixture.reaches { _, server in
        server.connections.first?.user.unfinishedBytes == 11
      })
    leaver.shutDown()
    expect(
      try fixture.reaches { _, server in
        server.connectionCount == 1 && server.connections.first?.user.unfinishedBytes == 0
          && server.connections.first?.user.connections == 1
      })
  }
}

extension UserQueue {
  fileprivate convenience init(uid: UInt32) { self.init(UserPlace(uid: uid, allowance: nil)) }
  fileprivate var uid: UInt32 { place.uid }
}
