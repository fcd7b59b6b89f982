import CredCore

/// What a simulation is made of. Everything else follows from the seed.
public struct Scenario: Sendable {
  public var seed: UInt64
  public var sessions: Int
  /// Hours of trouble; a calm of a quarter of an hour follows.
  public var hours: Double
  public var sabotage: Sabotage?
  /// Whether every step is written down.
  public var isTraced = false

  public init(seed: UInt64, sessions: Int = 40, hours: Double = 24, sabotage: Sabotage? = nil) {
    self.seed = seed
    self.sessions = sessions
    self.hours = hours
    self.sabotage = sabotage
  }

  /// The kinds of profile that there are.
  static let plans = [
    SessionPlan(backend: .host), SessionPlan(backend: .host, flow: .basic),
    SessionPlan(backend: .host, allowsGuests: true), SessionPlan(backend: .password),
    SessionPlan(backend: .password, flow: .basic, allowsGuests: true),
    SessionPlan(backend: .none), SessionPlan(backend: .none, allowsGuests: true),
    SessionPlan(backend: .none, tokenFileProvider: Person.provider),
    SessionPlan(backend: .none, flow: .basic, tokenFileProvider: Person.provider),
  ]
}

/// What a simulation did.
public struct SimulationReport: Sendable {
  public internal(set) var sessionHours = 0.0
  public internal(set) var events = 0
  public internal(set) var answers = 0
  public internal(set) var refusals = 0
  public internal(set) var cacheHits = 0
  public internal(set) var calls = 0
  public internal(set) var failedCalls = 0
  public internal(set) var heldBack = 0
  public internal(set) var restarts = 0
  public internal(set) var violation: Violation?
  /// The steps, where they were traced.
  public internal(set) var trace: [String] = []
}

extension SimulationReport {
  /// The report of nothing.
  public static let none = SimulationReport()

  public mutating func add(_ other: SimulationReport) {
    sessionHours += other.sessionHours
    events += other.events
    answers += other.answers
    refusals += other.refusals
    cacheHits += other.cacheHits
    calls += other.calls
    failedCalls += other.failedCalls
    heldBack += other.heldBack
    restarts += other.restarts
  }

  /// Of the traced steps, the last that concern the violation's session, or all of them where it
  /// has none.
  public var story: [String] {
    guard let session = violation?.session else { return Array(trace.suffix(60)) }
    let own = trace.filter { line in
      line.contains(" session \(session):") || !line.contains(" session ")
    }
    return Array(own.suffix(60))
  }
}
