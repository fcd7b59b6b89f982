import Glibc
import TestSupport

/// An open file of this process, which its children do not inherit.
final class Descriptor {
  let number: Int32

  init(_ number: Int32) {
    self.number = number
  }

  /// A Unix socket that listens.
  convenience init(listeningAt path: String) throws {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    self.init(try Self.check(socket(AF_UNIX, type, 0), "socket"))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
      unsafe room.copyBytes(from: path.utf8.prefix(room.count - 1))
    }
    let bound = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    _ = try Self.check(bound, "bind")
    _ = try Self.check(listen(number, 8), "listen")
  }

  deinit { close(number) }

  static func pipe() throws -> (read: Descriptor, write: Descriptor) {
    var ends: [Int32] = [-1, -1]
    _ = try check(unsafe Glibc.pipe(&ends), "pipe")
    return try (Descriptor(ends[0]).closedOnExec(), Descriptor(ends[1]).closedOnExec())
  }

  func accept() throws -> Descriptor {
    try Descriptor(try Self.check(Glibc.accept(number, nil, nil), "accept")).closedOnExec()
  }

  private func closedOnExec() throws -> Descriptor {
    _ = try Self.check(fcntl(number, F_SETFD, FD_CLOEXEC), "fcntl")
    return self
  }

  /// Waits until there is something to read, or an end.
  static func ready(_ descriptors: [Descriptor]) throws -> [Descriptor] {
    var entries = descriptors.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    let limit = Int32(HangLimit.duration / .milliseconds(1))
    var count: Int32
    repeat {
      count = unsafe poll(&entries, nfds_t(entries.count), limit)
    } while count < 0 && errno == EINTR
    guard count > 0 else { throw CallFailed("poll", count < 0 ? errno : ETIMEDOUT) }
    return zip(descriptors, entries).compactMap { $1.revents == 0 ? nil : $0 }
  }

  /// What can be read now; nothing at the end.
  func receive() -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe read(number, $0.baseAddress, $0.count)
    }
    return Array(buffer.prefix(max(0, count)))
  }

  /// Writes to a pipe what it has room for.
  func write(_ bytes: [UInt8]) throws {
    let count = unsafe bytes.withUnsafeBytes {
      unsafe Glibc.write(number, $0.baseAddress, $0.count)
    }
    guard count == bytes.count else { throw CallFailed("write") }
  }

  /// Sends all of it through a socket, unless the other end is gone.
  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest.removeFirst(count)
    }
  }

  private static func check(_ result: Int32, _ call: String) throws -> Int32 {
    guard result >= 0 else { throw CallFailed(call) }
    return result
  }
}
