import CLinux
import CredCore
import CredService
import Glibc
import Logging
import TestSupport
import Testing

@testable import CredRuntime

/// How long a client may leave its answer unread.
struct EndpointConnectionTests {
  private final class NoReceiver: EndpointReceiving {
    func account(of uid: UInt32) -> Account? { .user(uid) }
    func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client {
      preconditionFailure("nobody connects")
    }
    func receive(
      _ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant
    ) {}
    func refused(_ refusal: EndpointRefusal, of peer: Peer) {}
    func left(_ client: Client) {}
  }

  private final class NobodyAttests: ConnectionAttesting {
    func attest(_ connection: Int32) -> Result<AttestedPeer, AttestationFailure> {
      .failure(.noAnswer)
    }
  }

  private struct NoGroups: ControlGroupQueries {
    func path(ofControlGroup id: UInt64) -> ControlGroupSearch { .missing }
    func isThere(_ path: String, _ id: UInt64) -> Bool { false }
  }

  private static func server() throws -> EndpointServer {
    let (loop, log) = (try EventLoop(), Logger(label: "test"))
    return try EndpointServer(
      loop: loop, receiver: NoReceiver(), attestation: NobodyAttests(),
      units: UnitDirectory(
        clock: try SystemClock(loop: loop, log: log),
        background: try ThreadBackground(loop: loop, log: log),
        queries: NoGroups()),
      log: log)
  }

  @Test func whoTakesNoAnswerGainsNoTimeByWhatItSends() throws {
    let server = try Self.server()
    var pair: [Int32] = [-1, -1]
    try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let client = pair[1]
    defer { credd_close(client) }
    try #require(credd_set_nonblocking(pair[0]) == 0)
    let listener = LoopbackListener(-1, at: EndpointAddress(port: 1), server)
    let newcomer = Newcomer(
      descriptor: pair[0], peer: Peer(uid: .max, gid: .max, pid: 0), account: nil)
    let sockets = server.sockets
    let user = UserQueue(UserPlace(uid: .max, allowance: nil))
    let connection = EndpointConnection(
      newcomer, at: listener, user: user, token: 1, server: sockets)
    connection.enqueue([UInt8](repeating: 0x20, count: 4 << 20))
    sockets.endTurn(connection, .seconds(5))
    expect(connection.backlog > 0)
    expect(sockets.deadlines.byToken[1], equals: Instant.seconds(15))
    sockets.endTurn(connection, .seconds(14))
    expect(connection.backlog > 0)
    expect(sockets.deadlines.byToken[1], equals: Instant.seconds(15))
    var taken = [UInt8](repeating: 0, count: 1 << 20)
    expect(unsafe read(client, &taken, taken.count) > 0)
    sockets.endTurn(connection, .seconds(14))
    expect(connection.backlog > 0)
    expect(sockets.deadlines.byToken[1], equals: Instant.seconds(24))
  }
}
