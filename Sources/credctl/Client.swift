import CredCore
import CredctlKit
import Glibc

/// Asks the daemon one thing over a connection of its own.
struct Client {
  let socket: SocketPath

  init(socketArgument: String?) {
    socket = SocketPath(
      argument: socketArgument,
      environment: Environment.value(of:),
      exists: { path in unsafe access(path, F_OK) == 0 })
  }

  /// How often a daemon that ends meanwhile is asked: systemd holds the socket, where the next one
  /// finds the question.
  private static let attempts = 3

  /// - Parameters:
  ///   - seconds: for the connection, and again for the reply.
  ///   - isRepeatable: whether the next daemon may be asked again where this one ends.
  func ask(
    _ request: consuming [UInt8], for shape: ReplyShape, profile: String? = nil,
    seconds: Int = WaitLimits.margin, isRepeatable: Bool = true
  ) throws(Failure) -> Answer {
    defer { request.wipe() }
    var attemptsLeft = isRepeatable ? Self.attempts : 1
    while true {
      attemptsLeft -= 1
      do throws(Failure) {
        let buffer = ReplyBuffer()
        _ = try send(request, firstReplyInto: buffer, seconds: seconds)
        return Answer(buffer, reply: try Reply.check(buffer.line, has: shape, profile: profile))
      } catch {
        guard attemptsLeft > 0, error.meansTheDaemonEnded else { throw error }
      }
    }
  }

  /// Asks for a stream of lines, and hands each one over until something fails.
  func follow(
    _ request: consuming [UInt8], for shape: ReplyShape, profile: String?,
    _ handle: (Answer) throws(Failure) -> Void
  ) throws(Failure) -> Never {
    defer { request.wipe() }
    let buffer = ReplyBuffer()
    // The present state comes at once; only then is silence no fault.
    let connection = try send(request, firstReplyInto: buffer, seconds: WaitLimits.margin)
    while true {
      let reply = try Reply.check(buffer.line, has: shape, profile: profile)
      try handle(Answer(buffer, reply: reply))
      buffer.removeLine()
      do {
        try connection.receiveLine(into: buffer, seconds: nil)
      } catch {
        throw Failure(error, at: socket)
      }
    }
  }

  private func send(
    _ request: [UInt8], firstReplyInto buffer: ReplyBuffer, seconds: Int
  ) throws(Failure) -> ControlSocket {
    do {
      let connection = try ControlSocket(connectingTo: socket.path, seconds: seconds)
      try connection.send(request, seconds: seconds)
      try connection.receiveLine(into: buffer, seconds: seconds)
      return connection
    } catch {
      throw Failure(error, at: socket)
    }
  }
}
