internal import CLinux
internal import CredCore
internal import Glibc

/// New clients, and those who find no place.
extension ClientServer {
  /// Accepts clients from `listener`, which stays the caller's.
  func listen(on listener: Int32) throws(SystemError) {
    credd_refuse_descriptors(listener)
    listeners.append(
      try loop.watch(listener, for: CREDD_EPOLL_IN) { [unowned self] ready in
        // Who shuts a shared listener down leaves it ready for ever, with nobody to accept.
        guard ready & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) == 0 else { return self.pauseAccepting() }
        self.accept(from: listener)
      })
  }

  /// Takes no more clients.
  func stopListening() {
    listeners.removeAll()
  }

  private func accept(from listener: Int32) {
    let now = loop.now
    defer { serveRound() }
    for _ in 0..<ServerLimits.acceptsPerTurn {
      let descriptor = credd_accept(listener)
      switch -descriptor {
      case EAGAIN:
        return
      case ECONNABORTED, EINTR:
        continue  // the client is already gone
      case 1...:
        // No descriptors, no memory: the connection stays in the backlog, and trying again at once
        // would spin.
        pauseAccepting()
        return
      default:
        admit(descriptor, now)
      }
    }
  }

  private func pauseAccepting() {
    listeners.forEach { $0.setEnabled(false) }
    acceptTimer?.arm(at: loop.now + limits.acceptPause)
  }

  private func admit(_ descriptor: Int32, _ now: Instant) {
    guard let peer = try? Peer(of: descriptor) else {
      return credd_close_client(descriptor, true)
    }
    let connection = table.insert(descriptor, peer, now)
    guard table.count <= limits.connections,
      connection.user.connections <= limits.connectionsPerUser
    else {
      refused += 1
      let (whose, limit) =
        table.count > limits.connections
        ? ("daemon", limits.connections) : ("user", limits.connectionsPerUser)
      refuse(
        connection,
        ProtocolError(
          .tooManyRequests, "this \(whose) has too many connections: more than \(limit)"))
      return
    }
    guard credd_epoll_add(epoll, descriptor, connection.interest, connection.token) == 0 else {
      return close(connection)
    }
    accepted += 1
    // The request is usually there already.
    connection.events = CREDD_EPOLL_IN
    queue.append(connection)
  }

  func refuse(_ connection: Connection, _ error: ProtocolError) {
    turn(of: connection) {
      reply(RenderedReply.error(error).bytes, to: connection)
      flush(connection)
      close(connection)
    }
  }
}
