internal import CLinux
internal import CredCore
internal import CredService

/// Answers a request that was read, or passes it to the service.
extension EndpointServer {
  func answer(
    _ request: EndpointRequest, _ connection: EndpointConnection, _ now: Instant
  ) {
    let isAttested = connection.client != nil
    if let refusal = request.refusal(at: connection.address, isAttested: isAttested) {
      return refuse(refusal, connection)
    }
    guard connection.group == nil, let peer = connection.attested, let id = peer.controlGroup else {
      return pass(request, connection, now)
    }
    if let group = units.known(id) {
      connection.group = group
      return pass(request, connection, now)
    }
    guard !units.isMissing(id) else {
      connection.group = .some(nil)
      return pass(request, connection, now)
    }
    connection.heldRequest = request
    let token = connection.token
    units.find(id, for: peer.uid) { [weak self] answer in self?.groupFound(answer, token) }
  }

  private func groupFound(_ answer: UnitDirectory.Answer, _ token: UInt64) {
    guard let connection = connections[token], let request = connection.heldRequest.take() else {
      return
    }
    switch answer {
    case .group(let group):
      connection.group = .some(group)
      pass(request, connection, loop.now)
    case .overdue:
      connection.append(
        EndpointReply.error(
          ProtocolError(.timeout, "the unit of the caller was not found in time; try again")
        ).bytes)
      connection.isClosing = true
    }
    queue(connection)
  }

  private func pass(
    _ request: EndpointRequest, _ connection: EndpointConnection, _ now: Instant
  ) {
    guard let client = connection.client else { return }
    receiver.receive(request, from: client, arrived: connection.arrived, now: now)
  }

  func refuse(_ refusal: EndpointRefusal, _ connection: EndpointConnection) {
    receiver.refused(refusal, of: connection.peer)
    if refusal == .headTooSlow { limitHits[.endpointTime, default: 0] += 1 }
    connection.append(EndpointReply.refusal(refusal).bytes)
    connection.isClosing = true
    connection.unread = []
    queue(connection)
  }

  private static let tooManyConnections = EndpointReply.refusal(.tooManyConnections).bytes

  /// Refuses a connection beyond a limit, without an object and a turn.
  func refuseExcess(_ descriptor: Int32, _ peer: Peer) {
    receiver.refused(.tooManyConnections, of: peer)
    limitHits[.endpointConnections, default: 0] += 1
    _ = unsafe Self.tooManyConnections.withUnsafeBytes {
      unsafe credd_send(descriptor, $0.baseAddress, $0.count)
    }
    refused.take(descriptor)
  }

  /// The unit of a connection whose control group is still there.
  func unit(of connection: EndpointConnection) -> String? {
    guard case .some(let group?) = connection.group, units.isThere(group) else { return nil }
    return group.unit
  }
}
