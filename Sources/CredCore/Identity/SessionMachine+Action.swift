extension SessionMachine {
  /// What the daemon does for a session, in order.
  public enum Action: Sendable, Equatable {
    /// Perform a call and bring its outcome back under that number.
    case call(UInt64, UpstreamCall)
    /// Answer a waiter with the credentials of the session.
    case giveCredentials(UInt64)
    /// Answer a waiter with the token of the session.
    case giveToken(UInt64)
    /// Answer a `login` with how the session stands.
    case giveState(UInt64)
    /// Answer a waiter with an error.
    case refuse(UInt64, ProtocolError)
    /// The credentials are others now, or gone: render or forget the reply.
    case credentialsChanged
    /// Tell whoever watches.
    case announce(Announcement)
  }
}
