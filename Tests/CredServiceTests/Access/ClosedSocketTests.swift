import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A socket with a cap never becomes one without: what does not fit is closed.
struct ClosedSocketTests {
  private static let capped = SocketCapTests.capped
  private static let closed = "credd serves nothing at this socket: its journal says why"

  private func socket(_ path: String, _ name: String = "capped") -> ClientSocket {
    ClientSocket(path: UnixSocketPath(path), name: name)
  }

  private func isClosed(_ socket: ClientSocket, _ fixture: ServiceFixture) -> Bool {
    fixture.service.refusal(at: socket)?.message == Self.closed
  }

  @Test func `name, path and section must fit together`() throws {
    let fixture = try ServiceFixture(SocketCapTests.text())
    expect(!isClosed(Self.capped, fixture))
    for socket in [
      socket("/run/credd-agent/sock"), socket("/run/credd-agents/sock/"), socket("run"), socket(""),
      socket(SocketCapTests.path, "credd.socket"), socket(SocketCapTests.path, ""),
    ] { expect(isClosed(socket, fixture), "\(socket)") }
    for socket in [ClientSocket.main, socket("/run/credd/credd.sock", "credd.socket")] {
      expect(!isClosed(socket, fixture), "\(socket)")
    }
  }

  @Test func `an error names both paths`() throws {
    let fixture = try ServiceFixture(SocketCapTests.text())
    let main = socket("/run/credd/credd.sock", "credd.socket")
    let mistyped = socket("/run/credd-agent/sock")
    func problem(_ socket: ClientSocket, _ all: [ClientSocket]) -> String? {
      fixture.service.problem(of: socket, among: all)
    }
    expect(problem(Self.capped, [main, Self.capped]) == nil && problem(main, [main]) == nil)
    expect(
      problem(mistyped, [main, mistyped]),
      equals: "it refuses everybody: /run/credd-agent/sock has no section [socket "
        + "/run/credd-agent/sock]; no socket is passed for [socket /run/credd-agents/sock]: give both "
        + "the same path")
    expect(
      problem(mistyped, [main, mistyped, Self.capped]),
      equals: "it refuses everybody: /run/credd-agent/sock has no section [socket "
        + "/run/credd-agent/sock]; add this section, or stop its socket unit")
    expect(
      problem(socket(SocketCapTests.path, "other.socket"), []),
      equals: "it refuses everybody: [socket /run/credd-agents/sock] needs "
        + "FileDescriptorName=capped, and /run/credd-agents/sock was passed as 'other.socket': set this "
        + "name in its socket unit")
    try fixture.reload(SocketCapTests.text(""))
    expect(
      problem(socket(SocketCapTests.path, "other.socket"), []),
      equals: "it refuses everybody: [socket /run/credd-agents/sock] was taken away, and "
        + "/run/credd-agents/sock becomes no socket without a cap before credd is started again")
  }

  // MARK: Reloads

  @Test func `a reload that takes the section away closes the socket, also for open connections`()
    throws
  {
    let keys = "profiles = narrow\noperations = get watch"
    let fixture = try ServiceFixture(SocketCapTests.text(keys))
    let clients = (0..<4).map { _ in fixture.connect(at: Self.capped) }
    let (idle, hot, watching, waiting) = (clients[0], clients[1], clients[2], clients[3])
    for client in [idle, hot] { expect(try client.ask("{}").accessKeyID != nil) }
    expect(try watching.ask(#"{"op":"watch"}"#)["Event"] != nil)
    fixture.host.upstreams.faults["token"] = .hang
    waiting.send(#"{"refresh":true,"wait":60}"#)
    expect(waiting.isWaiting)
    try fixture.reload(SocketCapTests.text(""))
    expect(isClosed(Self.capped, fixture))
    // Who waits or watches is told at once, the others at their next line.
    for client in [watching, waiting] {
      expect(try client.next().errorMessage, equals: Self.closed)
    }
    expect(watching.client?.watch == nil && !waiting.isWaiting)
    expect(idle.hasReadAll && hot.hasReadAll)
    for (client, line) in zip([idle, hot, watching], ["{}", "{", #"{"op":"ping"}"#]) {
      expect(try client.ask(line).errorMessage, equals: Self.closed)
      expect(client.isFinished)
    }
    // With its section it is served again.
    try fixture.reload(SocketCapTests.text(keys))
    expect(!isClosed(Self.capped, fixture))
    expect(try waiting.ask(#"{"wait":0}"#).accessKeyID != nil)
  }

  @Test func `a reload takes away a profile or an operation, for what waits too`() throws {
    let others = Configured.profile("wide")
    let before = "profiles = narrow wide\noperations = get watch token"
    let fixture = try ServiceFixture(SocketCapTests.text(before, others: others))
    func connect(_ line: String) throws -> TestClient {
      let client = fixture.connect(at: Self.capped)
      client.send(line)
      return client
    }
    let hot = try connect(#"{"profile":"wide"}"#)
    expect(try hot.next().accessKeyID != nil)
    let watching = try ["", #","profile":"wide""#].map {
      try connect(#"{"op":"watch"\#($0)}"#)
    }
    fixture.host.upstreams.faults["token"] = .hang
    let waiting = try [
      connect(#"{"profile":"wide","refresh":true,"wait":60}"#),
      connect(#"{"op":"token","profile":"narrow","refresh":true,"wait":60}"#),
    ]
    let stays = try connect(#"{"profile":"narrow","refresh":true,"wait":60}"#)
    expect((waiting + [stays]).allSatisfy(\.isWaiting))
    let events = watching[0].replies.count
    try fixture.reload(
      SocketCapTests.text("profiles = narrow\noperations = get watch", others: others))
    for client in waiting { expect(try client.next().errorCode, equals: "AccessDenied") }
    expect(watching[1].replies.last?.errorCode, equals: "AccessDenied")
    expect(stays.isWaiting)
    expect(try hot.ask(#"{"profile":"wide"}"#).errorCode, equals: "AccessDenied")
    // The watch of all goes on without it.
    fixture.host.upstreams.faults["token"] = nil
    _ = try fixture.ask(#"{"op":"clear","what":"credentials","profile":"wide"}"#)
    _ = try fixture.ask(#"{"profile":"wide","wait":60}"#)
    let later = watching[0].replies.dropFirst(events)
    expect(later.allSatisfy { $0["Profile"]?.text != "wide" }, "\(later)")
  }

  @Test func `a reload of something else changes nothing`() throws {
    let fixture = try ServiceFixture(SocketCapTests.text())
    let client = fixture.connect(at: Self.capped)
    fixture.host.upstreams.faults["token"] = .hang
    client.send(#"{"wait":60}"#)
    try fixture.reload(SocketCapTests.text() + Configured.profile("more"))
    expect(client.isWaiting)
  }

  /// A listener under another name at this path was served until now.
  @Test func `a section closes another listener at its path, for good`() throws {
    let other = socket(SocketCapTests.path, "credd.socket")
    let fixture = try ServiceFixture(SocketCapTests.text(""))
    let client = fixture.connect(at: other)
    expect(try client.ask(#"{"profile":"wide"}"#).accessKeyID != nil)
    for socket in ["profiles = narrow", ""] {
      try fixture.reload(SocketCapTests.text(socket))
      expect(isClosed(other, fixture))
    }
    expect(try client.ask(#"{"profile":"wide"}"#).errorMessage, equals: Self.closed)
    expect(!isClosed(.main, fixture))
  }
}
