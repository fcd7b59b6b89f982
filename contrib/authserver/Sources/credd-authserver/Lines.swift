import AuthCore
import Glibc

/// The lines of a file, one after the other, however long it is. `-` is standard input.
final class Lines: Sequence, IteratorProtocol {
  private let path: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// Why the lines ended before the file did.
  private(set) var fault: Failed?

  init(_ path: String) throws {
    self.path = path
    descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failed(path) }
  }

  deinit { if descriptor > 0 { close(descriptor) } }

  private static func failed(_ path: String) -> Failed {
    Failed("\(path) cannot be read: \(SystemError.last)", .unavailable)
  }

  /// Without its end.
  func next() -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return Array(buffer[start..<end])
      }
      guard !isAtEnd else {
        defer { start = buffer.count }
        return start < buffer.count ? Array(buffer[start...]) : nil
      }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      fill()
    }
  }

  private func fill() {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe read(descriptor, &chunk, chunk.count)
    if count < 0, errno != EINTR { fault = Self.failed(path) }
    isAtEnd = count == 0 || fault != nil
    buffer += chunk.prefix(Swift.max(0, count))
  }
}
