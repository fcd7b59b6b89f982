internal import CLinux
internal import CredCore
internal import Glibc

/// A listening socket that credd bound itself, and removes again.
public struct ListeningSocket: ~Copyable {
  public let path: String
  public let descriptor: Int32
  /// What the path was when it was bound; another file there is none of ours.
  private let inode: (UInt64, UInt64)

  /// - Parameter mode: of the socket file. A client is served by its uid alone, whatever the mode.
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

/// The end of a daemon that cannot serve.
///
/// systemd starts a daemon for the clients that wait in its socket. A daemon that ended with clients
/// waiting would be started again at once, and after a few times systemd would close the socket until
/// it is reset by hand. So waiting clients are answered, and for a moment new ones: they learn what
/// is wrong, and a later one starts a daemon that looks whether it was mended.
extension ListeningSocket {
  /// Answers every client with an error, then returns. Takes
  /// ``ServerLimits/refusalNanoseconds``: systemd starts no other daemon before.
  ///
  /// - Parameter listeners: non-blocking listening sockets; they stay open and untouched.
  public static func refuseAll(_ message: String, on listeners: [Int32]) {
    guard !listeners.isEmpty else { return }
    let line = RenderedReply.error(ProtocolError(.internal, message)).bytes
    let end = credd_boottime() + ServerLimits.refusalNanoseconds
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
      // It fits the empty buffer of a new connection. A client that has left misses nothing.
      _ = unsafe line.withUnsafeBytes { unsafe credd_send(client, $0.baseAddress, $0.count) }
      credd_close_client(client, credd_may_carry_descriptors(client))
    }
  }
}
