import CLinux
import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Does what the request lines say.
final class ScriptedReceiver: LineReceiving {
  unowned var server: SocketServer?
  private(set) var lines = 0
  /// How many lines were left of the turn at each.
  private(set) var linesLeft: [Int] = []
  /// Whose line each was.
  private(set) var order: [UInt64] = []
  /// How many connections had been refused at each.
  private(set) var refusals: [Int] = []
  /// Clients whose request waits.
  private(set) var waiting: [Client] = []
  let departures = DispatchSemaphore(value: 0)
  private var lastClient: UInt64 = 0

  /// What is known of users, where a test says so.
  var account: (UInt32) -> Account? = { .user($0) }

  func account(of uid: UInt32) -> Account? { account(uid) }

  /// The answer to everybody at a socket, where a test says so.
  var refusal: (ClientSocket) -> ProtocolError? = { _ in nil }

  func refusal(at socket: ClientSocket) -> ProtocolError? { refusal(socket) }

  func connected(
    _ facts: any PeerFacts, _ sink: any ReplySink, at socket: ClientSocket
  ) -> Client {
    lastClient += 1
    return Client(
      id: lastClient, user: ClientUser(uid: facts.peer.uid, account: .user(facts.peer.uid)),
      transport: .line, facts: facts, sink: sink)
  }

  func receive(
    _ line: borrowing Span<UInt8>, from client: Client, now: Instant
  ) -> Duration {
    lines += 1
    order.append(client.id)
    if let server {
      linesLeft.append(server.linesLeft)
      refusals.append(server.limitHits[.connections] ?? 0)
    }
    let text = String(decoding: line.copied, as: UTF8.self)
    if text == "wait", let request = try? Request.parse(Array("{}".utf8)) {
      client.setWaiting(WaitingRequest(request, for: .caller, asked: "get", nameSince: nil))
      waiting.append(client)
    } else if text.hasPrefix("big "), let size = Int(text.dropFirst(4)) {
      client.sink.send([UInt8](repeating: UInt8(ascii: "x"), count: size) + [0x0A])
    } else {
      client.sink.send(Array("re:\(text)\n".utf8))
    }
    return text == "long" ? ServerLimits.turnTime : .zero
  }

  func left(_ client: Client) {
    waiting.removeAll { $0 === client }
    departures.signal()
  }

  /// Answers all requests that wait, as the end of a refresh does.
  func answerWaiting() {
    let answered = waiting
    waiting = []
    for client in answered {
      client.setWaiting(nil)
      client.sink.send(Array("at last\n".utf8))
    }
  }
}

/// A server on a loop, at a socket in a folder of its own. Receiver and server are touched on the
/// loop alone.
final class ServerFixture: Sendable {
  let folder: TemporaryFolder
  let path: String
  let thread: LoopThread
  private let parts: OnLoop<(receiver: ScriptedReceiver, server: SocketServer, socket: Listener)>

  final class Listener {
    let bound: ListeningSocket

    init(_ path: String) throws(SystemError) {
      bound = try ListeningSocket(path: path, mode: 0o666)
    }
  }

  init(
    _ limits: ServerLimits = ServerLimits(connections: 1000, connectionsPerUser: 1000)
  ) throws {
    folder = try TemporaryFolder()
    let path = "\(folder.path)/s"
    self.path = path
    thread = try LoopThread()
    parts = try thread.run { loop in
      let receiver = ScriptedReceiver()
      let server = try SocketServer(loop: loop, limits: limits, receiver: receiver)
      receiver.server = server
      let socket = try Listener(path)
      try server.listen(at: UnixListener(socket.bound.descriptor, receiver: receiver))
      return OnLoop(value: (receiver, server, socket))
    }
  }

  deinit {
    thread.stop()
  }

  func connect() throws -> Socket {
    try Socket(path: path)
  }

  /// Listens at another path too, as a socket with a cap.
  ///
  /// - Returns: the path.
  func addCapped() throws -> (path: String, listener: OnLoop<Listener>) {
    let path = "\(folder.path)/capped"
    let listener = try thread.run { [parts] _ in
      let listener = try Listener(path)
      let socket = ClientSocket(path: UnixSocketPath(path), name: ClientSocket.nameOfCapped)
      try parts.value.server.listen(
        at: UnixListener(
          listener.bound.descriptor, as: socket, receiver: parts.value.receiver))
      return OnLoop(value: listener)
    }
    return (path, listener)
  }

  func run<R: Sendable>(
    _ body: @escaping @Sendable (ScriptedReceiver, SocketServer) throws -> R
  ) throws -> R {
    try thread.run { [parts] _ in try body(parts.value.receiver, parts.value.server) }
  }

  func reaches(
    _ condition: @escaping @Sendable (ScriptedReceiver, SocketServer) -> Bool
  ) throws -> Bool {
    try thread.reaches { [parts] _ in condition(parts.value.receiver, parts.value.server) }
  }

  /// The most lines that one turn of the loop answered while `body` ran. A busy machine makes them
  /// fewer, because a turn ends by time.
  func mostLinesOfATurn(during body: () throws -> Void) throws -> Int {
    let counter = try thread.run { [parts] loop in
      let counter = LineCounter(parts.value.receiver)
      loop.setEndpoint(counter)
      return OnLoop(value: counter)
    }
    let result = Result { try body() }
    let most = try thread.run { loop in
      loop.setEndpoint(nil)
      return counter.value.most
    }
    try result.get()
    return most
  }

  /// The loop calls it in each of its turns.
  private final class LineCounter: ReadinessReceiver {
    private let receiver: ScriptedReceiver
    private var last: Int
    private(set) var most = 0
    let isBusy = false

    init(_ receiver: ScriptedReceiver) {
      self.receiver = receiver
      last = receiver.lines
    }

    func serve(_ ready: borrowing Span<credd_ready>) {
      most = max(most, receiver.lines - last)
      last = receiver.lines
    }
  }

  /// The listener's clients are named with every message they send, unless the server objects, which
  /// it is given another occasion for.
  func nameSenders() throws {
    var on: Int32 = 1
    let listener = parts.value.socket.bound.descriptor
    let failed = unsafe setsockopt(
      listener, SOL_SOCKET, SO_PASSCRED, &on, socklen_t(MemoryLayout<Int32>.size))
    expect(failed, equals: 0)
    // One that is there by then has it.
    try thread.run { [parts] _ in
      parts.value.server.stopListening()
      try parts.value.server.listen(
        at: UnixListener(listener, receiver: parts.value.receiver))
    }
  }

  /// From now on the listener is ready for ever and accepting from it fails.
  func breakListener() {
    shutdown(parts.value.socket.bound.descriptor, Int32(SHUT_RDWR))
  }

  /// Clients that connect from now on may pass descriptors, whatever the kernel could do about it.
  func letDescriptorsThrough() {
    var on: Int32 = 1
    // Older kernels let them through anyway.
    unsafe setsockopt(
      parts.value.socket.bound.descriptor, SOL_SOCKET, Socket.passRights, &on,
      socklen_t(MemoryLayout<Int32>.size))
  }

  /// Whether another connection was closed, once for each call.
  func sawClosing() throws -> Bool {
    let departures = try thread.run { [parts] _ in parts.value.receiver.departures }
    return departures.waitWithLimit()
  }
}
