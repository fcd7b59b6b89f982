import CredCore

/// Limits what one user may cause.
extension SessionService {
  /// The refusal of a request that forces an upstream call, if its user has caused too many.
  func callLimitError(_ uid: UInt32, _ now: Instant) -> ProtocolError? {
    callAllowance.pause(of: accountNumber(of: uid), now: now).map {
      counters.hit(.upstreamCalls)
      return ProtocolError(
        .tooManyRequests, "this user causes too many upstream calls: more than 2 a second",
        retryAfter: $0)
    }
  }

  /// Refuses logins if a user's sessions would then store too much: all that a client sent while it
  /// signs in, and what it signed in with.
  func loginLimitError(_ login: LoginRequest, _ session: Session) -> ProtocolError? {
    guard case .logins(let added, _, _) = login.signIn else { return nil }
    let uid = session.key.uid
    let kept = sessionOrder.sessions(of: uid).reduce(0) { sum, other in
      other === session ? sum : sum + other.machine.logins.byteCount
    }
    guard kept + added.byteCount > Limits.Session.loginBytesPerUser else { return nil }
    counters.hit(.logins)
    return ProtocolError(
      .tooManyRequests,
      "this user's sessions keep more than \(Limits.Session.loginBytesPerUser) bytes of logins; "
        + "sign out of other profiles")
  }

  /// Refuses a request whose user waits in too many other sessions. Further requests in the same
  /// session are free.
  func waitLimitError(_ session: Session, _ client: Client) -> ProtocolError? {
    settleAccount(of: client.user)
    guard session.machine.waiterCount == 0,
      waitingSessions[client.user.account, default: 0] >= Limits.Client.waitingSessions
    else { return nil }
    counters.hit(.waitingSessions)
    return ProtocolError(
      .tooManyRequests,
      "requests of this user wait in \(Limits.Client.waitingSessions) other profiles already",
      retryAfter: .seconds(1))
  }
}
