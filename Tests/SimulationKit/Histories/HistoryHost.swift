import CredCore
import CredService
import Logging
import SeededRandom
import Synchronization

/// The service of a history, one process at a time, on simulated seams.
final class HistoryHost {
  let world: World
  let people: HistoryPeople
  let upstreams: HistoryUpstreams
  let log = HistoryLog()
  private(set) var configuration: HistoryConfiguration
  private let store: HistoryStore
  private let background: HistoryBackground
  private var upstreamClient: UpstreamClient?
  private(set) var service: SessionService?
  private(set) var clock: SimulatedClock

  init(
    _ world: World, _ people: HistoryPeople, _ upstreams: HistoryUpstreams,
    _ configuration: HistoryConfiguration
  ) {
    self.world = world
    self.people = people
    self.upstreams = upstreams
    self.configuration = configuration
    background = HistoryBackground(world, people)
    store = HistoryStore(world.fault)
    upstreams.log = log.logger
    clock = SimulatedClock(world, nil)
  }

  func start() {
    world.process += 1
    people.database.forgetTold()
    upstreams.network.begin(world.process)
    upstreams.network.configure(configuration)
    // The clock of the rate limits, if it is a separate one.
    let isFast = world.fault == .fastClock
    clock = SimulatedClock(world, isFast ? nil : world.fault)
    let resolved = configuration.resolved(people.database, world.fault)
    let client = UpstreamClient(
      UpstreamServices(
        clock: isFast ? SimulatedClock(world, .fastClock) : clock, background: background,
        queries: people.database, http: upstreams,
        commands: upstreams, crypto: upstreams, hostName: "simulated", log: log.logger),
      settings: resolved.daemon, random: world.random.fork())
    upstreamClient = client
    let calls = HistoryCalls(world, client)
    upstreams.givenUp = { [weak calls] in calls?.lastGivenUp ?? World.beginning }
    service = SessionService(
      host: Host(
        clock: clock, background: background, queries: people.database, upstream: calls,
        store: store, random: world.random.fork(),
        process: ProcessFacts(pid: 1, overflowUID: 65_534), log: log.logger),
      configuration: resolved)
  }

  func reload(_ next: HistoryConfiguration) {
    people.database.forgetIDs(but: configuration.namedGroups)
    configuration = next
    if world.fault == .lostReloads { return }
    upstreams.network.configure(next)
    let resolved = next.resolved(people.database, world.fault)
    upstreamClient?.apply(resolved.daemon)
    _ = service?.apply(resolved)
  }

  func kill(_ trouble: StoreTrouble) {
    service = nil
    upstreamClient = nil
    store.suffer(trouble, &world.random)
  }

  func setStore(isFull: Bool) { store.isFull = isFull }

  /// Whether something could not be stored since the last start.
  var hasLost: Bool { store.hasLost }

  func setPrograms(hang: Bool) { background.programsHang = hang }

  /// Breaks the references between the schedule's steps and the service.
  func end() {
    world.schedule.removeAll()
    service = nil
    upstreamClient = nil
  }
}

/// Records as bytes, and IdentityIds.
private final class HistoryStore: SessionStoring {
  private let fault: InjectedFault?
  private var records: [SessionKey: [UInt8]] = [:]
  private var identities: [SessionKey: KnownIdentity] = [:]
  private var devices: [UInt32: RememberedDevices] = [:]
  /// What the disk has of them.
  private var onDisk: [SessionKey: KnownIdentity] = [:]
  private(set) var hasLost = false
  var isFull = false {
    // The file is written anew.
    didSet { if !isFull { onDisk = identities } }
  }

  init(_ fault: InjectedFault?) {
    self.fault = fault
  }

  var problem: String? { isFull ? "cannot write: no space left on device" : nil }

  func suffer(_ trouble: StoreTrouble, _ random: inout SeededGenerator) {
    identities = onDisk
    switch trouble {
    case .none: break
    case .empty: records = [:]
    case .strange:
      for key in records.keys.sorted() where random.happens(0.5) {
        records[key] = records[key]?.asOtherwiseSignedIn(by: UInt8(1 + random.index(5)))
      }
    case .torn:
      for key in records.keys.sorted() where random.happens(0.5) {
        let count = records[key]?.count ?? 0
        records[key]?.removeLast(random.index(count + 1))
      }
    }
  }

