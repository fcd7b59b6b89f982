/// What a session does about a failure of an upstream call. None of them is final: even the last
/// ones are tried again after a long back-off, because an operator may have mended the cause.
public enum FailureClass: Sendable, Hashable {
  /// Back off with jitter and try again; no sooner than what the server asked for.
  case transient(retryAfter: Duration?)
  /// The same, and the rate limit has been too generous.
  case throttled(retryAfter: Duration?)
  /// Ask the backend for a new token, once; if it happens again with that one, back off.
  case newTokenOnce
  /// Forget the IdentityId, then ask the backend for a new token, once.
  case dropIdentityThenNewToken
  /// Ask the backend again, without telling it an IdentityId.
  case retryWithoutIdentity
  /// Forget the IdentityId and get a new one, once; if it happens again, the pool is wrong.
  case newIdentity
  /// Only the user can go on: sign in, again.
  case signInRequired
  /// A sign-in was refused: wrong user name or password.
  case signInFailed
  /// The backend knows the user and says no.
  case refusedByBackend
  /// The backend does not know the user.
  case unknownUser
  /// The login is linked to another identity.
  case conflict
  /// The identity pool, its roles or their trust must be changed.
  case poolMisconfigured
  /// credd's configuration, or the backend, must be changed.
  case permanentConfiguration

  /// Whether time alone may heal it.
  public var isTransient: Bool {
    switch self {
    case .transient, .throttled: true
    default: false
    }
  }

  /// How long the server asked to be left alone.
  public var retryAfter: Duration? {
    switch self {
    case .transient(let delay), .throttled(let delay): delay
    default: nil
    }
  }
}
