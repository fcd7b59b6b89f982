import CredCore

/// A session of the simulated daemon, with what the simulation itself knows to be true of it.
struct SimulatedSession {
  /// A request that waits for its answer.
  struct Open {
    let id: UInt64
    let deadline: Instant
    /// Whom a login makes the user, where it is one.
    let persons: [Person]
    let isFinal: Bool
  }

  let index: Int
  let plan: SessionPlan
  /// Apps ask about as often as this.
  let gap: Double
  /// How long its credentials last.
  let lifetime: Double
  let backend: Int
  var machine: SessionMachine
  /// Counts the people to whom the uid was given.
  var generation = 0
  /// Whose credentials may be answered, and whose as soon as a login that is under way succeeds.
  var allowed: [Person]
  var pending: [Person] = []
  /// What the cache answers with, as the runtime keeps it.
  var reply: (person: Person, end: Instant)?
  var quietUntil = Instant(nanoseconds: .min)
  /// Until when the credentials at hand may be answered.
  var heldUntil = Instant(nanoseconds: 0)
  /// The outstanding call that the machine awaits.
  var awaited: CallID?
  var ticket: CallID?
  var isHurried = false
  var open: [Open] = []
  var scheduledWake = Instant.distantFuture
  /// Since the hour began.
  var callsInHour = 0
  var eventsInHour = 0
  var isPoisoned = false
  var finallySignedIn = false

  init(_ index: Int, _ plan: SessionPlan, backend: Int, dice: inout Dice, now: Instant) {
    self.index = index
    self.plan = plan
    self.backend = backend
    gap = dice.pick([20, 120, 600, 600, 3000, 10_000])
    lifetime = dice.pick([90, 900, 1800, 3600, 3600, 3600, 43_200])
    machine = SessionMachine(plan: plan, now: now)
    allowed = []
    allowed = unattended
  }

  func person(_ guise: Person.Guise) -> Person {
    Person(session: index, generation: generation, guise)
  }

  /// Who needs nobody to sign in.
  var unattended: [Person] { [person(.host), person(.logins), person(.guest)] }

  /// The most calls that an hour of this session can explain: refreshes, what users did, and
  /// back-off, each with a chain of calls and their remedies.
  var mostCallsInHour: Int {
    let refreshes = Int(3600 / (0.19 * min(lifetime, 90))) + 1
    return 8 * (refreshes + eventsInHour + 60)
  }
}

/// A call under way in the simulated world.
struct SimulatedCall {
  let session: Int
  let number: CallID
  let call: UpstreamCall
  let endpoint: Int?
  /// Who the Unix user was.
  let generation: Int
  /// Nil until it was let through; then what becomes of it.
  var outcome: UpstreamOutcome?
  var isAdmitted = false
}
