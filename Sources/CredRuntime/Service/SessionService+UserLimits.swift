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

  /// Whether a user's sessions would keep too much of what a sign-in brings: a backend need not look
  /// at logins, and then whatever was sent stays.
  func excess(of login: LoginRequest, in session: Session) -> ProtocolError? {
    guard case .logins(let added) = login.signIn else { return nil }
    let uid = session.key.uid
    let kept = settings.profileNames.reduce(0) { sum, name in
      guard let other = sessions[Session.Key(uid: uid, profile: name)], other !== session else {
        return sum
      }
      return sum + other.machine.logins.byteCount
    }
    guard kept + added.byteCount > Limits.loginBytesPerUser else { return nil }
    return ProtocolError(
      .tooManyRequests,
      "this user's sessions keep more than \(Limits.loginBytesPerUser) bytes of logins; "
        + "sign out of other profiles")
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
