import SeededRandom

@testable public import CredCore

/// A session machine with a clock and a generator of its own: events go in by name, and what the
/// machine decided is kept in order.
struct SessionDriver {
  typealias Action = SessionMachine.Action

  private(set) var machine: SessionMachine
  private(set) var now: Instant
  private var callIDs = CallIDs()
  private var generator: SeededGenerator
  /// The number that the next waiter gets.
  private(set) var nextWaiter: UInt64 = 1
  /// Everything since the last ``forget()``.
  private(set) var actions: [Action] = []
  /// The calls under way.
  private(set) var openCalls: [CallID: UpstreamCall] = [:]
  /// All calls ever made.
  private(set) var calls: [UpstreamCall] = []

  init(
    _ backend: SessionPlan.BackendTrust = .host, guests: Bool = false,
    flow: PoolPlan.Flow = .enhanced, tokenFileProvider: String? = nil,
    identityID: IdentityID? = nil, seed: UInt64 = 1
  ) {
    self.init(
      plan: SessionPlan(
        backend: backend, flow: flow, allowsGuests: guests, tokenFileProvider: tokenFileProvider),
      identityID: identityID, seed: seed)
  }

  init(plan: SessionPlan, identityID: IdentityID? = nil, seed: UInt64 = 1) {
    now = .seconds(1000)
    generator = SeededGenerator(seed: seed)
    machine = SessionMachine(plan: plan, identityID: identityID, now: now)
  }

  init(machine: SessionMachine, seed: UInt64 = 1) {
    now = .seconds(1000)
    generator = SeededGenerator(seed: seed)
    self.machine = machine
  }

  /// The daemon is killed and starts again: what was stored is read anew, and nothing is under way.
  mutating func restart() {
    machine = SessionMachine(
      plan: machine.plan, snapshot: machine.snapshot, now: now,
      jitter: .random(in: 0..<1, using: &generator))
    openCalls = [:]
    callIDs = CallIDs()
  }

  // MARK: Events

  /// - Returns: what came of it.
  @discardableResult
  mutating func send(_ event: SessionMachine.Event) -> [Action] {
    let new = machine.handle(event, now: now, callIDs: &callIDs, random: &generator)
    for case .call(let id, let call) in new {
      openCalls[id] = call
      calls.append(call)
    }
    actions += new
    return new
  }

  /// A request arrives.
  ///
  /// - Returns: the number of the waiter.
  @discardableResult
  mutating func ask(
    _ want: Waiter.Want = .credentials, minimumLife: Duration? = nil, refresh: Bool = false,
    wait: Duration = .seconds(5)
  ) -> UInt64 {
    let waiter = Waiter(
      id: nextWaiter, want: want, minimumLife: minimumLife, mustRefresh: refresh, arrived: now,
      wait: wait)
    nextWaiter += 1
    send(.asked(waiter))
    return waiter.id
  }

  /// A request arrives for credentials that last their whole hour: the held token is exchanged again.
  @discardableResult
  mutating func askForAWholeHour(wait: Duration = .seconds(5)) -> UInt64 {
    ask(minimumLife: .seconds(3600), wait: wait)
  }

  /// A `login` arrives.
  ///
  /// - Parameters:
  ///   - expires: when a developer token runs out, in seconds from now.
  ///   - loginsExpire: the same for logins.
  /// - Returns: the number under which it is answered.
  @discardableResult
  mutating func login(
    _ signIn: SignInInput, role: String? = nil, expires: Double? = nil,
    loginsExpire: [String: Double] = [:], within seconds: Double = 30
  ) -> UInt64 {
    let id = nextWaiter
    nextWaiter += 1
    let now = now
    send(
      .signInRequested(
        SignInRequest(
          id: id, number: id, input: signIn, customRoleARN: role,
          expires: expires.map { now + .seconds(1) * $0 },
          loginsExpire: loginsExpire.mapValues { now + .seconds(1) * $0 },
          deadline: now + .seconds(1) * seconds)))
    return id
  }

