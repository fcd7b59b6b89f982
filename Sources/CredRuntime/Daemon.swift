internal import CLinux
public import CredCore
internal import CSystemd
internal import Glibc
public import Logging

/// The daemon: owns every session and connection, on the executor that the event loop is.
///
/// Cache hits never suspend: they are answered inside the loop's callbacks. Only upstream calls are
/// tasks.
public actor Daemon {
  public nonisolated let loop: EventLoop
  private let service: SessionService
  private let server: ClientServer
  private let upstream: UpstreamClient
  private let log: Logger
  private var signals: [EventSource] = []

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// - Throws: where the system refuses what the daemon cannot do without.
  public init(
    loop: EventLoop, configuration: Configuration, log: Logger
  ) throws(SystemError) {
    self.loop = loop
    self.log = log
    let daemon = configuration.daemon
    let groups = GroupDirectory(log: log)
    var profiles: [String: Profile] = [:]
    for (name, settings) in configuration.profiles {
      do {
        profiles[name] = try Profile(settings, in: configuration, groupID: groups.id)
      } catch {
        preconditionFailure("the configuration reader let '\(error)' pass")
      }
    }
    service = try SessionService(
      loop: loop, configuration: configuration, profiles: profiles,
      adminGroup: daemon.adminGroup.flatMap(groups.id), log: log)
    server = try ClientServer(
      loop: loop,
      limits: ServerLimits(
        connections: daemon.maxConnections, connectionsPerUser: daemon.maxConnectionsPerUser),
      handler: service)
    service.server = server
    upstream = UpstreamClient(
      loop: loop, http: try HTTPClient(loop: loop, connections: daemon.upstreamConnections),
      host: HostName.current)
  }

  /// Starts to serve on `listeners`, which stay open and untouched when the daemon ends. Call on
  /// the loop's thread, before the loop runs.
  public nonisolated func begin(on listeners: [Int32]) throws(SystemError) {
    // `assumeIsolated` cannot pass a typed error on.
    let result = assumeIsolated { daemon in
      Result { () throws(SystemError) in try daemon.start(on: listeners) }
    }
    try result.get()
  }

  private func start(on listeners: [Int32]) throws(SystemError) {
    service.startCall = { [unowned self] key, number, call in
      self.assumeIsolated { $0.begin(key, number, call) }
    }
    service.sendFarewell = { [unowned self] farewell, connection in
      self.assumeIsolated { $0.send(farewell, connection) }
    }
    for signal in [SIGTERM, SIGINT] {
      signals.append(
        try loop.signal(signal) { [unowned self] _ in
          self.assumeIsolated { $0.stop() }
        })
    }
    signals.append(
      try loop.signal(SIGHUP) { [log] _ in
        log.notice("SIGHUP ignored: restart the daemon to read its configuration anew")
      })
    for listener in listeners { try server.listen(on: listener) }
    try loop.superviseByWatchdog()
    ServiceNotification.send("READY=1")
  }

  private func begin(_ key: Session.Key, _ number: UInt64, _ call: UpstreamCall) {
    guard let session = service.sessions[key] else { return }
    let profile = session.profile
    let user = UpstreamClient.User(uid: key.uid, name: session.userName)
    service.count(call)
    // Without the preference a resumed continuation goes by way of the global executor: its code
    // would run on another thread, beside the loop.
    Task(executorPreference: loop) {
      await self.perform(call, profile, user, as: number, of: key)
    }
  }

  private func perform(
    _ call: UpstreamCall, _ profile: Profile, _ user: UpstreamClient.User, as number: UInt64,
    of key: Session.Key
  ) async {
    let outcome = await upstream.perform(call, profile, user)
    service.callFinished(key, number, outcome)
  }

  private func send(_ farewell: Farewell, _ connection: UInt64) {
    Task(executorPreference: loop) { await self.perform(farewell, connection) }
  }

  private func perform(_ farewell: Farewell, _ connection: UInt64) async {
    let failure = await upstream.signOut(farewell)
    service.farewellSent(connection, farewell.key, failure)
  }

  private func stop() {
    ServiceNotification.send("STOPPING=1")
    log.info("stopping")
    server.stopListening()
    service.dismissWaiters()
    loop.exit()
  }
}
