internal import CLinux
internal import CredCore
internal import CredService

/// A client of the endpoint, which sends HTTP. In each turn it gets one request answered.
final class EndpointConnection: Connection, FramedConnection {
  let peer: Peer
  private let listener: LoopbackListener
  /// The user who made the connection; nil if the kernel did not say.
  private let attested: AttestedPeer?
  private var reader = EndpointReader()
  /// The caller's control group, once it was searched; the inner nil means that it was not found.
  private var group: ControlGroup??

  init(
    _ newcomer: Newcomer, at listener: LoopbackListener, user: UserQueue, token: UInt64,
    server: SocketServer
  ) {
    peer = newcomer.peer
    attested = newcomer.attested
    self.listener = listener
    super.init(
      newcomer.descriptor, user: user, token: token, server: server, mayCarryDescriptors: false)
  }

  deinit {
    // If bytes stayed unread, the close would be a reset in place of a normal end.
    credd_drop_input(descriptor, Limits.Endpoint.headBytes)
  }

  func begin() {
    guard attested != nil else { return }
    client = listener.endpoint.receiver.connectedToEndpoint(self, self)
  }

  func take(
    _ bytes: borrowing Span<UInt8>, from position: inout Int, at server: SocketServer,
    _ now: Instant
  ) {
    guard canTakeRequest else { return }
    switch reader.next(in: bytes, from: &position) {
    case .needsMore: break
    case .refused(let refusal):
      position = bytes.count
      refuse(refusal)
    case .request(let request):
      server.clearDeadline(self)
      answer(request, now)
    }
    partialBytes = reader.partialBytes
  }

  func takeEnd(at server: SocketServer, _ now: Instant) { dropPartial() }

  func dropPartial() {
    reader = EndpointReader()
    partialBytes = 0
  }

  func refusal(_ error: ProtocolError) -> [UInt8] { EndpointReply.error(error).bytes }

  func refusalOfLate() -> [UInt8] {
    server.limitHits[.endpointTime, default: 0] += 1
    return counted(.headTooSlow)
  }

  /// The answer to a refused request, which is counted.
  private func counted(_ refusal: EndpointRefusal) -> [UInt8] {
    listener.endpoint.receiver.refused(refusal, of: peer)
    return EndpointReply.refusal(refusal).bytes
  }

  private func refuse(_ refusal: EndpointRefusal) {
    send(counted(refusal))
    finish()
  }

  // MARK: Requests

  private func answer(_ request: EndpointRequest, _ now: Instant) {
    if let refusal = request.refusal(at: listener.address, isAttested: client != nil) {
      return refuse(refusal)
    }
    let units = listener.endpoint.units
    guard group == nil, let id = attested?.controlGroup else { return pass(request, now, now) }
    if let known = units.known(id) {
      group = known
    } else if units.isMissing(id) {
      group = .some(nil)
    } else {
      isHeld = true
      units.find(id, for: peer.uid) { [weak self] in self?.groupFound($0, request, now) }
      return
    }
    pass(request, now, now)
  }

  private func groupFound(
    _ answer: UnitDirectory.Answer, _ request: EndpointRequest, _ arrived: Instant
  ) {
    guard !isClosed else { return }
    isHeld = false
    switch answer {
    case .group(let found):
      group = .some(found)
      pass(request, arrived, server.loop.now)
    case .overdue:
      send(
        refusal(
          ProtocolError(.timeout, "the unit of the caller was not found in time; try again")))
      finish()
    }
  }

  private func pass(_ request: EndpointRequest, _ arrived: Instant, _ now: Instant) {
    guard let client else { return }
    listener.endpoint.receiver.receive(request, from: client, arrived: arrived, now: now)
  }
}

extension EndpointConnection: PeerFacts {
  /// The kernel says none of a TCP connection.
  func groups() -> [UInt32] { [] }

  /// The unit; nil once its control group has ended.
  func unit() -> String? {
    guard case .some(let group?) = group, listener.endpoint.units.isThere(group) else { return nil }
    return group.unit
  }

  /// The kernel names no process.
  func isAlive() -> Bool { false }
  func startTime() -> Instant? { nil }
}
