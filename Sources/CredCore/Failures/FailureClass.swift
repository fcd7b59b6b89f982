extension FailureClass {
  /// This class with another delay; unchanged if the class has no delay.
  func with(retryAfter delay: Duration?) -> FailureClass {
    switch self {
    case .transient: .transient(retryAfter: delay)
    case .throttled: .throttled(retryAfter: delay)
    default: self
    }
  }
}

/// A session's reaction to a failed upstream call. No reaction is final: after the last ones, the
/// session tries again after a long back-off, because an operator may have removed the cause.
public enum FailureClass: Sendable, Hashable {
  /// Back off with jitter and try again, not before the server's `Retry-After`.
  case transient(retryAfter: Duration?)
  /// Like `transient`; in addition, the rate of calls was too high.
  case throttled(retryAfter: Duration?)
  /// Ask the backend for a new token, once; if that token fails too, back off.
  case newTokenOnce
  /// Drop the IdentityId, then ask the backend for a new token, once.
  case dropIdentityThenNewToken
  /// Ask the backend again without an IdentityId.
  case retryWithoutIdentity
  /// Drop the IdentityId and get a new one, once. If Cognito refuses the new one too, the pool is
  /// misconfigured.
  case newIdentity
  /// The user must sign in.
  case signInRequired
  /// A sign-in was refused: wrong user name or password.
  case signInFailed
  /// The backend knows the user, but refuses.
  case refusedByBackend
  /// The backend does not know the user.
  case unknownUser
  /// The login is linked to another identity.
  case conflict
  /// The identity pool, its roles or their trust must be changed.
  case poolMisconfigured
  /// credd's configuration, or the backend, must be changed.
  case permanentConfiguration

  /// Whether a later retry may succeed without a person's action.
  public var isTransient: Bool {
    switch self {
    case .transient, .throttled: true
    default: false
    }
  }

  /// The pause that the server asked for.
  public var retryAfter: Duration? {
    switch self {
    case .transient(let delay), .throttled(let delay): delay
    default: nil
    }
  }
}
