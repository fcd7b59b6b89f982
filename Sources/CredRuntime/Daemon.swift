internal import CLinux
internal import CSystemd
public import CredCore
internal import Glibc
public import Logging

/// The daemon: owns every session and connection, on the executor that the event loop is.
///
/// Cache hits never suspend: they are answered inside the loop's callbacks. Only upstream calls are
/// tasks.
public actor Daemon {
  public nonisolated let loop: EventLoop
  let options: DaemonOptions
  let service: SessionService
  let server: ClientServer
  let upstream: UpstreamClient
  let log: Logger
  var reloading: Reloading?
  private(set) var status: StatusNotice?
  private let idleness: Idleness
  private var signals: [EventSource] = []
  private(set) var isStopping = false
  /// Nobody restarts the daemon: its sessions wait for the one that the next client starts.
  private var mustPark = false

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// - Throws: where the system refuses what the daemon cannot do without.
  public init(
    loop: EventLoop, settings: ActiveConfiguration, options: DaemonOptions, log: Logger
  ) throws(SystemError) {
    self.loop = loop
    self.options = options
    self.log = log
    let daemon = settings.daemon
    service = try SessionService(loop: loop, settings: settings, log: log)
    server = try ClientServer(loop: loop, limits: ServerLimits(daemon), handler: service)
    service.server = server
    idleness = try Idleness(loop: loop, server: server, service: service)
    upstream = try UpstreamClient(
      loop: loop,
      http: HTTPClient(loop: loop, connections: daemon.upstreamConnections, log: log),
      host: HostName.current, daemon: daemon, clock: service.clock, log: log)
  }

  /// Starts to serve on `listeners`, which stay open and untouched when the daemon ends. Call on
  /// the loop's thread, before the loop runs.
  ///
  /// - Parameter stores: the sessions of a former process, which the service manager kept.
  public nonisolated func begin(
    on listeners: [Int32], stores: [PassedDescriptors.Named] = []
  ) throws(SystemError) {
    // `assumeIsolated` cannot pass a typed error on.
    let result = assumeIsolated { daemon in
      Result { () throws(SystemError) in
        try daemon.service.restore(
          stores + daemon.takeParked(), folder: daemon.options.stateDirectory)
        try daemon.start(on: listeners)
      }
    }
    try result.get()
  }

  private func start(on listeners: [Int32]) throws(SystemError) {
    service.startCall = { [unowned self] call in
      self.assumeIsolated { $0.begin(call) }
    }
    service.sendFarewell = { [unowned self] farewell, connection in
      self.assumeIsolated { $0.send(farewell, connection) }
    }
    service.changeCall = { [unowned self] event, ticket in
      self.assumeIsolated { $0.upstream.handle(event, of: ticket) }
    }
    for signal in [SIGTERM, SIGINT] {
      signals.append(
        try loop.signal(signal) { [unowned self] _ in
          self.assumeIsolated { $0.stop() }
        })
    }
    signals.append(
      try loop.signal(SIGHUP) { [unowned self] _ in
        self.assumeIsolated { $0.reload() }
      })
    for listener in listeners { try server.listen(on: listener) }
    try loop.superviseByWatchdog()
    try announceStatus()
    watchIdleness()
    ServiceNotification.send("READY=1")
  }

  private func announceStatus() throws(SystemError) {
    let status = try StatusNotice(loop: loop) { [unowned self] in
      self.assumeIsolated { $0.presentStatus }
    }
    self.status = status
    service.changed = { [unowned status] in status.update() }
    status.update()
  }

  private func watchIdleness() {
    idleness.end = { [unowned self] in self.assumeIsolated { $0.stopUnused() } }
    limitIdleness()
  }

  /// Without systemd's socket nobody would start the daemon again.
  func limitIdleness() {
    let limit = service.settings.daemon.exitOnIdle
    if limit != nil, !options.isActivated {
      log.warning("exit_on_idle is ignored: the socket is not systemd's")
    }
    idleness.limit = options.isActivated ? limit : nil
  }

  // MARK: Upstream calls

  /// - Returns: the call's ticket.
  private func begin(_ call: SessionCall) -> UInt64 {
    let ticket = upstream.issueTicket(isInPerson: call.isInPerson, isRetry: call.isRetry)
    // Without the preference a resumed continuation goes by way of the global executor: its code
    // would run on another thread, beside the loop.
    Task(executorPreference: loop) { await self.perform(call, ticket) }
    return ticket.id
  }

  private func perform(_ call: SessionCall, _ ticket: UpstreamClient.Ticket) async {
    let outcome = await upstream.perform(call.call, call.profile, call.user, ticket)
    service.callFinished(call.number, outcome)
  }

  private func send(_ farewell: Farewell, _ connection: UInt64) {
    Task(executorPreference: loop) { await self.perform(farewell, connection) }
  }

  private func perform(_ farewell: Farewell, _ connection: UInt64) async {
    let failure = await upstream.perform(farewell)
    service.farewellSent(connection, farewell.key, failure)
  }

  // MARK: The end

  private func stopUnused() {
    // Who is told to end while the last clients are heard parks nothing.
    guard !isStopping else { return }
    log.info("nobody was connected for a while")
    mustPark = true
    stop()
  }

  /// Who connects from now on waits in systemd's socket for the next daemon. Who was accepted is
  /// answered by this one.
  private func stop() {
    guard !isStopping else { return }
    isStopping = true
    status?.end()
    ServiceNotification.send("STOPPING=1\nSTATUS=stopping")
    log.info("stopping")
    service.dismissWaiters()
    let end = { [unowned self] in self.assumeIsolated { $0.finish() } }
    do throws(SystemError) { try server.leave(end) } catch { end() }
  }

  private func finish() {
    // Who asked while the last ones were heard.
    service.dismissWaiters()
    service.state.identities?.finish()
    if mustPark { park() }
    loop.exit()
  }
}

