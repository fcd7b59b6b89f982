internal import CredCore

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
