import Glibc
import TestSupport

/// A port of 127.0.0.1 at which nobody listens.
///
/// This process holds it until it ends, so that the kernel gives it to no other program and to no
/// connection: a daemon that is started anew gets it again. A program can listen there all the same
/// if it sets SO_REUSEADDR (socket(7)), as all do that tests start.
enum FreePort {
  static func any() throws -> UInt16 {
    let holder = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard holder >= 0 else { throw CallFailed("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(holder, address, length) == 0 && getsockname(holder, address, &length) == 0
      }
    }
    // Set before bind(), it would let the kernel give the port twice.
    var on: Int32 = 1
    guard named,
      unsafe setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        == 0
    else { throw CallFailed("bind") }
    return UInt16(bigEndian: address.sin_port)
  }
}