/// What the command line and the surroundings say, which no reload changes.
public struct DaemonOptions: Sendable {
  /// Reads the configuration anew; runs on a thread of its own.
  let readConfiguration: @Sendable () -> Result<ConfigurationReading, SystemError>
  /// The level of all loggers; nil where the command line settled it.
  let logThreshold: LogThreshold?
  /// The listening sockets are systemd's, which starts the daemon when somebody connects.
  let isActivated: Bool
  /// Where IdentityIds are kept; nil for nowhere.
  let stateDirectory: String?
  /// Where sessions wait while no daemon runs; nil for nowhere.
  let runtimeDirectory: String?

  public init(
    logThreshold: LogThreshold?, isActivated: Bool,
    stateDirectory: String? = ServiceDirectory.state,
    runtimeDirectory: String? = ServiceDirectory.runtime,
    readConfiguration: @escaping @Sendable () -> Result<ConfigurationReading, SystemError>
  ) {
    self.readConfiguration = readConfiguration
    self.logThreshold = logThreshold
    self.isActivated = isActivated
    self.stateDirectory = stateDirectory
    self.runtimeDirectory = runtimeDirectory
  }
}

/// Ends a daemon that nobody uses, where the configuration wants it.
final class Idleness {
  /// How soon to look again where the time is up but something is still under way.
  private static let pause: Duration = .seconds(1)

  private let loop: EventLoop
  private let server: ClientServer
  private let service: SessionService
  var end: () -> Void = {}
  private var timer: EventSource?

  /// How long nobody may be connected; nil: for ever.
  var limit: Duration? {
    didSet { check() }
  }

  init(
    loop: EventLoop, server: ClientServer, service: SessionService
  ) throws(SystemError) {
    self.loop = loop
    self.server = server
    self.service = service
    timer = try loop.timer { [unowned self] _ in self.check() }
  }

  /// Looks when the time may be up; connections that come and go cost nothing.
  private func check() {
    guard let limit else {
      timer?.arm(at: nil)
      return
    }
    let now = loop.now
    let isEmpty = server.connectionCount == 0
    let due = (isEmpty ? server.emptySince : now) + limit
    if due > now {
      timer?.arm(at: due)
    } else if service.callsUnderWay > 0 {
      timer?.arm(at: now + Self.pause)
    } else {
      end()
    }
  }
}
