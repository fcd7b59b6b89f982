import Foundation
import Glibc
import Synchronization
import TestSupport

/// A blocking socket of the world outside. No wait lasts longer than ``HangLimit``.
final class Socket: Sendable {
  let descriptor: Int32
  /// Received and not yet asked for.
  private let buffer = Mutex<ArraySlice<UInt8>>([])

  init(_ descriptor: Int32) throws {
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    self.descriptor = descriptor
    var patience = timeval(tv_sec: HangLimit.seconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      unsafe setsockopt(
        descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  deinit {
    close(descriptor)
  }

  /// Connects to a Unix socket.
  convenience init(path: String) throws {
    try self.init(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
    let failed = unsafe Self.withAddress(of: path) { unsafe Glibc.connect(descriptor, $0, $1) }
    guard failed == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  /// Connects to a port of 127.0.0.1.
  convenience init(port: Int) throws {
    try self.init(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.connect(descriptor, $0, length)
      }
    }
    guard failed == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  /// Listens on a Unix socket.
  static func listening(at path: String) throws -> Socket {
    let listener = try Socket(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
    let failed = unsafe withAddress(of: path) { unsafe Glibc.bind(listener.descriptor, $0, $1) }
    guard failed == 0, Glibc.listen(listener.descriptor, 64) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    return listener
  }

  /// Listens on a free port of 127.0.0.1.
  static func listeningOnLoopback() throws -> (socket: Socket, port: Int) {
    let (socket, port) = try boundOnLoopback()
    guard Glibc.listen(socket.descriptor, 64) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    return (socket, port)
  }

  /// Has a port of 127.0.0.1 that refuses connections: no other process gets it meanwhile.
  static func boundOnLoopback() throws -> (socket: Socket, port: Int) {
    let listener = try Socket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.bind(listener.descriptor, $0, length) != 0
          || getsockname(listener.descriptor, $0, &length) != 0
      }
    }
    guard !failed else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return (listener, Int(UInt16(bigEndian: address.sin_port)))
  }

  private static func withAddress(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
      unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
    }
    return unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  func accept() -> Socket? {
    try? Socket(Glibc.accept(descriptor, nil, nil))
  }

  /// False if the other end is gone.
  @discardableResult
  func send(_ text: String) -> Bool {
    send(Array(text.utf8))
  }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.send(
          descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent,
          Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Ends every wait of other threads on it.
  func shutDown() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Some bytes; none at the end, on an error and after too long a wait.
  func receive() -> [UInt8] {
    let kept = buffer.withLock { kept in
      defer { kept = [] }
      return kept
    }
    return kept.isEmpty ? read() : Array(kept)
  }

  private func read() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let received = unsafe recv(descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(received, 0)))
  }

  /// The next line without its newline; nil where the stream ends before it.
  func line() -> String? {
    var line: [UInt8] = []
    while case let next = receive(), !next.isEmpty {
      guard let end = next.firstIndex(of: UInt8(ascii: "\n")) else {
        line += next
        continue
      }
      buffer.withLock { $0 = next[(end + 1)...] }
      return String(decoding: line + next[..<end], as: UTF8.self)
    }
    return nil
  }

  /// All that comes until the other end closes.
  func rest() -> String {
    var bytes: [UInt8] = []
    while case let next = receive(), !next.isEmpty { bytes += next }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Closing it sends a reset in place of an orderly end.
  func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
