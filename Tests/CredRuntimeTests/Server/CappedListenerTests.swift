import CredCore
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// The server's side of sockets with a cap.
struct CappedListenerTests {
  private static let limits = ServerLimits(connections: 8, connectionsPerUser: 2)

  @Test func `each connection to a closed socket gets one answer, and no client`() throws {
    let fixture = try ServerFixture()
    let capped = try fixture.addCapped()
    try fixture.run { receiver, _ in
      receiver.refusal = { $0.isCapped ? .closedSocket : nil }
    }
    for _ in 0..<3 {
      let client = try Socket(path: capped.path)
      client.send("{}\n")
      expect(client.line()?.contains("AccessDenied") == true)
      expect(client.line() == nil)
    }
    let main = try fixture.connect()
    main.send("a\n")
    expect(main.line(), equals: "re:a")
    expect(
      try fixture.run { receiver, server in (receiver.lines, server.connectionCount) } == (1, 1))
  }

  @Test func `connections there leave those of the user free, and the other way round`() throws {
    let fixture = try ServerFixture(Self.limits)
    let capped = try fixture.addCapped()
    func served(_ socket: Socket) -> Bool {
      socket.send("a\n")
      return socket.line() == "re:a"
    }
    for connect in [{ try Socket(path: capped.path) }, { try fixture.connect() }] {
      let clients = try (0..<3).map { _ in try connect() }
      expect(clients.map(served), equals: [true, true, false])
    }
    withExtendedLifetime(capped) {}
  }

  /// Root of a container is nobody's administrator.
  @Test func `the connections that are kept for administrators are not for it`() throws {
    var limits = ServerLimits(connections: 2, connectionsPerUser: 100)
    limits.reservedUsers = [geteuid()]
    let fixture = try ServerFixture(limits)
    let capped = try fixture.addCapped()
    let clients = try (0..<3).map { _ in try Socket(path: capped.path) }
    for client in clients { client.send("a\n") }
    let lines = clients.map { $0.line() ?? "" }
    expect(
      lines.prefix(2).allSatisfy { $0 == "re:a" } && lines[2].contains("max_connections"),
      "\(lines)")
    let main = try fixture.connect()
    main.send("a\n")
    expect(main.line(), equals: "re:a")
    withExtendedLifetime((clients, capped)) {}
  }
}
