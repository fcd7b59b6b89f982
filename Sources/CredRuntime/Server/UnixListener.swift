internal import CLinux
internal import CredCore
internal import CredService

/// A Unix socket, at which clients write a request a line.
final class UnixListener: Listener {
  let descriptor: Int32
  let socket: ClientSocket
  let receiver: any LineReceiving
  let hitByExcess = HitLimit.connections
  /// Whether the socket was set to add the sender to each message. Then clients that connected earlier
  /// need `credd_refuse_senders` too.
  private let namesSenders: Bool

  init(
    _ descriptor: Int32, as socket: ClientSocket = .main, receiver: any LineReceiving
  ) {
    credd_refuse_descriptors(descriptor)
    namesSenders = credd_refuse_senders(descriptor)
    self.descriptor = descriptor
    self.socket = socket
    self.receiver = receiver
  }

  var allowance: UnixSocketPath? { socket.allowance }

  func newcomer(_ descriptor: Int32, _ now: Instant) -> Newcomer? {
    if let error = receiver.refusal(at: socket) {
      refuse(descriptor, error)
      return nil
    }
    guard let peer = try? Peer.connected(to: descriptor) else {
      credd_close_client(descriptor, true)
      return nil
    }
    return Newcomer(
      descriptor: descriptor, peer: peer, account: receiver.account(of: peer.uid))
  }

  func refuse(_ newcomer: Newcomer, _ excess: ProtocolError) {
    refuse(newcomer.descriptor, excess)
  }

  private func refuse(_ descriptor: Int32, _ error: ProtocolError) {
    let bytes = RenderedReply.error(error).bytes
    // It fits the buffer of a new connection.
    _ = unsafe bytes.withUnsafeBytes { unsafe credd_send(descriptor, $0.baseAddress, $0.count) }
    credd_close_client(descriptor, credd_may_carry_descriptors(descriptor))
  }

  func connection(
    of newcomer: Newcomer, user: UserQueue, token: UInt64, at server: SocketServer, _ now: Instant
  ) -> any FramedConnection {
    if namesSenders { _ = credd_refuse_senders(newcomer.descriptor) }
    return LineConnection(
      newcomer, at: self, user: user, token: token, accepted: now, server: server)
  }
}

extension UnixSocketPath {
  /// The path of a listening socket, as the kernel has it.
  init(boundTo descriptor: Int32) {
    var name = [UInt8](repeating: 0, count: 128)
    let count = unsafe credd_own_name(descriptor, &name, name.count)
    self.init(kernelName: name.prefix(max(count, 0)))
  }
}

extension ListenerReport {
  /// A listening Unix socket, by its path.
  init(_ kind: Kind, boundTo descriptor: Int32) {
    self.init(kind, address: UnixSocketPath(boundTo: descriptor).description)
  }
}
