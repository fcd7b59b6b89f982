public import CredCore

/// Conditions that must hold after every step. They are checked from replies to clients, requests
/// to upstreams and timers, never from the service's inner state.
public enum Invariant: String, Sendable, CaseIterable {
  /// No answer holds expired credentials.
  case neverExpired
  /// No answer holds credentials of another user than the session's.
  case neverForeign
  /// No backend gets an IdentityId that only a client claimed, nor another user's.
  case neverClaimed
  /// Valid credentials stay until the user changes or removes them.
  case neverDropped
  /// One call at a time for a session.
  case singleFlight
  /// Every request is answered once, and by its deadline.
  case answeredInTime
  /// No backend gets more calls than its rate allows, nor more at once than its width.
  case withinRate
  /// The daemon makes no more calls than refreshes, requests and back-off explain.
  case boundedCalls
  /// Some time after all faults ended, every session that needs no sign-in gets credentials.
  case healthyAgain
  /// After an hour without requests, the first caller of a session with `keep_warm` does not
  /// wait.
  case keptWarm
  /// No timer is set again and again for a time in the past.
  case noSpin
  /// Whoever may use a profile is admitted, and nobody else, from the moment of a reload on.
  case admitted
  /// What one server gave is sent to no other.
  case staysWithIssuer
  /// No secret in a log or an error, and no backend's words about one person before another.
  case secretsStay
  /// No key of a derived profile may do more than the configuration in force says.
  case neverWider
  /// A user pool gets no refresh token that it has replaced, unless that reply was lost, and none
  /// twice at once.
  case usedOnce
  /// A backend that fails for one user fails for no other.
  case ownTrouble
}

/// An invariant that did not hold.
public struct Violation: Sendable, CustomStringConvertible {
  public let invariant: Invariant
  public let at: Instant
  public let detail: String

  public var description: String {
    "\(at.sinceBeginning): \(invariant.rawValue) is violated: \(detail)"
  }
}
