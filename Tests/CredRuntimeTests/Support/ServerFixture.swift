import CredCore
import Foundation
import Glibc
import Testing

@testable import CredRuntime

/// Does what the request lines say.
final class ScriptedHandler: RequestHandler {
  unowned var server: ClientServer?
  private(set) var lines = 0
  /// How many lines were left of the turn at each.
  private(set) var linesLeft: [Int] = []
  private(set) var parked: [UInt64] = []
  let closings = DispatchSemaphore(value: 0)

  func handle(_ line: borrowing Span<UInt8>, from connection: Connection, now: Instant) {
    lines += 1
    if let server { linesLeft.append(server.linesLeft) }
    let text = String(decoding: line.copied, as: UTF8.self)
    if text == "park", let request = try? Request.parse(Array("{}".utf8)) {
      connection.parked = ParkedRequest(request: request, session: nil)
      parked.append(connection.token)
    } else if text == "long" {
      server?.charge(ServerLimits.turnTime)
      server?.reply(Array("re:long\n".utf8), to: connection)
    } else if text.hasPrefix("big "), let size = Int(text.dropFirst(4)) {
      server?.reply([UInt8](repeating: UInt8(ascii: "x"), count: size) + [0x0A], to: connection)
    } else {
      server?.reply(Array("re:\(text)\n".utf8), to: connection)
    }
  }

  func closed(_ connection: Connection) {
    closings.signal()
  }

  /// Answers everyone who is parked, as the end of a refresh does.
  func answerParked() {
    for token in parked {
      guard let connection = server?.connection(token), connection.parked != nil else { continue }
      connection.parked = nil
      server?.reply(Array("at last\n".utf8), to: connection)
    }
    parked = []
    server?.finishTurn()
  }
}

/// A server on a loop, at a socket in a folder of its own. Handler and server are touched on the
/// loop alone.
final class ServerFixture: Sendable {
  let folder: TemporaryFolder
  let path: String
  let thread: LoopThread
  private let parts: OnLoop<(handler: ScriptedHandler, server: ClientServer, socket: Listener)>

  final class Listener {
    let bound: BoundSocket

    init(_ path: String) throws(SystemError) {
      bound = try BoundSocket(path: path, mode: 0o666)
    }
  }

  init(
    _ limits: ServerLimits = ServerLimits(connections: 1000, connectionsPerUser: 1000)
  ) throws {
    folder = try TemporaryFolder()
    let path = "\(folder.path)/s"
    self.path = path
    thread = try LoopThread()
    parts = try thread.run { stage in
      let handler = ScriptedHandler()
      let server = try ClientServer(loop: stage.loop, limits: limits, handler: handler)
      handler.server = server
      let socket = try Listener(path)
      try server.listen(on: socket.bound.descriptor)
      return OnLoop(value: (handler, server, socket))
    }
  }

  deinit {
    thread.stop()
  }

  func connect() throws -> Socket {
    try Socket(path: path)
  }

  func run<R: Sendable>(
    _ body: @escaping @Sendable (ScriptedHandler, ClientServer) throws -> R
  ) throws -> R {
    try thread.run { [parts] _ in try body(parts.value.handler, parts.value.server) }
  }

  func reaches(
    _ condition: @escaping @Sendable (ScriptedHandler, ClientServer) -> Bool
  ) throws -> Bool {
    try thread.reaches { [parts] _ in condition(parts.value.handler, parts.value.server) }
  }

  /// The listener's clients are named with every message they send, unless the server objects, which
  /// it is given another occasion for.
  func nameSenders() throws {
    var on: Int32 = 1
    let listener = parts.value.socket.bound.descriptor
    let failed = unsafe setsockopt(
      listener, SOL_SOCKET, SO_PASSCRED, &on, socklen_t(MemoryLayout<Int32>.size))
    #expect(failed == 0)
    // One that is there by then has it.
    try thread.run { [parts] _ in
      parts.value.server.stopListening()
      try parts.value.server.listen(on: listener)
    }
  }

  /// From now on the listener is ready for ever and accepting from it fails.
  func breakListener() {
    shutdown(parts.value.socket.bound.descriptor, Int32(SHUT_RDWR))
  }

  /// Clients that connect from now on may pass descriptors, whatever the kernel could do about it.
  func letDescriptorsThrough() {
    var on: Int32 = 1
    // SO_PASSRIGHTS, of which glibc has no name yet; older kernels let them through anyway.
    unsafe setsockopt(
      parts.value.socket.bound.descriptor, SOL_SOCKET, 83, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Whether another connection was closed, once for each call.
  func sawClosing() throws -> Bool {
    let closings = try thread.run { [parts] _ in parts.value.handler.closings }
    return closings.wait(timeout: .now() + LoopThread.patience) == .success
  }
}
