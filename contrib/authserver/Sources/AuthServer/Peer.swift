import AuthCore
import Glibc
import NIOCore

/// Who is at the other end of a connection, as its socket says.
public struct Peer: Sendable, Equatable {
  /// What tries are counted by: the address, of IPv6 the first 64 bits, because whoever has one
  /// address there has all that begin so. Nil on a Unix socket.
  public let source: String?
  /// The whole address, for the audit; nil on a Unix socket.
  public let address: String?
  /// On this machine.
  public let isLocal: Bool

  /// The connection is closed.
  struct Gone: Error {}

  /// Nil where the connection is closed already: its addresses are gone then, and it must not pass
  /// for one on a Unix socket, which has none.
  init?(of channel: any Channel) {
    switch channel.localAddress {
    case nil: return nil
    case .unixDomainSocket:
      source = nil
      address = nil
      isLocal = true
    case .v4, .v6:
      guard let remote = channel.remoteAddress else { return nil }
      switch remote {
      case .v6(let full):
        let (source, isLocal) = Self.read(full.address)
        self.source = source
        self.isLocal = isLocal
        // One of IPv4 is written as such.
        address = source.hasSuffix("/64") ? remote.ipAddress : source
      case .v4, .unixDomainSocket:
        source = remote.ipAddress
        address = remote.ipAddress
        isLocal = remote.ipAddress?.hasPrefix("127.") ?? false
      }
    }
  }

  private static func read(_ address: sockaddr_in6) -> (source: String, isLocal: Bool) {
    let bytes = unsafe withUnsafeBytes(of: address.sin6_addr) { unsafe Array($0) }
    // An address of IPv4 in IPv6's form, as a listener on [::] sees it.
    if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
      return (bytes.suffix(4).map(String.init).joined(separator: "."), bytes[12] == 127)
    }
    let isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    return (Hex.encode(bytes.prefix(8)) + "/64", isLoopback)
  }
}
