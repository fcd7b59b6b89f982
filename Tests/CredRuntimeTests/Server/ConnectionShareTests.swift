import CredCore
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Who has how many of the connections.
struct ConnectionShareTests {
  @Test func `some connections are kept for root and for the daemon's own user`() throws {
    var limits = ServerLimits(connections: 2, connectionsPerUser: 100)
    limits.reservedUsers = [geteuid()]
    let fixture = try ServerFixture(limits)
    let most = 2 + Limits.Client.reservedConnections
    let sockets = try (0..<most).map { _ in try fixture.connect() }
    for socket in sockets {
      expect(socket.send("x\n"))
      expect(socket.line(), equals: "re:x")
    }
    let refused = try fixture.connect()
    expect(refused.line()?.contains("max_connections") == true)
    expect(try fixture.run { _, server in server.limitHits[.connections] ?? 0 }, equals: 1)
  }

  @Test func `nothing is kept for others`() throws {
    let fixture = try ServerFixture(ServerLimits(connections: 2, connectionsPerUser: 100))
    let sockets = try (0..<2).map { _ in try fixture.connect() }
    for socket in sockets {
      expect(socket.send("x\n"))
      expect(socket.line(), equals: "re:x")
    }
    expect(try fixture.connect().line()?.contains("TooManyRequests") == true)
  }

  @Test func `a connection beyond its user's limit takes no object and no turn`() throws {
    let fixture = try ServerFixture(ServerLimits(connections: 100, connectionsPerUser: 2))
    let held = try (0..<2).map { _ in try fixture.connect() }
    for socket in held {
      expect(socket.send("x\n"))
      expect(socket.line(), equals: "re:x")
    }
    // More than one turn accepts.
    let refused = try (0..<50).map { _ in try fixture.connect() }
    for socket in refused {
      expect(socket.line()?.contains("more than 2 (max_connections_per_user)") == true)
      expect(socket.rest(), equals: "")
    }
    expect(try fixture.run { _, server in server.limitHits[.connections] ?? 0 }, equals: 50)
    // A number for each object that was made.
    expect(try fixture.run { _, server in server.table.generation }, equals: 2)
    expect(try fixture.run { _, server in server.connectionCount }, equals: 2)
    held[0].shutDown()
    expect(try fixture.reaches { _, server in server.connectionCount == 1 })
    let next = try fixture.connect()
    expect(next.send("y\n"))
    expect(next.line(), equals: "re:y")
  }

  /// Whoever connects without end fills the kernel's queue. What another user's new connection waits for is
  /// counted here: those that came before it, and not those that came after it.
  @Test(.enabled(if: geteuid() == 0, "needs a second user"))
  func `a new connection waits behind those before it alone`() throws {
    let fixture = try ServerFixture(ServerLimits(connections: 100, connectionsPerUser: 2))
    let held = try (0..<2).map { _ in try fixture.connect() }
    for socket in held {
      expect(socket.send("x\n"))
      expect(socket.line(), equals: "re:x")
    }
    let other = try OtherUser(fixture)
    let connectAnew = other.connectAnew
    let (before, after) = (200, 2000)
    // The loop stands still until all are in the queue.
    try fixture.run { _, _ in
      for _ in 0..<before { _ = try fixture.connect() }
      try connectAnew()
      for _ in 0..<after { _ = try fixture.connect() }
    }
    try other.waitForAnswers()
    let refusals = try fixture.run { receiver, _ in receiver.refusals.last ?? 0 }
    // A turn of 25 µs refuses some more, each of which takes half a microsecond or more.
    expect(before...before + 50 ~= refusals, "\(refusals)")
    expect(
      try fixture.reaches { _, server in server.limitHits[.connections] == before + after })
  }

  @Test func `the daemon keeps them for root and itself`() {
    let limits = ServerLimits(DaemonSettings())
    expect(limits.reservedUsers, equals: [0, geteuid()])
  }

  @Test func `uids of nobody have half together, and those that are looked up a quarter`() {
    let limits = ServerLimits(connections: 4096, connectionsPerUser: 64)
    expect(limits.share(of: .user(1000)).limit, equals: 64)
    expect(limits.share(of: .range(100_000)).limit, equals: 64)
    expect(limits.share(of: .ownerless).limit, equals: 2048)
    expect(limits.share(of: nil).limit, equals: 1024)
    // A host with few connections leaves a user that is looked up what a user has.
    let few = ServerLimits(connections: 8, connectionsPerUser: 6)
    expect(few.share(of: nil).limit, equals: 6)
    expect(few.share(of: .ownerless).limit, equals: 6)
  }

  @Test func `a connection that is beyond its account's share ends when the account is known`()
    throws
  {
    let fixture = try ServerFixture(ServerLimits(connections: 8, connectionsPerUser: 6))
    try fixture.run { receiver, _ in receiver.account = { _ in nil } }
    let sockets = try (0..<6).map { _ in try fixture.connect() }
    for socket in sockets {
      expect(socket.send("x\n"))
      expect(socket.line(), equals: "re:x")
    }
    let uid = geteuid()
    try fixture.run { receiver, server in
      receiver.account = { _ in .user(uid) }
      server.limits.connectionsPerUser = 4
      server.accountKnown(uid)
    }
    expect(try fixture.run { _, server in server.connectionCount }, equals: 4)
  }
}
