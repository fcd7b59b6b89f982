public import CredCore

/// What must hold at every step, whatever happens. All are read from replies to clients, from
/// requests to upstreams and from timers; none looks into the service.
public enum Invariant: String, Sendable, CaseIterable {
  /// No answer holds credentials that are over.
  case neverExpired
  /// No answer holds credentials of somebody else than the session's user.
  case neverForeign
  /// Credentials that are still good stay until the user does something about them.
  case neverDropped
  /// One call at a time for a session.
  case singleFlight
  /// Every request is answered once, and by its deadline.
  case answeredInTime
  /// No endpoint is called more often than its rate allows, nor wider than its width.
  case withinRate
  /// A session calls no more than its refreshes, its users and its back-off explain.
  case boundedCalls
  /// Some time after all faults ended, everyone is served.
  case healthyAgain
  /// No timer is set again and again for a time that has come.
  case noSpin
}

/// An invariant that did not hold.
public struct Violation: Sendable, CustomStringConvertible {
  public let invariant: Invariant
  public let at: Instant
  /// Nil where it is an endpoint's.
  public let session: Int?
  public let detail: String

  public var description: String {
    let whose = session.map { " session \($0)" } ?? ""
    return "\(at.sinceBeginning)\(whose): \(invariant.rawValue) is violated: \(detail)"
  }
}
