import CredCore
import CredService
import Logging

/// The host of a service, which runs as one process at a time. The simulation replaces the
/// protocols of `CredService/Host.swift`; everything else is the daemon's own code.
///
/// Add other conduct of the host to the class of its protocol: a user database that hangs or
/// renames users, a full store, a replaced program.
final class SimulatedHost {
  let world: World
  let resolved: ResolvedConfiguration
  let upstreams: SimulatedUpstreams
  let users: SimulatedQueries
  private let store: SimulatedStore
  private var upstreamClient: UpstreamClient?
  private(set) var service: SessionService?
  /// The time that a server passes with a line.
  private(set) var clock: SimulatedClock

  init(_ world: World, _ resolved: ResolvedConfiguration, _ upstreams: SimulatedUpstreams) {
    self.world = world
    self.resolved = resolved
    self.upstreams = upstreams
    users = SimulatedQueries(
      swapsUsers: world.fault == .mixedUsers, keepsNames: world.fault == .formerUsers)
    store = SimulatedStore(world.fault)
    clock = SimulatedClock(world, nil)
  }

  /// A process begins with the content of the store.
  func start() {
    world.process += 1
    // The clock of the rate limits, if it is a separate one.
    let isFast = world.fault == .fastClock
    clock = SimulatedClock(world, isFast ? nil : world.fault)
    let limitsClock = isFast ? SimulatedClock(world, .fastClock) : clock
    let background = SimulatedBackground(world, users)
    let client = UpstreamClient(
      UpstreamClient.Services(
        clock: limitsClock, background: background, queries: users, http: upstreams,
        commands: upstreams, crypto: upstreams, hostName: "simulated",
        log: Logger(label: "credd") { _ in SwiftLogNoOpLogHandler() }),
      settings: resolved.daemon, random: world.random.fork())
    upstreamClient = client
    service = SessionService(
      host: Host(
        clock: clock, background: background, queries: users, upstream: client, store: store,
        random: world.random.fork(), process: ProcessFacts(pid: 1, overflowUID: 65_534),
        log: Logger(label: "credd") { _ in SwiftLogNoOpLogHandler() }),
      configuration: resolved)
  }

  /// The process is killed: only the store remains.
  ///
  /// - Parameter losingStore: only IdentityIds survive.
  func kill(losingStore: Bool) {
    service = nil
    upstreamClient = nil
    upstreams.forgetCalls()
    if losingStore { store.loseRecords() }
  }

  /// Breaks the references between the schedule's steps and the service.
  func end() {
    world.schedule.removeAll()
    service = nil
    upstreamClient = nil
  }
}

// MARK: Time

/// Both clocks of the host. Timers fire from the schedule.
final class SimulatedClock: Clock {
  /// A timer set for now is no spin; nor is a chain of calls that all fail before they are sent.
  private static let firesAtOnce = 1000
  private static let haste = 1000.0

  private let world: World
  private let fault: InjectedFault?
  private var known = ClockSkew()

  init(_ world: World, _ fault: InjectedFault?) {
    self.world = world
    self.fault = fault
  }

  var now: Instant {
    switch fault {
    case .fastClock: World.beginning + (world.now - World.beginning) * Self.haste
    case .slowClock: world.now - .seconds(1)
    case .stoppedClock: world.now - world.slept
    default: world.now
    }
  }

  var wallTime: WallTime { world.trueTime + world.skew }
  var skew: Duration? { known.isOff ? known.skew : nil }

  func recordServerTime(_ time: WallTime) { _ = known.compare(server: time, local: wallTime) }

  func makeTimer(_ fire: @escaping () -> Void) -> any Timer { Alarm(self, fire) }

  /// The simulation's time at a time of this clock.
  private func inWorld(_ time: Instant) -> Instant {
    switch fault {
    case .fastClock: World.beginning + (time - World.beginning) * (1 / Self.haste)
    case .stoppedClock: time + world.slept
    default: time
    }
  }

