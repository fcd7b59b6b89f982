import CredCore

/// A host with many sessions and the world around it, from a seed: credd's own machines, and a
/// clock, a network, upstreams and people that are made up.
///
/// After every step the invariants are checked; the first violation ends it.
public struct Simulation {
  static let beginning = Instant.seconds(100_000)
  /// How long the calm lasts, and when in it everybody asks: all that a server asked for is over.
  static let calm = 900.0
  static let calmBeforeAsking = 200.0

  let scenario: Scenario
  var dice: Dice
  var events = EventHeap()
  var now = Simulation.beginning
  /// The end of the last sleep: nobody could be answered before.
  var awakeSince = Simulation.beginning
  /// How far the wall clock is off.
  var skew = Duration.zero
  var isCalm = false
  var isOver = false
  var sessions: [SimulatedSession] = []
  var endpoints: [Endpoint] = []
  var calls: [CallID: SimulatedCall] = [:]
  var tickets = CallIDs()
  var callIDs = CallIDs()
  var lastWaiter: UInt64 = 0
  var report = SimulationReport()
  let notebook: Notebook

  /// Places of AWS's endpoints; backends come before them.
  static let backends = 3
  static let cognitoIDs = backends
  static let cognitoTokens = backends + 1
  static let cognitoCredentials = backends + 2
  static let sts = backends + 3

  public init(_ scenario: Scenario) {
    self.scenario = scenario
    dice = Dice(seed: scenario.seed)
    notebook = Notebook(isTraced: scenario.isTraced)
    makeEndpoints()
    for index in 0..<scenario.sessions {
      let plan = Scenario.plans[index % Scenario.plans.count]
      sessions.append(
        SimulatedSession(
          index, plan, backend: dice.index(Self.backends), dice: &dice, now: now))
      events.put(.use(index), at: later(dice.seconds(around: 60)))
      events.put(.act(index), at: later(dice.seconds(around: 3000)))
    }
    for endpoint in endpoints.indices {
      events.put(.weather(endpoint), at: later(dice.seconds(around: 3600)))
    }
    let end = scenario.hours * 3600
    events.put(.sleep, at: later(dice.seconds(around: 20_000)))
    events.put(.clockJump, at: later(dice.seconds(around: 10_000)))
    events.put(.restart, at: later(dice.seconds(around: 20_000)))
    events.put(.hourBegins, at: later(3600))
    events.put(.calm, at: later(end))
    events.put(.end, at: later(end + Self.calm))
  }

  private mutating func makeEndpoints() {
    for name in ["corp", "lab", "shop"] {
      let rate = Rate.perSecond(dice.pick([1, 5, 20, 50]))
      endpoints.append(
        Endpoint(.backend(name), .init(rate: rate, width: dice.pick([1, 2, 4, 16]))))
    }
    for rate in [25, 200, 200] {
      endpoints.append(Endpoint(.cognitoIdentity, .init(rate: .perSecond(rate), width: 32)))
    }
    endpoints.append(Endpoint(.sts, .init(rate: .perSecond(100), width: 32)))
  }

  func later(_ seconds: Double) -> Instant { now + .seconds(1) * seconds }

  /// Runs to the end, or to the first violation.
  public mutating func run() -> SimulationReport {
    while !isOver, notebook.violation == nil, let event = events.pop() {
      // While the host slept, nothing happened: what fell due is late.
      now = max(now, event.at)
      report.events += 1
      perform(event)
    }
    let hours = (now - Self.beginning).inSeconds / 3600
    report.sessionHours = hours * Double(scenario.sessions)
    report.violation = notebook.violation
    report.trace = notebook.trace
    return report
  }

  private mutating func perform(_ event: EventHeap.Event) {
    switch event.kind {
    case .wakeSession(let session): wake(session: session, event.at)
    case .wakeGate(let endpoint): wake(gate: endpoint, event.at)
    case .reply(let ticket): deliver(ticket)
    case .use(let session): use(session)
    case .act(let session): act(session)
    case .leave(let session, let waiter): leave(session, waiter)
    case .weather(let endpoint): changeWeather(endpoint)
    case .sleep: sleep()
    case .clockJump: jump()
    case .restart: restart()
    case .hourBegins: beginHour()
    case .calm: beginCalm()
    case .finalAsk(let session): finalAsk(session)
    case .finalSignIn(let session): signIn(session, isGood: true, isFinal: true)
    case .end: end()
    }
  }

  // MARK: Waking

  private mutating func wake(session index: Int, _ time: Instant) {
    guard sessions[index].scheduledWake == time else { return }
    sessions[index].scheduledWake = .distantFuture
    if scenario.sabotage == .noWakes { return }
    guard sessions[index].machine.nextWake <= now else { return reschedule(index) }
    send(.timePassed, to: index)
  }

  private mutating func wake(gate index: Int, _ time: Instant) {
    guard endpoints[index].scheduledWake == time else { return }
    endpoints[index].scheduledWake = .distantFuture
    guard endpoints[index].admission.nextWake <= now else { return rescheduleGate(index) }
    tellGate(.timePassed, index)
  }

  mutating func reschedule(_ index: Int) {
    let wake = sessions[index].machine.nextWake
    guard wake < sessions[index].scheduledWake else { return }
    sessions[index].scheduledWake = wake
    events.put(.wakeSession(index), at: wake)
  }

  mutating func rescheduleGate(_ index: Int) {
    let wake = endpoints[index].admission.nextWake
    guard wake < endpoints[index].scheduledWake else { return }
    endpoints[index].scheduledWake = wake
    events.put(.wakeGate(index), at: wake)
  }

  // MARK: Words

  func violate(
    _ invariant: Invariant, session: Int?, _ detail: @autoclosure () -> String
  ) {
    notebook.note(Violation(invariant: invariant, at: now, session: session, detail: detail()))
  }

  func trace(_ line: @autoclosure () -> String) {
    guard notebook.isTraced else { return }
    notebook.write("\(now.clock) \(line())")
  }
}
