import Glibc
import TestSupport

/// A port of 127.0.0.1 at which nobody listens at the moment.
enum FreePort {
  static func any() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, length) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isKnown else { throw CallFailed("bind") }
    return UInt16(bigEndian: address.sin_port)
  }
}
