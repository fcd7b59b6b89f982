extension SessionMachine {
  /// What happens to a session.
  public enum Event: Sendable {
    /// A request came that the cache alone could not answer.
    case asked(Waiter)
    /// A user signs in; answered by `giveState` or `refuse`.
    case signInRequested(SignInRequest)
    /// The user signed out: everything is forgotten, and nothing signs in again by itself.
    case loggedOut
    /// The uid has another name: another person, of whom nothing is known.
    case userChanged
    /// The profile's configuration is another one.
    case profileChanged(SessionPlan, ProfileChange)
    /// Credentials, or the identity too, are to be forgotten.
    case cleared(ClearScope)
    /// Callers that wait for a sign-in are to wait no longer.
    case released
    /// A waiting caller is gone.
    case waiterLeft(UInt64)
    /// The call of that number ended.
    case callFinished(UInt64, UpstreamOutcome)
    /// ``SessionMachine/nextWake`` has come.
    case timePassed
  }
}
