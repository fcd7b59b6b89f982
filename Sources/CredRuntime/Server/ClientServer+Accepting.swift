internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Accepts and refuses new clients.
extension ClientServer {
  /// Accepts clients from `listener`, which the caller still owns.
  func listen(on descriptor: Int32, as socket: ClientSocket = .main) throws(SystemError) {
    credd_refuse_descriptors(descriptor)
    if credd_refuse_senders(descriptor) { namesSenders = true }
    let listener = ClientListener(descriptor: descriptor, socket: socket)
    listeners.append(listener)
    try SystemError.check(watch(listener), "watch descriptor \(descriptor)")
  }

  /// Accepts no more clients.
  func stopListening() {
    for listener in listeners { loop.remove(listener.descriptor) }
    listeners.removeAll()
  }

  /// The token of a listener, which no connection has: see ``ConnectionTable``.
  static func token(of listener: ClientListener) -> UInt64 { UInt64(listener.descriptor) }

  private func watch(_ listener: ClientListener) -> Int32 {
    loop.add(listener.descriptor, CREDD_EPOLL_IN, Self.token(of: listener))
  }

  func accept(from listener: ClientListener, _ events: UInt32) {
    // If another process shuts down a shared listener, the listener stays ready for ever without a
    // client.
    guard events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) == 0 else {
      loop.remove(listener.descriptor)
      return listeners.removeAll { $0.descriptor == listener.descriptor }
    }
    let now = loop.now
    let end = now + ServerLimits.turnTime
    var admitted = 0
    while admitted < ServerLimits.acceptsPerTurn {
      let descriptor = credd_accept(listener.descriptor)
      switch -descriptor {
      case EAGAIN:
        return
      case ECONNABORTED, EINTR:
        // The client is already gone.
        if loop.now >= end { return }
      case 1...:
        // Descriptors or memory ran out. The connection stays in the backlog; an immediate retry
        // would spin.
        pauseAccepting()
        return
      default:
        if admit(descriptor, at: listener.socket, now) {
          admitted += 1
        } else if loop.now >= end {
          return
        }
      }
    }
  }

  private func pauseAccepting() {
    for listener in listeners { loop.remove(listener.descriptor) }
    acceptTimer?.arm(at: loop.now + limits.acceptPause)
  }

  func resumeAccepting() {
    // If a listener cannot be watched now, it is tried again.
    guard listeners.allSatisfy({ [0, -EEXIST].contains(watch($0)) }) else {
      return pauseAccepting()
    }
  }

  /// - Returns: false for a client that is closed at once. That takes no object and no turn: a user who
  ///   connects without end fills the backlog, in which other users wait behind.
  private func admit(_ descriptor: Int32, at socket: ClientSocket, _ now: Instant) -> Bool {
    if let error = receiver.refusal(at: socket) {
      refuse(descriptor, error)
      return false
    }
    guard let peer = try? Peer.connected(to: descriptor) else {
      credd_close_client(descriptor, true)
      return false
    }
    let account = receiver.account(of: peer.uid)
    let place = UserPlace(uid: peer.uid, allowance: socket.allowance)
    table.move(place, to: account)
    if let error = excess(of: place, in: account, with: 1) {
      countExcess(error, of: peer)
      refuse(descriptor, error)
      return false
    }
    if namesSenders { _ = credd_refuse_senders(descriptor) }
    let connection = table.insert(descriptor, peer, at: place, in: account, self, now)
    guard loop.add(descriptor, Self.interest, connection.token) == 0 else {
      close(connection)
      return false
    }
    connection.client = receiver.connected(connection, connection, at: socket)
    // The request has usually arrived already.
    connection.events = CREDD_EPOLL_IN
    queue.append(connection)
    return true
  }

  private func refuse(_ descriptor: Int32, _ error: ProtocolError) {
    let bytes = RenderedReply.error(error).bytes
    // It fits the buffer of a new connection.
    _ = unsafe bytes.withUnsafeBytes { unsafe credd_send(descriptor, $0.baseAddress, $0.count) }
    credd_close_client(descriptor, credd_may_carry_descriptors(descriptor))
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
  /// Accepts no more clients, answers pending requests, then calls `end` once: when every accepted
  /// client has sent something, or after ``ServerLimits/drainTime``.
  ///
  /// Clients that were not accepted stay in systemd's socket, for the next daemon.
  func drain(then end: @escaping () -> Void) throws(SystemError) {
    stopListening()
    let now = loop.now
    for connection in connections where wantsInput(connection) && connection.unread.isEmpty {
      turn(of: connection) { receive(connection, now) }
    }
    writeReplies()
    try look(for: { !$0.isReady && ($0.hasSentData || $0.isClosing) }, then: end)
  }

  /// Gives the lines that clients have sent ahead their turns, then calls `end` once: when all that can
  /// be answered are and clients have taken the answers, or after ``ServerLimits/drainTime``. Call it when
  /// no request waits any more.
  func answerRest(then end: @escaping () -> Void) throws(SystemError) {
    writeReplies()
    // A connection with a backlog has no turn until its peer has taken that.
    try look(for: { !$0.isReady && $0.backlog == 0 }, then: end)
  }

  /// The same before and after `work`, since more may come meanwhile.
  ///
  /// - Parameter work: calls its argument once, when it has ended.
  func answerRest(
    around work: @escaping (@escaping () -> Void) -> Void, then end: @escaping () -> Void
  ) {
    tryToAnswerRest { [unowned self] in
      work { [unowned self] in tryToAnswerRest(then: end) }
    }
  }

  /// Without a timer nobody is waited for.
  private func tryToAnswerRest(then end: @escaping () -> Void) {
    do throws(SystemError) { try answerRest(then: end) } catch { end() }
  }

  /// Calls `end` once: when all connections are in a state, or after ``ServerLimits/drainTime``.
  private func look(
    for state: @escaping (Connection) -> Bool, then end: @escaping () -> Void
  ) throws(SystemError) {
    let latest = loop.now + limits.drainTime
    drainTimer = try loop.timer { [unowned self] _ in look(for: state, until: latest, end) }
    look(for: state, until: latest, end)
  }

  private func look(
    for state: (Connection) -> Bool, until latest: Instant, _ end: () -> Void
  ) {
    let now = loop.now
    guard connections.allSatisfy(state) || now >= latest else {
      drainTimer?.arm(at: now + ServerLimits.drainCheck)
      return
    }
    drainTimer?.arm(at: nil)
    end()
  }
}
