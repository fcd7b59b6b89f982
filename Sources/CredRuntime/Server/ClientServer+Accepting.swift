internal import CLinux
internal import CredCore
internal import Glibc

/// New clients, and those who find no place.
extension ClientServer {
  /// Accepts clients from `listener`, which stays the caller's.
  func listen(on listener: Int32) throws(SystemError) {
    credd_refuse_descriptors(listener)
    if credd_refuse_senders(listener) { namesSenders = true }
    listeners.append(listener)
    try SystemError.check(watch(listener), "watch descriptor \(listener)")
  }

  /// Takes no more clients.
  func stopListening() {
    listeners.forEach(loop.remove)
    listeners.removeAll()
  }

  /// No connection's: see ``ConnectionTable``.
  static func token(of listener: Int32) -> UInt64 { UInt64(listener) }

  private func watch(_ listener: Int32) -> Int32 {
    loop.add(listener, CREDD_EPOLL_IN, Self.token(of: listener))
  }

  func accept(from listener: Int32, _ events: UInt32) {
    // Who shuts a shared listener down leaves it ready for ever, with nobody to accept.
    guard events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) == 0 else {
      loop.remove(listener)
      return listeners.removeAll { $0 == listener }
    }
    let now = loop.now
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
    listeners.forEach(loop.remove)
    acceptTimer?.arm(at: loop.now + limits.acceptPause)
  }

  func resumeAccepting() {
    // What cannot be watched now is tried again.
    guard listeners.allSatisfy({ [0, -EEXIST].contains(watch($0)) }) else {
      return pauseAccepting()
    }
  }

  private func admit(_ descriptor: Int32, _ now: Instant) {
    guard let peer = try? Peer(of: descriptor) else {
      return credd_close_client(descriptor, true)
    }
    if namesSenders { _ = credd_refuse_senders(descriptor) }
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
    guard loop.add(descriptor, Self.interest, connection.token) == 0 else {
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

/// The end of the daemon, as clients see it.
extension ClientServer {
  /// Takes no more clients, answers what those there have asked by now, and calls `end` once: when
  /// whoever was accepted has been heard, which takes clients that are just about to send a
  /// millisecond, or after ``ServerLimits/lastWords``.
  ///
  /// Clients that nobody accepted stay in systemd's socket, for the next daemon.
  func leave(_ end: @escaping () -> Void) throws(SystemError) {
    stopListening()
    let now = loop.now
    for connection in connections where wantsInput(connection) && connection.unread.isEmpty {
      turn(of: connection) { receive(connection, now) }
    }
    finishTurn()
    let latest = now + limits.lastWords
    leaving = try loop.timer { [unowned self] _ in self.look(until: latest, end) }
    look(until: latest, end)
  }

  private func look(until latest: Instant, _ end: () -> Void) {
    let now = loop.now
    let isEveryoneHeard = connections.allSatisfy {
      !$0.isReady && ($0.hasSpoken || $0.isClosing)
    }
    guard isEveryoneHeard || now >= latest else {
      leaving?.arm(at: now + ServerLimits.lastLook)
      return
    }
    leaving?.arm(at: nil)
    end()
  }
}
