internal import CLinux
internal import CredCore
internal import Glibc

/// A listening socket that credd binds and removes.
public struct ListeningSocket: ~Copyable {
  public let path: String
  public let descriptor: Int32
  /// The file's identity at bind, so that another file at the path is not removed.
  private let inode: (UInt64, UInt64)

  /// The mode of sockets for clients. The daemon of the whole host lets every user connect, and the
  /// kernel's uid decides. A user's daemon serves only that user.
  public static var modeOfClients: UInt32 { ProcessHardening.isRoot ? 0o666 : 0o600 }

  /// - Parameter mode: the mode of the socket file. Access depends only on the client's uid, not on
  ///   the mode.
  public init(path: String, mode: UInt32, backlog: Int32 = 4096) throws(SystemError) {
    // The compiler of Swift 6.2 does not accept an initialiser that throws after it has set a
    // field.
    let listening = try unsafe SystemError.check(
      credd_listen(path, mode, backlog), "listen on \(path)")
    self.path = path
    descriptor = listening
    inode = Self.inode(of: path) ?? (0, 0)
  }

  private static func inode(of path: String) -> (UInt64, UInt64)? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    return (UInt64(status.st_dev), UInt64(status.st_ino))
  }

  deinit {
    // While the socket is open, no other file can get its inode.
    if let now = Self.inode(of: path), now == inode { unsafe unlink(path) }
    credd_close(descriptor)
  }
}

/// Ends a daemon that cannot serve.
///
/// systemd would restart a daemon that ends with waiting clients, then close the socket. So credd
/// answers them for a second, then ends.
extension ListeningSocket {
  /// Answers every client with an error, then returns. Takes
  /// ``ServerLimits/refusalNanoseconds``: systemd starts no other daemon before.
  ///
  /// - Parameters:
  ///   - listeners: non-blocking listening sockets; they stay open and untouched.
  ///   - closed: the same of sockets with a cap. Without a configuration there is no section for them.
  ///   - endpoint: the endpoint's sockets, whose clients get an answer too. Units get their tokens,
  ///     because they must not fail to start because of a mistake in the configuration.
  public static func refuseAll(
    _ message: String, on listeners: [Int32], closed: [Int32] = [],
    _ endpoint: EndpointSockets = EndpointSockets()
  ) {
    refuseAll(message, on: listeners, closed: closed, endpoint, now: credd_boottime)
  }

  /// - Parameter now: nanoseconds on any clock.
  static func refuseAll(
    _ message: String, on listeners: [Int32], closed: [Int32] = [],
    _ endpoint: EndpointSockets = EndpointSockets(), now: () -> Int64
  ) {
    let http = ClosedEndpoint(endpoint)
    guard !listeners.isEmpty || !closed.isEmpty || !endpoint.isEmpty else { return }
    let refusal = RenderedReply.error(.closedSocket).bytes
    let line = RenderedReply.error(ProtocolError(.internal, message)).bytes
    let end = now() + ServerLimits.refusalNanoseconds
    var polled = (listeners + closed + http.descriptors).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    while true {
      for listener in listeners { answerAll(line, on: listener) }
      for listener in closed { answerAll(refusal, on: listener) }
      http.answerAll()
      let left = end - now()
      guard left > 0 else { return }
      unsafe poll(&polled, nfds_t(polled.count), Int32(left / 1_000_000) + 1)
    }
  }

  private static func answerAll(_ line: [UInt8], on listener: Int32) {
    for _ in 0..<ServerLimits.refusalsAtOnce {
      let client = credd_accept(listener)
      guard client >= 0 else { return }
      // The line fits into the empty buffer of a new connection, so a failure means that the client
      // has left.
      _ = unsafe line.withUnsafeBytes { unsafe credd_send(client, $0.baseAddress, $0.count) }
      credd_close_client(client, credd_may_carry_descriptors(client))
    }
  }
}