  mutating func leave(_ waiter: UInt64) {
    send(.waiterLeft(waiter))
  }

  /// The one call under way ends, so many seconds later.
  @discardableResult
  mutating func finish(_ outcome: UpstreamOutcome, after seconds: Double = 0.1) -> [Action] {
    advance(by: seconds)
    guard let call = openCalls.keys.max() else { return [] }
    return finish(call: call, outcome)
  }

  @discardableResult
  mutating func finish(call: CallID, _ outcome: UpstreamOutcome) -> [Action] {
    openCalls[call] = nil
    return send(.callFinished(call, outcome))
  }

  /// Time passes; the machine is woken whenever it asked to be, and at the end if it did not.
  mutating func advance(to time: Instant) {
    while machine.nextWake <= time {
      now = max(now, machine.nextWake)
      send(.timePassed)
      guard machine.nextWake > now else { break }
    }
    now = max(now, time)
  }

  mutating func advance(by seconds: Double) {
    advance(to: now + .seconds(1) * seconds)
  }

  /// The host is suspended: time passes without `timePassed`.
  mutating func sleep(_ seconds: Double) {
    sleep(until: now + .seconds(1) * seconds)
  }

  mutating func sleep(until time: Instant) {
    now = max(now, time)
  }

  // MARK: What came of it

  /// Only what comes from now on is looked at.
  mutating func forget() {
    actions = []
  }

  mutating func forgetCalls() {
    calls = []
  }

  /// The answer to a waiter, if there was one.
  func answer(to waiter: UInt64) -> Answer? {
    actions.lazy.compactMap { action in
      switch action {
      case .giveCredentials(waiter): .credentials
      case .giveToken(waiter): .token
      case .giveState(waiter): .state
      case .refuse(waiter, let error): .refused(error.code)
      default: nil
      }
    }.first
  }

  func refusal(of waiter: UInt64) -> ProtocolError? {
    for case .refuse(waiter, let error) in actions { return error }
    return nil
  }

  /// What is announced, without the ``failures``.
  var announcements: [Announcement] {
    actions.compactMap { action in
      switch action {
      case .announce(.failed), .announce(.signInFailed): nil
      case .announce(let announcement): announcement
      default: nil
      }
    }
  }

  /// Failures of attempts that left nothing to give.
  var failures: [UpstreamFailure] {
    actions.compactMap { action in
      switch action {
      case .announce(.failed(let failure)), .announce(.signInFailed(let failure)): failure
      default: nil
      }
    }
  }

  /// The call whose outcome the machine awaits.
  var awaitedCall: CallID? { machine.awaitedCall }

  /// Calls that something overtook: their answers will come, and mean nothing.
  ///
  /// - Returns: their ids.
  mutating func takeStaleCalls() -> [CallID] {
    let stale = openCalls.keys.filter { $0 != awaitedCall }
    for call in stale { openCalls[call] = nil }
    return stale
  }

  var wakesIn: Duration { machine.nextWake - now }

  enum Answer: Equatable {
    case credentials
    case token
    case state
    case refused(ProtocolErrorCode)
  }

  // MARK: Whole stories

  /// A cold `get` that succeeds: a callback and an exchange.
  mutating func signIn(
    _ fixtures: Fixtures = Fixtures(), lifetime: Double = 3600, tokenLifetime: Double? = 900
  ) {
    ask()
    finish(fixtures.token(tokenLifetime), after: 0)
    finish(fixtures.credentials(lifetime), after: 0)
    actions = []
    calls = []
  }

  /// The daemon serves a caller from its cache, without an event.
  mutating func useCache() {
    machine.lastAsked = now
  }
}

extension CallID: ExpressibleByIntegerLiteral {
  public init(integerLiteral number: UInt64) { self.init(number: number) }
}