  private final class Alarm: Timer {
    private let clock: SimulatedClock
    private let fire: () -> Void
    private var deadline = Instant.distantFuture
    /// The earliest step that is in the schedule for it.
    private var scheduled = Instant.distantFuture
    private var lastFired = (at: Instant(nanoseconds: .min), times: 0)

    init(_ clock: SimulatedClock, _ fire: @escaping () -> Void) {
      self.clock = clock
      self.fire = fire
    }

    func arm(at deadline: Instant?) {
      self.deadline = deadline ?? .distantFuture
      schedule()
    }

    private func schedule() {
      let world = clock.world
      let time = clock.inWorld(deadline)
      guard time < scheduled else { return }
      if world.fault == .lostTimers, time > world.now { return }
      scheduled = time
      world.schedule.put(at: time, process: world.process) { [weak self] in self?.reached(time) }
    }

    private func reached(_ time: Instant) {
      guard time == scheduled else { return }
      scheduled = .distantFuture
      let now = clock.world.now
      guard clock.inWorld(deadline) <= now else { return schedule() }
      deadline = .distantFuture
      lastFired = (now, lastFired.at == now ? lastFired.times + 1 : 1)
      guard lastFired.times < SimulatedClock.firesAtOnce else {
        return clock.world.violate(
          .noSpin, session: nil, "a timer fires \(lastFired.times) times at one instant")
      }
      fire()
    }
  }
}

// MARK: Work that may block

/// Work takes some milliseconds and ends in time. Add hanging lanes and missed deadlines here.
final class SimulatedBackground: Background {
  /// The longest that a look-up takes, in seconds.
  static let slowest = 0.02

  private let world: World
  private let users: SimulatedQueries

  init(_ world: World, _ users: SimulatedQueries) {
    self.world = world
    self.users = users
  }

  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void
  ) {
    switch world.fault {
    case .lostLookups where lane == .users && world.random.happens(0.01): return
    case .lostFiles where lane == .files && world.random.happens(0.1): return
    default: break
    }
    world.inProcess(after: Self.slowest * world.random.fraction()) { [world, users] in
      users.setTime(world.now)
      completion(.finished(work()))
    }
  }
}

// MARK: State

/// The descriptor store and the file of IdentityIds. A restart reads the records' bytes.
final class SimulatedStore: SessionStoring {
  private let fault: InjectedFault?
  private var records: [SessionKey: SessionRecord] = [:]
  private var identities: [SessionKey: KnownIdentity] = [:]
  private var devices: [UInt32: RememberedDevices] = [:]

  init(_ fault: InjectedFault?) {
    self.fault = fault
  }

  let problem: String? = nil

  func load() -> [SessionKey: SessionRecord] {
    if fault == .lostRecords { records = records.filter { $0.key.uid % 2 == 0 } }
    if fault == .mixedRecords { exchangeUsers() }
    records = records.compactMapValues { try? SessionRecord(reading: $0.encoded[...]) }
    return records
  }

  func save(_ record: SessionRecord, for key: SessionKey) { records[key] = record }

  func remove(_ key: SessionKey) { records[key] = nil }
  func loadDevices() -> [UInt32: RememberedDevices] { devices }

  func saveDevices(_ devices: RememberedDevices, of uid: UInt32) {
    self.devices[uid] = devices.isEmpty ? nil : devices
  }

  func identity(for key: SessionKey) -> KnownIdentity? { identities[key] }

  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey) { identities[key] = identity }

  func loseRecords() { records = [:] }

  /// Two users get each other's sessions, with their own names in them.
  private func exchangeUsers() {
    var exchanged = records
    for (key, record) in records {
      guard let user = SimulatedUsers.user(withUID: key.uid) else { continue }
      let partner = SessionKey(
        uid: SimulatedUsers.uid(SimulatedUsers.partner(of: user)), profile: key.profile)
      guard var other = records[partner] else { continue }
      other.owner = record.owner
      exchanged[key] = other
    }
    records = exchanged
  }
}
