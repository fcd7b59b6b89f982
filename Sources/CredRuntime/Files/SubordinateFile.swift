internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// /etc/subuid, which assigns ranges of uids to users (subuid(5)).
enum SubordinateFile {
  static let path = "/etc/subuid"

  /// Reads the file, unless it is the same file as the last time.
  static func read(_ path: String, unless known: ProgramFile?) -> SubordinateAnswer {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      return errno == ENOENT ? .missing : unreadable(path, errno)
    }
    defer { credd_close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return unreadable(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .unreadable("\(path) is no file") }
    let file = ProgramFile(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modified: nanoseconds(status.st_mtim), changed: nanoseconds(status.st_ctim))
    guard file != known else { return .unchanged }
    let most = Limits.Configuration.subordinateFileBytes
    guard status.st_size <= most else {
      return .unreadable("\(path) is larger than \(most) bytes")
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    // If the file grows meanwhile, it counts as changed at the next look.
    while bytes.count <= most {
      let count = unsafe chunk.withUnsafeMutableBytes {
        unsafe credd_read(descriptor, $0.baseAddress, $0.count)
      }
      guard count >= 0 else { return unreadable(path, Int32(-count)) }
      if count == 0 { break }
      bytes.append(contentsOf: chunk[..<count])
    }
    return .ranges(SubordinateRanges(Array(bytes.prefix(most))), file)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private static func unreadable(_ path: String, _ number: Int32) -> SubordinateAnswer {
    .unreadable(SystemError("cannot read \(path)", number: number).description)
  }
}
