import TestSupport
import Testing

@testable import CredRuntime

/// A daemon that ends, as its clients see it.
struct DrainTests {
  /// Only the loop's thread touches it.
  private final class End: @unchecked Sendable {
    var count = 0
  }

  /// What the daemon waits for; only the loop's thread touches it.
  private final class Work: @unchecked Sendable {
    var ended: (() -> Void)?
  }

  private func fixture(drainTime: Duration) throws -> ServerFixture {
    var limits = ServerLimits(connections: 10, connectionsPerUser: 10)
    limits.drainTime = drainTime
    return try ServerFixture(limits)
  }

  private func drain(_ fixture: ServerFixture) throws -> End {
    let end = End()
    try fixture.run { _, server in try? server.drain { end.count += 1 } }
    return end
  }

  @Test func `an accepted client that has not asked yet is still answered`() throws {
    let fixture = try fixture(drainTime: .seconds(60))
    let (early, late) = (try fixture.connect(), try fixture.connect())
    early.send("a\n")
    expect(early.line(), equals: "re:a")
    expect(try fixture.reaches { _, server in server.connectionCount == 2 })
    let end = try drain(fixture)
    expect(try fixture.run { _, _ in end.count }, equals: 0)
    late.send("b\n")
    expect(late.line(), equals: "re:b")
    expect(try fixture.reaches { _, _ in end.count == 1 })
  }

  @Test func `the end waits for no client that has asked`() throws {
    let fixture = try fixture(drainTime: .seconds(60))
    let client = try fixture.connect()
    client.send("a\n")
    expect(client.line(), equals: "re:a")
    let end = try drain(fixture)
    expect(try fixture.run { _, _ in end.count }, equals: 1)
  }

  @Test func `a silent client is not waited for long`() throws {
    let fixture = try fixture(drainTime: .milliseconds(20))
    let client = try fixture.connect()
    expect(try fixture.reaches { _, server in server.connectionCount == 1 })
    let end = try drain(fixture)
    expect(try fixture.reaches { _, _ in end.count == 1 })
    client.send("too late\n")
    expect(try fixture.run { _, _ in end.count }, equals: 1)
  }

  @Test func `lines that were sent ahead are answered before the end`() throws {
    let fixture = try fixture(drainTime: .seconds(60))
    let client = try fixture.connect()
    let count = ServerLimits.turnLines * 3
    client.send("wait\n" + (0..<count).map { "\($0)\n" }.joined())
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    let end = End()
    try fixture.run { receiver, server in
      receiver.answerWaiting()
      try server.answerRest { end.count += 1 }
      expect(end.count, equals: 0)
    }
    expect(client.line(), equals: "at last")
    expect((0..<count).map { _ in client.line() }, equals: (0..<count).map { "re:\($0)" })
    expect(try fixture.reaches { _, _ in end.count == 1 })
  }

  /// Its reply does not fit into the socket's buffer, so the next line waits until it is taken.
  @Test func `lines behind a long reply are answered before the end`() throws {
    let fixture = try fixture(drainTime: .seconds(60))
    let client = try fixture.connect()
    client.send("big 3000000\nbig 3000000\nlast\n")
    expect(try fixture.reaches { _, server in server.connections.contains { $0.backlog > 0 } })
    let end = End()
    try fixture.run { _, server in
      try server.answerRest { end.count += 1 }
      expect(end.count, equals: 0)
    }
    expect(client.line()?.count == 3_000_000 && client.line()?.count == 3_000_000)
    expect(client.line(), equals: "re:last")
    expect(try fixture.reaches { _, _ in end.count == 1 })
  }

  /// A renewal of tokens may take seconds, in which clients go on asking.
  @Test func `lines that come while the daemon waits for tokens are answered before the end`()
    throws
  {
    let fixture = try fixture(drainTime: .seconds(60))
    let client = try fixture.connect()
    let work = Work()
    let end = End()
    try fixture.run { _, server in
      server.answerRest(around: { work.ended = $0 }, then: { end.count += 1 })
    }
    expect(try fixture.reaches { _, _ in work.ended != nil })
    client.send("big 3000000\nbig 3000000\nlast\n")
    expect(try fixture.reaches { _, server in server.connections.contains { $0.backlog > 0 } })
    // An expectation on the loop's thread would count for no test.
    let early = try fixture.run { _, _ in
      work.ended?()
      return end.count
    }
    expect(early, equals: 0)
    expect(client.line()?.count == 3_000_000 && client.line()?.count == 3_000_000)
    expect(client.line(), equals: "re:last")
    expect(try fixture.reaches { _, _ in end.count == 1 })
  }

  @Test func `a request that waits for ever does not hold up the end`() throws {
    let fixture = try fixture(drainTime: .seconds(60))
    let client = try fixture.connect()
    client.send("wait\nx\n")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    let end = End()
    try fixture.run { _, server in try server.answerRest { end.count += 1 } }
    expect(try fixture.run { _, _ in end.count }, equals: 1)
  }
}
