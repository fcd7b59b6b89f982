internal import CLinux
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