  func load() -> [SessionKey: SessionRecord] {
    hasLost = false
    if fault == .lostRecords { records = records.filter { $0.key.uid % 2 == 0 } }
    let read = records.compactMapValues { try? SessionRecord(reading: $0[...]) }
    return fault == .mixedRecords ? exchanged(read) : read
  }

  /// Users get each other's sessions, with their own names in them.
  private func exchanged(_ records: [SessionKey: SessionRecord]) -> [SessionKey: SessionRecord] {
    var exchanged = records
    for (key, record) in records {
      let next = key.uid + 1
      let partner = SessionKey(
        uid: HistoryPeople.user(next) == nil ? HistoryPeople.firstUID : next, profile: key.profile)
      guard var other = records[partner] else { continue }
      other.owner = record.owner
      exchanged[key] = other
    }
    return exchanged
  }

  /// A record that does not fit is lost, and the one before is out of date.
  func save(_ record: SessionRecord, for key: SessionKey) {
    records[key] = isFull ? nil : record.encoded
    if isFull { hasLost = true }
  }

  func remove(_ key: SessionKey) { records[key] = nil }
  func loadDevices() -> [UInt32: RememberedDevices] { devices }

  func saveDevices(_ devices: RememberedDevices, of uid: UInt32) {
    self.devices[uid] = devices.isEmpty ? nil : devices
  }

  func identity(for key: SessionKey) -> KnownIdentity? { identities[key] }

  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey) {
    identities[key] = identity
    if !isFull { onDisk[key] = identity }
  }
}

/// Work takes some milliseconds; look-ups of users may be slow or hang.
private final class HistoryBackground: Background {
  private let world: World
  private let people: HistoryPeople
  var programsHang = false

  init(_ world: World, _ people: HistoryPeople) {
    self.world = world
    self.people = people
  }

  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void
  ) {
    switch world.fault {
    case .lostLookups where lane == .users && world.random.happens(0.1): return
    case .lostFiles where lane == .files && world.random.happens(0.1): return
    default: break
    }
    let usual = 0.02 * world.random.fraction()
    let finish = { [world, people] in
      people.database.setTime(world.now)
      completion(.finished(work()))
    }
    let limit = (deadline - world.now).inSeconds
    if lane == .programs, programsHang {
      world.inProcess(after: limit) { completion(.overdue(isRunning: true)) }
      return world.inProcess(after: limit + 5) { finish() }
    }
    guard lane == .users else {
      return world.inProcess(after: usual) { finish() }
    }
    switch people.trouble {
    case .hanging:
      // It comes back when the database does, or after a while.
      world.inProcess(after: limit) { completion(.overdue(isRunning: true)) }
      world.inProcess(after: limit + 20 + usual) { finish() }
    case .slow where world.random.happens(0.5):
      world.inProcess(after: limit) { completion(.overdue(isRunning: true)) }
      world.inProcess(after: limit + 1) { finish() }
    case .slow: world.inProcess(after: limit * 0.7) { finish() }
    default: world.inProcess(after: usual) { finish() }
    }
  }
}

/// Everything that was logged, searched for secrets.
final class HistoryLog: Sendable {
  private let found = Mutex<String?>(nil)

  /// The first entry with a secret.
  var leak: String? { found.withLock(\.self) }

  var logger: Logger { Logger(label: "credd") { _ in Handler(log: self) } }

  fileprivate func record(_ text: String) {
    guard text.utf8.count >= HistorySecret.word.utf8.count,
      [HistorySecret.word, HistorySecret.app].contains(where: {
        !HistorySecret.numbers(in: text.utf8, after: $0).isEmpty
      })
    else { return }
    found.withLock { $0 = $0 ?? text }
  }

  private struct Handler: LogHandler {
    let log: HistoryLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      log.record(event.message.description)
      for value in (event.metadata ?? [:]).values { log.record("\(value)") }
    }
  }
}
