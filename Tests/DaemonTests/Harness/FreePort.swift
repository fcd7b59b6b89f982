import Glibc
import Synchronization
import TestSupport

/// A port of 127.0.0.1 at which nobody listens.
///
/// It is below those that the kernel gives to connections (ip(7), `ip_local_port_range`), and no
/// other test of this process gets it: nobody takes it before the program that it is meant for.
enum FreePort {
  private static let ports: Range<UInt16> = 10_000..<32_000
  private static let given = Mutex<Set<UInt16>>([])

  static func any() throws -> UInt16 {
    for _ in 0..<1000 {
      let port = UInt16.random(in: ports)
      if given.withLock({ $0.insert(port).inserted }), try isFree(port) { return port }
    }
    throw CallFailed("bind")
  }

  private static func isFree(_ port: UInt16) throws -> Bool {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { throw CallFailed("socket") }
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, length) == 0
      }
    }
  }
}
