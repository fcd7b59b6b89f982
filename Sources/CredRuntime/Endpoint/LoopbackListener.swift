internal import CLinux
internal import CredCore
internal import CredService

/// A socket on loopback, at which clients of the endpoint send HTTP.
final class LoopbackListener: Listener {
  let descriptor: Int32
  let address: EndpointAddress
  unowned let endpoint: EndpointServer
  let allowance: UnixSocketPath? = nil
  let hitByExcess = HitLimit.endpointConnections

  init(_ descriptor: Int32, at address: EndpointAddress, _ endpoint: EndpointServer) {
    // Connections inherit it. An answer in several pieces is not held back.
    _ = credd_send_at_once(descriptor)
    self.descriptor = descriptor
    self.address = address
    self.endpoint = endpoint
  }

  func newcomer(_ descriptor: Int32, _ now: Instant) -> Newcomer? {
    endpoint.newcomer(descriptor, now)
  }

  func refuse(_ newcomer: Newcomer, _ excess: ProtocolError) {
    endpoint.refuseExcess(newcomer)
  }

  func connection(
    of newcomer: Newcomer, user: UserQueue, token: UInt64, at server: SocketServer, _ now: Instant
  ) -> any FramedConnection {
    EndpointConnection(newcomer, at: self, user: user, token: token, server: server)
  }
}
