import CLinux
import CredCore
import CredLoopback
import Glibc
import Logging
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// An endpoint whose clients are many.
struct EndpointServerTests {
  /// As many connections as one user may have.
  private func fill(_ fixture: EndpointFixture) throws -> [Socket] {
    let held = try (0..<Limits.Endpoint.connectionsPerUser).map { _ in try fixture.connect() }
    expect(try fixture.reaches { $0.connectionCount == held.count })
    return held
  }

  /// Usual clients send their request, and look for an answer only if that succeeds.
  @Test func whoIsRefusedCanStillSendAndReadsTheRefusal() throws {
    let fixture = try EndpointFixture()
    let held = try fill(fixture)
    for number in 1...3 {
      let refused = try fixture.connect()
      expect(try fixture.reaches { $0.limitHits[.endpointConnections] == number })
      expect(refused.send(EndpointFixture.request) && refused.send(EndpointFixture.request))
      expect(refused.rest().hasPrefix("HTTP/1.1 429 "))
    }
    // A client that has closed is no longer held.
    expect(try fixture.reaches { $0.refused.count == 0 })
    expect(try fixture.run { $0.connectionCount }, equals: held.count)
  }

  @Test func whoDoesNotCloseAfterARefusalIsReset() throws {
    let fixture = try EndpointFixture(refusalTime: .milliseconds(10))
    let held = try fill(fixture)
    let refused = try fixture.connect()
    expect(refused.rest().hasPrefix("HTTP/1.1 429 "))
    // It has no other end any more. After an orderly end it would wait for its own close.
    expect(eventually { credd_tcp_state(refused.descriptor) < 0 })
    expect(try fixture.run { $0.refused.count == 0 && $0.connectionCount == held.count })
  }

  @Test func whatIsBeyondALimitIsResetAndTakesNoObjectAndNoPort() throws {
    let fixture = try EndpointFixture()
    let held = try fill(fixture)
    let made = try fixture.run { $0.sockets.table.generation }
    let waiting = try (0..<Limits.Endpoint.refusedConnections).map { _ in try fixture.connect() }
    expect(try fixture.reaches { $0.refused.count == waiting.count })
    for _ in 0..<10 {
      // The loop stands still until it has connected: a reset that comes sooner fails the connect.
      let refused = try fixture.run { _ in try fixture.connect() }
      expect(refused.rest().hasPrefix("HTTP/1.1 429 "))
      expect(credd_tcp_state(refused.descriptor) < 0)
    }
    expect(try fixture.run { $0.sockets.table.generation }, equals: made)
    expect(
      try fixture.run { $0.limitHits[.endpointConnections] ?? 0 }, equals: waiting.count + 10)
    held[0].send(EndpointFixture.request)
    expect(held[0].rest().hasPrefix("HTTP/1.1 200 "))
    expect(try fixture.reaches { $0.connectionCount == held.count - 1 })
    let next = try fixture.connect()
    next.send(EndpointFixture.request)
    expect(next.rest().hasPrefix("HTTP/1.1 200 "))
  }

  /// On a host whose groups credd does not see, each connection would look for its own.
  @Test func aGroupThatIsNotFoundIsNotLookedForWithEachConnection() throws {
    let fixture = try EndpointFixture()
    for _ in 0..<200 {
      let client = try fixture.connect()
      client.send(EndpointFixture.request)
      expect(client.rest().hasPrefix("HTTP/1.1 200 "))
    }
    // One in a second, on a machine that takes some time for them.
    let walks = fixture.groups.walks
    expect((1...100).contains(walks), "\(walks)")
  }
}

/// An endpoint on a loop. All clients are one user's, in one control group, which is not found.
private final class EndpointFixture: Sendable {
  static let request = "GET /credentials/default HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

  let groups = CountedGroups()
  private let thread: LoopThread
  private let port: Int
  private let listener: Int32
  private let server: OnLoop<EndpointServer>

  /// - Parameter refusalTime: longer than every test by default.
  init(refusalTime: Duration = .seconds(600)) throws {
    var name = credd_tcp_name()
    name.ipv4 = (127, 0, 0, 1)
    let listener = unsafe try SystemError.check(credd_listen_loopback(&name, 128), "listen")
    let address = EndpointAddress(name)
    let groups = groups
    thread = try LoopThread()
    server = try thread.run { loop in
      let log = Logger(label: "test")
      let server = try EndpointServer(
        loop: loop, receiver: AnsweringReceiver(), attestation: OneUser(),
        units: UnitDirectory(
          clock: try SystemClock(loop: loop, log: log),
          background: try ThreadBackground(loop: loop, log: log), queries: groups),
        log: log, refusalTime: refusalTime)
      try server.listen(on: listener, at: address)
      return OnLoop(value: server)
    }
    port = Int(name.port)
    self.listener = listener
  }

  deinit {
    thread.stop()
    credd_close(listener)
  }

  func connect() throws -> Socket { try Socket(port: port) }

  func run<R: Sendable>(_ body: @escaping @Sendable (EndpointServer) throws -> R) throws -> R {
    try thread.run { [server] _ in try body(server.value) }
  }

  func reaches(_ condition: @escaping @Sendable (EndpointServer) -> Bool) throws -> Bool {
    try thread.reaches { [server] _ in condition(server.value) }
  }
}

private final class CountedGroups: ControlGroupQueries {
  private let count = Mutex(0)

  var walks: Int { count.withLock { $0 } }

  func path(ofControlGroup id: UInt64) -> ControlGroupSearch {
    count.withLock { $0 += 1 }
    return .missing
  }

  func isThere(_ path: String, _ id: UInt64) -> Bool { false }
}

private final class OneUser: ConnectionAttesting {
  func attest(_ connection: Int32) -> Result<AttestedPeer, AttestationFailure> {
    Result { () throws(AttestationFailure) in
      try AttestedPeer(
        SocketReport(isOfOtherEnd: true, state: 1, uid: 1000, inode: 1, controlGroup: 5),
        ownState: 1)
    }
  }
}

/// Answers every request and closes.
private final class AnsweringReceiver: EndpointReceiving {
  private var last: UInt64 = 0

  func account(of uid: UInt32) -> Account? { .user(uid) }

  func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client {
    last += 1
    return Client(
      id: last, user: ClientUser(uid: facts.peer.uid, account: .user(facts.peer.uid)),
      transport: .http(HTTPState()), facts: facts, sink: sink)
  }

  func receive(
    _ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant
  ) {
    client.sink.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
    client.sink.finish()
  }

  func refused(_ refusal: EndpointRefusal, of peer: Peer) {}
  func left(_ client: Client) {}
}
