internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// One connection to the endpoint. Owns the descriptor.
final class EndpointConnection {
  let descriptor: Int32
  let token: UInt64
  let address: EndpointAddress
  /// The user who made the connection; nil if the kernel did not say.
  let attested: AttestedPeer?
  private unowned let server: EndpointServer

  /// The service's client; nil without an attested peer.
  var client: Client?
  var reader = EndpointReader()
  /// The bytes that were read after the request that is being answered.
  var unread: [UInt8] = []
  /// Reported events that are not handled yet: epoll reports each once.
  var events: UInt32 = 0
  /// When the head of the last request had ended.
  var arrived = Instant(nanoseconds: .min)
  /// The request that waits until its unit is found.
  var heldRequest: EndpointRequest?
  /// The caller's control group, once it was searched; the inner nil means that it was not found.
  var group: ControlGroup??
  /// When the connection is closed, unless something happens before.
  var deadline: Instant
  var isQueued = false
  /// Whether the peer sends nothing more.
  var isInputFinished = false
  /// Whether the connection closes once its answers are written.
  var isClosing = false
  var isClosed = false
  private var outbound: [UInt8] = []
  private var sent = 0

  init(
    _ descriptor: Int32, token: UInt64, address: EndpointAddress, attested: AttestedPeer?,
    deadline: Instant, server: EndpointServer
  ) {
    self.descriptor = descriptor
    self.token = token
    self.address = address
    self.attested = attested
    self.deadline = deadline
    self.server = server
  }

  deinit { credd_close(descriptor) }

  /// The user for whom the connection counts. Connections that the kernel did not attest count
  /// together.
  var owner: UInt32? { attested?.uid }
  /// The account for which the connection counts.
  var account: Account?

  /// Whether a request is being answered, so that no other one may begin.
  var isBusy: Bool { heldRequest != nil || client?.isWaiting ?? false || hasOutput }

  var hasOutput: Bool { sent < outbound.count }

  var hasInput: Bool { events & (CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP) != 0 }

  var isGone: Bool { events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) != 0 }

  func append(_ bytes: [UInt8]) {
    if hasOutput {
      outbound.append(contentsOf: bytes)
    } else {
      outbound = bytes
      sent = 0
    }
  }

  /// Writes as much as the peer takes. If the peer takes nothing, it gains no time by sending.
  ///
  /// - Returns: whether the connection still lives.
  func flush(_ now: Instant) -> Bool {
    guard hasOutput else { return true }
    let count = unsafe outbound.withUnsafeBytes { bytes in
      unsafe credd_send(
        descriptor, bytes.baseAddress.map { unsafe $0 + sent }, bytes.count - sent)
    }
    guard count >= 0 else { return count == -Int(EAGAIN) }
    sent += count
    if count > 0 { deadline = now + Limits.Endpoint.writeTime }
    if !hasOutput {
      outbound = []
      sent = 0
    }
    return true
  }
}

extension EndpointConnection: ReplySink {
  func send(_ reply: [UInt8]) {
    guard !isClosed, !isClosing else { return }
    append(reply)
    server.queue(self)
  }

  func finish() { isClosing = true }
}

extension EndpointConnection: PeerFacts {
  var peer: Peer { Self.peer(attested) }

  /// - Parameter attested: nil if the kernel did not say who it is.
  static func peer(_ attested: AttestedPeer?) -> Peer {
    Peer(uid: attested?.uid ?? .max, gid: .max, pid: 0)
  }

  /// The kernel says none of a TCP connection.
  func groups() -> [UInt32] { [] }
  /// The unit; nil once its control group has ended.
  func unit() -> String? { server.unit(of: self) }
  /// The kernel names no process.
  func isAlive() -> Bool { false }
  func startTime() -> Instant? { nil }
}
