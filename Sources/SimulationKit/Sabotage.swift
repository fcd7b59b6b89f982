/// Faults of credd itself, built into the simulation on purpose: each invariant must catch its own.
public enum Sabotage: String, Sendable, CaseIterable {
  /// The cache answers for two hours, whatever it holds.
  case staleCache
  /// Replies reach the session next door.
  case mixedReplies
  /// A failed refresh takes the credentials with it.
  case dropOnFailure
  /// A call that is wanted twice is made twice.
  case twoFlights
  /// Nobody is woken.
  case noWakes
  /// Calls pass the gates unseen.
  case openGates
  /// The runtime repeats failed calls on its own.
  case eagerRetries
  /// One failure poisons a session for ever.
  case poison
  /// The machines are told a time that is over.
  case slowClock

  /// What must catch it.
  public var caughtBy: [Invariant] {
    switch self {
    case .staleCache: [.neverExpired]
    case .mixedReplies: [.neverForeign]
    case .dropOnFailure: [.neverDropped]
    case .twoFlights: [.singleFlight]
    case .noWakes: [.answeredInTime]
    case .openGates: [.withinRate]
    case .eagerRetries: [.boundedCalls]
    case .poison: [.healthyAgain]
    case .slowClock: [.noSpin]
    }
  }
}
