internal import CLinux
internal import CredCore
internal import Glibc

/// A listening socket that credd bound itself, and removes again.
public struct BoundSocket: ~Copyable {
  public let path: String
  public let descriptor: Int32
  /// What the path was when it was bound; another file there is none of ours.
  private let inode: (UInt64, UInt64)

  /// - Parameter mode: of the socket file. Whoever may connect is still served by their uid alone.
  public init(path: String, mode: UInt32, backlog: Int32 = 4096) throws(SystemError) {
    self.path = path
    descriptor = try unsafe SystemError.check(
      credd_listen(path, mode, backlog), "listen on \(path)")
    inode = Self.inode(of: path) ?? (0, 0)
  }

  private static func inode(of path: String) -> (UInt64, UInt64)? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    return (UInt64(status.st_dev), UInt64(status.st_ino))
  }

  deinit {
    // While the socket is open, its inode cannot become another file's.
    if let now = Self.inode(of: path), now == inode { unsafe unlink(path) }
    credd_close(descriptor)
  }
}

/// What a daemon says to its clients that cannot serve them and is about to end.
///
/// systemd starts a daemon for the clients that wait in its socket. One that ended with them waiting
/// would be started again at once, and after a few times systemd would close the socket until
/// somebody resets it. So those who wait are answered, and for a moment those who come: they learn
/// what is wrong, and the next one finds a daemon that looks whether it was mended.
public enum Apology {
  /// Answers every client with an error, then returns. Takes
  /// ``ServerLimits/apologyNanoseconds``: no sooner does systemd start another one.
  ///
  /// - Parameter listeners: non-blocking listening sockets; they stay open and untouched.
  public static func make(_ message: String, to listeners: [Int32]) {
    guard !listeners.isEmpty else { return }
    let line = RenderedReply.error(ProtocolError(.internal, message)).bytes
    let end = credd_boottime() + ServerLimits.apologyNanoseconds
    var polled = listeners.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
      for listener in listeners { answerAll(line, on: listener) }
      let left = end - credd_boottime()
      guard left > 0 else { return }
      unsafe poll(&polled, nfds_t(polled.count), Int32(left / 1_000_000) + 1)
    }
  }

  private static func answerAll(_ line: [UInt8], on listener: Int32) {
    while true {
      let client = credd_accept(listener)
      guard client >= 0 else { return }
      // It fits the empty buffer of a new connection; who is gone already misses nothing.
      _ = unsafe line.withUnsafeBytes { unsafe credd_send(client, $0.baseAddress, $0.count) }
      credd_close_client(client, credd_may_carry_descriptors(client))
    }
  }
}
