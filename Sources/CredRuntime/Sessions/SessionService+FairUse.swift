internal import CredCore

/// What one user may have of upstream.
extension SessionService {
  /// Whether a user has caused too many upstream calls to insist on another.
  func excess(of uid: UInt32, _ now: Instant) -> ProtocolError? {
    allowance.pause(of: uid, now: now).map {
      ProtocolError(
        .tooManyRequests, "this user causes too many upstream calls: more than 2 a second",
        retryAfter: $0)
    }
  }

  /// Whether requests of the connection's user wait in too many other sessions. Those who join
  /// others in a session cost nothing.
  func crowding(of session: Session, _ connection: Connection) -> ProtocolError? {
    guard session.machine.waiterCount == 0,
      connection.user.connections > Limits.waitingSessionsPerUser
    else { return nil }
    var waiting: Set<ObjectIdentifier> = []
    for other in server.connections where other.user === connection.user {
      if let parked = other.parked?.session { waiting.insert(ObjectIdentifier(parked)) }
    }
    guard waiting.count >= Limits.waitingSessionsPerUser else { return nil }
    return ProtocolError(
      .tooManyRequests,
      "requests of this user wait in \(Limits.waitingSessionsPerUser) other profiles already",
      retryAfter: .seconds(1))
  }
}
