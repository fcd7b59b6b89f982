internal import CredCore

/// Clients that owe something.
extension ClientServer {
  /// A client that owes the rest of a line, or the taking of its replies, has a deadline.
  func noteStall(_ connection: Connection, _ now: Instant) {
    let isBlocked = connection.backlog > 0
    guard isBlocked || (connection.parked == nil && connection.holdsPartialLine) else {
      noLongerStalled(connection)
      return
    }
    guard !connection.isStalled else { return }
    connection.isStalled = true
    if stalled.isEmpty { stallTimer?.arm(at: now + limits.stallCheck) }
    stalled[connection.token] =
      now + (isBlocked ? limits.blockedWrite : limits.partialLine)
  }

  func noLongerStalled(_ connection: Connection) {
    guard connection.isStalled else { return }
    connection.isStalled = false
    stalled[connection.token] = nil
  }

  func cutStalled() {
    let now = loop.now
    for (token, deadline) in stalled where deadline <= now {
      stalled[token] = nil
      guard let connection = table[token] else { continue }
      guard connection.backlog == 0 else {
        close(connection)
        continue
      }
      refuse(connection, ProtocolError(.timeout, "the request line was not finished in time"))
    }
    finishTurn()
    stallTimer?.arm(at: stalled.isEmpty ? nil : now + limits.stallCheck)
  }
}
