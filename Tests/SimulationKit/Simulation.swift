import CredCore
import CredService

/// A host with many sessions, made from a seed. The service is credd's own, with sessions, access,
/// exchanges and records. The clock, network, upstreams, store and people are simulated.
///
/// After every step the invariants are checked; the first violation ends it.
public final class Simulation {
  /// How long the calm lasts, and after which part of it every session gets a request: by then the
  /// pauses that servers asked for, and those after wrong passwords, have ended.
  static let calm = 900.0
  static let calmBeforeAsking = 320.0
  /// The same for sessions that are renewed though nobody asks: the pause after a failed attempt has
  /// ended, too.
  static let calmBeforeAskingKept = 500.0
  /// The user who may see everything.
  static let root = -1

  private let world: World
  private let oracle: Oracle
  private let upstreams: SimulatedUpstreams
  private let host: SimulatedHost
  private let people: SimulatedPeople

  public init(_ scenario: Scenario) {
    world = World(scenario)
    let configuration = SimulatedConfiguration(&world.random, keepsWarm: scenario.keepsWarm)
    // The additional sessions get their first request in the calm.
    let sessions = scenario.sessions + SimulatedConfiguration.kinds.count
    oracle = Oracle(world, configuration, sessions: sessions)
    upstreams = SimulatedUpstreams(world, oracle, configuration)
    host = SimulatedHost(
      world, Self.resolve(configuration.text(sessions: sessions, scenario.fault)), upstreams)
    people = SimulatedPeople(world, host, oracle)
  }

  private static func resolve(_ text: String) -> ResolvedConfiguration {
    let source = ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))
    let reading = Configuration.read([source]) { _ in nil }
    guard let configuration = reading.configuration else {
      preconditionFailure("\(reading.diagnostics.map { "\($0)" })\n\(text)")
    }
    return ResolvedConfiguration(configuration) { _ in .noSuchGroup }
  }

  /// Runs to the end, or to the first violation.
  public func run() -> SimulationReport {
    host.start()
    upstreams.clear = { [unowned people] in people.intrude($0) }
    people.begin(0..<world.scenario.sessions)
    for happening in happenings { plan(happening) }
    world.after(3600) { [self] in hourBegins() }
    world.after(world.scenario.hours * 3600) { [self] in calmBegins() }
    world.run()
    var report = world.report
    let hours = (world.now - World.beginning).inSeconds / 3600
    report.sessionHours = hours * Double(world.scenario.sessions)
    report.violation = world.trace.violation
    report.trace = world.trace.lines
    host.end()
    upstreams.clear = nil
    return report
  }

  // MARK: What happens to the host

  /// An event that recurs until the calm. Add further events here: reloads, snapshots, a user
  /// database that hangs.
  private struct Happening {
    /// Seconds until the first time, about.
    let first: Double
    /// Seconds until it happens again, about.
    let act: () -> Double
  }

  private var happenings: [Happening] {
    let conditions = upstreams.endpoints.indices.map { index in
      Happening(first: 3600) { [self] in changeCondition(of: index) }
    }
    return conditions + [
      Happening(first: 20_000) { [self] in sleep() },
      Happening(first: 10_000) { [self] in setClock() },
      Happening(first: 20_000) { [self] in restart() },
    ]
  }

  private func plan(_ happening: Happening) {
    func again(_ mean: Double) {
      world.after(world.random.seconds(around: mean)) { [self] in
        if !world.isCalm { again(happening.act()) }
      }
    }
    again(happening.first)
  }

  private func changeCondition(of index: Int) -> Double {
    upstreams.changeCondition(of: index)
    if case .fair = upstreams.endpoints[index].condition { return 7200 }
    return world.random.pick([20, 300, 300, 3000, 10_000])
  }

  /// The host is suspended.
  private func sleep() -> Double {
    let seconds = world.random.seconds(around: world.random.pick([10, 1000, 20_000]))
    let calmBegins = World.beginning + .seconds(1) * (world.scenario.hours * 3600)
    world.sleep(until: min(world.later(seconds), calmBegins - .seconds(60)))
    people.wokeUp()
    world.trace("awake after \(seconds) s of sleep")
    return 20_000
  }

  /// The wall clock is set, rightly or wrongly.
  private func setClock() -> Double {
    world.skew = .seconds(world.random.pick([0, 0, 1, -1, 60, -60, 3600, -3600, 86_400 * 365]))
    world.trace("the wall clock is off by \(world.skew)")
    return 10_000
  }

  /// The service is stopped or killed, and another process takes its place.
  private func restart() -> Double {
    world.report.restarts += 1
    let losesStore = world.random.happens(0.2)
    let isKilled = world.random.happens(0.5)
    world.trace(
      "the service is \(isKilled ? "killed" : "stopped")"
        + (losesStore ? ", and its sessions are lost" : ""))
    if !isKilled { host.service?.dismissWaiters() }
    host.kill(losingStore: losesStore)
    people.disconnect()
    oracle.restarted(withoutStore: losesStore)
    host.start()
    return 40_000
  }

  private func hourBegins() {
    oracle.beginHour()
    people.checkLateness()
    world.after(3600) { [self] in hourBegins() }
  }

  // MARK: The calm

  private func calmBegins() {
    world.trace("all faults end")
    world.isCalm = true
    world.skew = .zero
    upstreams.beginCalm()
    for index in oracle.sessions.indices {
      let pause =
        oracle.sessions[index].profile.isKept ? Self.calmBeforeAskingKept : Self.calmBeforeAsking
      let delay = pause + 100 * Double(index) / Double(oracle.sessions.count)
      world.after(delay) { [people] in people.askFinally(index) }
    }
    world.after(Self.calm - 1) { [people] in
      people.checkLateness()
      people.askForStatus()
    }
    world.after(Self.calm) { [world] in world.isOver = true }
  }
}
