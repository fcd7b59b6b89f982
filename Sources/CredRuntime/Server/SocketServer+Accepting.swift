internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Accepts and refuses new clients.
extension SocketServer {
  func listen(at listener: any Listener) throws(SystemError) { try listeners.add(listener) }

  /// Accepts no more clients.
  func stopListening() { listeners.removeAll() }

  /// - Returns: false for a client that is refused at once.
  func admit(_ descriptor: Int32, at listener: any Listener, _ now: Instant) -> Bool {
    guard let newcomer = listener.newcomer(descriptor, now) else { return false }
    let place = UserPlace(uid: newcomer.peer.uid, allowance: listener.allowance)
    table.move(place, to: newcomer.account)
    if let error = excess(of: place, in: newcomer.account, with: 1) {
      count(listener.hitByExcess, error, newcomer.peer)
      listener.refuse(newcomer, error)
      return false
    }
    let connection = table.insert(at: place, in: newcomer.account) { user, token in
      listener.connection(of: newcomer, user: user, token: token, at: self, now)
    }
    connection.begin()
    // The request has usually arrived already.
    connection.events = CREDD_EPOLL_IN
    queue.append(connection)
    return true
  }

  /// Ends a connection with a last reply.
  func refuse(_ connection: any FramedConnection, with reply: [UInt8]) {
    turn(of: connection) {
      self.reply(reply, to: connection)
      flush(connection)
      close(connection)
    }
  }
}

/// The end of the daemon, as clients see it.
extension SocketServer {
  /// Accepts no more clients, answers pending requests, then calls `end` once: when every accepted
  /// client has sent something, or after ``ServerLimits/drainTime``.
  ///
  /// Clients that were not accepted stay in systemd's socket, for the next daemon.
  func drain(then end: @escaping () -> Void) throws(SystemError) {
    stopListening()
    let now = loop.now
    for connection in connections where connection.wantsInput && connection.unread.isEmpty {
      turn(of: connection) { receive(connection, now) }
    }
    writeReplies()
    try look(for: { !$0.isReady && ($0.hasSentData || $0.isClosing) }, then: end)
  }

  /// Writes the last replies and closes all connections.
  func finish() {
    stopListening()
    writeReplies()
    for connection in connections {
      flush(connection)
      close(connection)
    }
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
    for state: @escaping (any FramedConnection) -> Bool, then end: @escaping () -> Void
  ) throws(SystemError) {
    let latest = loop.now + limits.drainTime
    drainTimer = try loop.timer { [unowned self] _ in look(for: state, until: latest, end) }
    look(for: state, until: latest, end)
  }

  private func look(
    for state: (any FramedConnection) -> Bool, until latest: Instant, _ end: () -> Void
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
