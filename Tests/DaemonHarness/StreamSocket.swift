import Foundation
import Glibc
import TestSupport

/// A client's end of a stream, with a deadline on everything.
final class StreamSocket {
  let descriptor: Int32
  private var received: [UInt8] = []

  /// Takes over a descriptor that is connected.
  init(connected descriptor: Int32) { self.descriptor = descriptor }

  init(unixPath path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    descriptor = try Self.connected(AF_UNIX, to: address)
  }

  init(port: UInt16) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    descriptor = try Self.connected(AF_INET, to: address)
  }

  deinit { close(descriptor) }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Sends all of it, unless the other side closed: then what it said matters.
  func send(_ bytes: [UInt8], _ deadline: Deadline = .usual) throws {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.send(
          descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent,
          Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if count >= 0 {
        sent += count
      } else if errno == EAGAIN {
        try wait(for: POLLOUT, deadline)
      } else if errno == EPIPE || errno == ECONNRESET {
        return
      } else {
        throw CallFailed("send")
      }
    }
  }

  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next line without its newline; nil at the end of the stream.
  func line(_ deadline: Deadline = .usual) throws -> String? {
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        defer { received.removeFirst(end + 1) }
        return String(decoding: received[..<end], as: UTF8.self)
      }
      guard try receive(deadline) else { return nil }
    }
  }

  /// The next line, which must be there.
  func reply(_ deadline: Deadline = .usual) throws -> JSON {
    guard let line = try line(deadline) else { throw Overdue("a reply: the connection was closed") }
    return try JSON(line)
  }

  /// All there is until the other side closes.
  func rest(_ deadline: Deadline = .usual) throws -> [UInt8] {
    while try receive(deadline) {}
    return received
  }

  /// Whether the other side has closed; what it sent before is kept.
  func isClosed(by deadline: Deadline = .usual) -> Bool {
    (try? rest(deadline)) != nil
  }

  private func receive(_ deadline: Deadline) throws -> Bool {
    try wait(for: POLLIN, deadline)
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe chunk.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, $0.count)
    }
    guard count >= 0 || errno == ECONNRESET else { throw CallFailed("read") }
    received += chunk.prefix(max(count, 0))
    return count > 0
  }

  func wait(for events: Int32, _ deadline: Deadline) throws {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    guard unsafe poll(&entry, 1, deadline.milliseconds) > 0 else { throw Overdue("the other side") }
  }

  private static func connected<Address>(_ family: Int32, to address: Address) throws -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { throw CallFailed("socket") }
    let result = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    guard result == 0 else {
      let number = errno
      close(descriptor)
      throw CallFailed("connect", number)
    }
    return descriptor
  }
}
