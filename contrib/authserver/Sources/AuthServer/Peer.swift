import AuthCore
import NIOCore

/// Who is at the other end of a connection.
public struct Peer: Sendable, Equatable {
  /// The client's; nil on a Unix socket.
  private let ip: IPAddress?
  /// Whether the connection itself ends on this machine.
  public let isLocal: Bool

  /// What tries are counted by; nil on a Unix socket.
  public var source: String? { ip?.source }

  /// The whole address, for the audit; nil on a Unix socket.
  public var address: String? { ip?.description }

  /// The connection is closed.
  struct Gone: Error {}

  /// As the socket says. Nil where the connection is closed already: its addresses are gone then, and
  /// it must not pass for one on a Unix socket, which has none.
  init?(of channel: any Channel) {
    guard let local = channel.localAddress else { return nil }
    if case .unixDomainSocket = local {
      ip = nil
      isLocal = true
      return
    }
    guard let ip = channel.remoteAddress.flatMap(IPAddress.init) else { return nil }
    self.ip = ip
    isLocal = ip.isLoopback
  }

  /// A client of whom a balancer says where it is. The connection is the balancer's still.
  init(_ client: IPAddress, behind balancer: Peer) {
    ip = client
    isLocal = balancer.isLocal
  }

  func isOne(of proxies: AuthCore.Configuration.Proxies) -> Bool {
    guard let ip else { return proxies.isUnixSocket }
    return proxies.networks.contains { $0.contains(ip) }
  }
}

extension IPAddress {
  /// Nil for a Unix socket's. What stands behind `%` names an interface of this machine.
  fileprivate init?(_ address: SocketAddress) {
    guard let text = address.ipAddress else { return nil }
    self.init(text.prefix { $0 != "%" })
  }
}
