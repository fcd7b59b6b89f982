public import CredCore

/// What must hold at every step, whatever happens.
public enum Invariant: String, Sendable, CaseIterable {
  /// No answer holds credentials that are over.
  case neverExpired
  /// No answer holds credentials of somebody else than the session's user.
  case neverForeign
  /// Credentials that are still good stay until the user does something about them.
  case neverDropped
  /// One call at a time for a session.
  case singleFlight
  /// Every waiter is answered once, and by its deadline.
  case answeredInTime
  /// No endpoint is called more often than its rate allows, nor wider than its width.
  case withinRate
  /// A session calls no more than its refreshes, its users and its back-off explain.
  case boundedCalls
  /// Some time after all faults ended, everyone is served.
  case healthyAgain
  /// Nobody asks to be woken in the past.
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
    return "\(at.clock)\(whose): \(invariant.rawValue) is violated: \(detail)"
  }
}

extension Instant {
  /// Days, hours and seconds since the simulation began, for people.
  var clock: String {
    let milliseconds = nanoseconds / 1_000_000 - Simulation.beginning.nanoseconds / 1_000_000
    let (hours, rest) = milliseconds.quotientAndRemainder(dividingBy: 3_600_000)
    let (minutes, left) = rest.quotientAndRemainder(dividingBy: 60_000)
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    return
      "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(left / 1000, 2)).\(digits(left % 1000, 3))"
  }
}
