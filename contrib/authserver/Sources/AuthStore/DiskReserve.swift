import Glibc

/// A file beside the database. Only its size is of use: when it is cut shorter, a full disk has
/// room for acts that take rights away.
struct DiskReserve: Sendable {
  private let path: String
  private static let size = 4 << 20
  /// More than one transaction of that kind takes. If it is not enough, the transaction is tried
  /// again with the next piece.
  private static let piece = 256 << 10

  init(beside database: String) { path = database + ".reserve" }

  /// Makes the file as long as it should be. If the disk is nearly full, the file stays as it is.
  func keep() {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    var space = statvfs()
    guard unsafe fstatvfs(file, &space) == 0,
      UInt64(space.f_bavail) * UInt64(space.f_frsize) > UInt64(2 * Self.size),
      posix_fallocate(file, 0, off_t(Self.size)) != 0
    else { return }
    // This file system keeps no room for a file.
    _ = ftruncate(file, 0)
  }

  /// False where nothing is left of it.
  func release() -> Bool {
    let file = unsafe open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var state = stat()
    guard unsafe fstat(file, &state) == 0, state.st_size > 0 else { return false }
    return ftruncate(file, max(0, state.st_size - off_t(Self.piece))) == 0
  }
}
