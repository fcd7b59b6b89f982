internal import CLinux
internal import CLoad
internal import CSystemd
public import CredCore
package import CredService
internal import Glibc
package import Logging

/// The daemon: makes all parts, handles signals, and ends. Each part is made once and complete, and
/// is used on the loop's thread.
public final class Daemon {
  public let loop: EventLoop
  let options: DaemonOptions
  let log: Logger
  let background: ThreadBackground
  let http: HTTPClient
  let upstream: UpstreamClient
  let storage: DurableSessions?
  let service: SessionService
  let server: SocketServer
  private let clock: SystemClock
  private let crypto: CryptoLibrary
  private(set) var endpoint: HTTPEndpoint?
  private let sockets: SocketSections
  /// The endpoint's sockets, for `status`.
  private var otherListeners: [ListenerReport] = []
  var readings = ConfigurationReadings()
  private(set) var status: StatusNotice?
  private var idleExit: IdleExit?
  private var signals: [EventSource] = []
  private(set) var isStopping = false
  /// Whether no daemon follows at once, so that the sessions must wait until a client starts the
  /// next one.
  private var keepsSessions = false
  /// Whether it was said why this process stays although nobody uses it.
  private var isKept = false

  /// - Parameter stores: the sessions of a former process, kept by the service manager.
  /// - Throws: if the system refuses something that the daemon needs.
  package init(
    loop: EventLoop, configuration: ResolvedConfiguration, options: DaemonOptions, log: Logger,
    stores: [PassedDescriptors.Named] = []
  ) throws(SystemError) {
    self.loop = loop
    self.options = options
    self.log = log
    let daemon = configuration.daemon
    background = try ThreadBackground(loop: loop, log: log)
    let clock = try SystemClock(loop: loop, log: log)
    self.clock = clock
    let crypto = CryptoLibrary(clock: clock, background: background, log: log)
    self.crypto = crypto
    let queries = SystemQueries()
    http = HTTPClient(
      loop: loop, clock: clock, background: background, connections: daemon.upstreamConnections,
      log: log)
    upstream = UpstreamClient(
      UpstreamServices(
        clock: clock, background: background, queries: queries, http: http,
        commands: CommandRunner(
          loop: loop, background: background,
          credentials: options.credentialsDirectory.map {
            HiddenCredentials(folder: $0, log: log)
          }),
        crypto: crypto,
        hostName: HostNames.host, log: log),
      settings: daemon, random: SystemRandomNumberGenerator())
    let identities = options.stateDirectory.map { [background] folder in
      IdentityFile(in: folder, clock: clock, background: background, log: log)
    }
    storage = Self.takeSessionsFile(in: options.runtimeDirectory, log: log) { parked in
      DurableSessions(stores + parked, identities: identities, log: log)
    }
    service = SessionService(
      host: Host(
        clock: clock, background: background, queries: queries, upstream: upstream,
        store: storage, random: SystemRandomNumberGenerator(),
        process: ProcessFacts(
          pid: getpid(), overflowUID: credd_overflow_uid(), hostName: HostNames.host), log: log),
      configuration: configuration)
    server = try SocketServer(loop: loop, limits: ServerLimits(daemon), receiver: service)
    sockets = SocketSections(server: server, service: service, log: log)
  }

  /// Starts to serve on `listeners`, which stay open when the daemon ends. Call it
  /// before the loop runs.
  ///
  /// - Parameters:
  ///   - listeners: each with its name at the service manager, or an empty one.
  ///   - passed: the sockets of the endpoint.
  public func begin(
    on listeners: [PassedDescriptors.Named], endpoint passed: EndpointSockets = EndpointSockets()
  ) throws(SystemError) {
    for signal in [SIGTERM, SIGINT] {
      signals.append(try loop.signal(signal) { [unowned self] _ in stop() })
    }
    signals.append(try loop.signal(SIGHUP) { [unowned self] _ in startReload() })
    for listener in listeners { try sockets.add(listener.descriptor, name: listener.name) }
    server.limitWasHit = { [unowned service] in service.recordLimit($0, of: $1) }
    service.accountKnown = { [unowned server] in server.accountKnown($0) }
    service.setConnectionLimitHits { [weak self] in
      guard let self else { return [:] }
      return server.limitHits.merging(endpoint?.limitHits ?? [:], uniquingKeysWith: +)
    }
    otherListeners =
      passed.listeners.map { ListenerReport(.endpoint, address: $0.address.description) }
      + passed.tokens.map { ListenerReport(.tokens, boundTo: $0) }
    followSections()
    if !passed.isEmpty {
      endpoint = try HTTPEndpoint(
        passed, loop: loop, service: service, clock: clock, background: background, crypto: crypto,
        runtimeDirectory: options.runtimeDirectory, log: log)
    }
    try loop.superviseByWatchdog()
    let status = try StatusNotice(loop: loop) { [unowned self] in service.summary }
    self.status = status
    service.delegate = self
    if let state = options.configuration { watch(since: state) }
    status.update()
    idleExit = try IdleExit(
      loop: loop, server: server, endpoint: endpoint,
      isBusy: { [unowned self] in self.upstream.callCount > 0 || self.service.openSignIns > 0 },
      countsUntil: { [unowned self] in self.service.countsUntil }
    ) {
      [unowned self] in stopUnused()
    }
    limitIdleTime()
    ServiceNotification.send("READY=1")
    inspectFiles()
    credd_give_code_back()
  }

  /// Sockets with a cap come and go with their sections.
  func followSections() { service.listeners = sockets.follow() + otherListeners }

  /// Without a socket from systemd, no client would start the daemon again.
  func limitIdleTime() {
    let limit = service.configuration.daemon.exitOnIdle
    if limit != nil, !options.isActivated {
      log.warning(
        """
        exit_on_idle is ignored: the socket is not systemd's, so nothing would start credd again; \
        start credd.socket, or remove exit_on_idle
        """)
    }
    idleExit?.limit = options.isActivated ? limit : nil
  }

  // MARK: The end

  /// Stays where the sessions would end with this process.
  ///
  /// - Returns: whether it ends.
  private func stopUnused() -> Bool {
    // If the daemon was told to end, it writes no file.
    guard !isStopping else { return true }
    let isStored = storage?.store?.holdsAll ?? true
    if let problem = isStored ? writeSessionsFile() : "not all of them could be stored" {
      if !isKept {
        log.warning("exit_on_idle: credd stays, because its sessions would end with it: \(problem)")
      }
      isKept = true
      return false
    }
    log.info("nobody was connected for a while")
    keepsSessions = true
    stop()
    return true
  }

  /// Clients that connect from now on wait in systemd's socket for the next daemon. This daemon
  /// answers the accepted clients.
  private func stop() {
    guard !isStopping else { return }
    isStopping = true
    status?.end()
    ServiceNotification.send("STOPPING=1\nSTATUS=stopping")
    log.info("stopping")
    endpoint?.stopListening()
    service.stop()
    service.dismissWaiters()
    let end = { [unowned self] in finish() }
    do throws(SystemError) { try server.drain(then: end) } catch { end() }
  }

  /// Shorter than the service's TimeoutStopSec. A user pool must answer within its backend's
  /// `timeout`.
  private static let renewalTime: Duration = .seconds(8)

  /// Nobody waits from here on: what clients have sent ahead is answered meanwhile, line by line.
  private func finish() {
    service.endWaits()
    // The answer of a user pool that renews a session's tokens may have the only refresh token.
    server.answerRest(
      around: { [service] in service.afterRenewals(atMost: Self.renewalTime, $0) },
      then: { [unowned self] in complete() })
  }

  private func complete() {
    // Requests may have arrived while the last clients were answered.
    service.dismissWaiters()
    server.writeReplies()
    endpoint?.finish()
    storage?.identities?.finish()
    // Again, because requests may have come since. What was written before must not come back then.
    if keepsSessions, let problem = writeSessionsFile() {
      log.warning("the sessions may end with this daemon: \(problem)")
      removeSessionsFile()
    }
    sockets.removeBound()
    loop.exit()
  }
}

extension Daemon: SessionServiceDelegate {
  package func sessionsChanged() { status?.update() }
}

/// Options from the command line and the environment. A reload does not change them.
public struct DaemonOptions: Sendable {
  /// The configuration's files before they were read; nil if nobody is to be told that they have changed.
  let configuration: ConfigurationState?
  /// Reads the configuration again; runs in the background.
  let readConfiguration: @Sendable () -> Result<ConfigurationReading, SystemError>
  /// The level of all loggers; nil if the command line sets it.
  let logThreshold: LogThreshold?
  /// Whether the listening sockets belong to systemd, which then starts the daemon when a client
  /// connects.
  let isActivated: Bool
  /// The directory of IdentityIds; nil if they are not kept.
  let stateDirectory: String?
  /// The directory of the sessions while no daemon runs; nil if they are not kept.
  let runtimeDirectory: String?
  /// The directory of credentials for the service; nil if it has none.
  let credentialsDirectory: String?

  public init(
    logThreshold: LogThreshold?, isActivated: Bool, configuration: ConfigurationState? = nil,
    stateDirectory: String? = ServiceDirectory.state,
    runtimeDirectory: String? = ServiceDirectory.runtime,
    credentialsDirectory: String? = ServiceDirectory.credentials,
    readConfiguration: @escaping @Sendable () -> Result<ConfigurationReading, SystemError>
  ) {
    self.configuration = configuration
    self.readConfiguration = readConfiguration
    self.logThreshold = logThreshold
    self.isActivated = isActivated
    self.stateDirectory = stateDirectory
    self.runtimeDirectory = runtimeDirectory
    self.credentialsDirectory = credentialsDirectory
  }
}

/// Ends an idle daemon if the configuration asks for it.
final class IdleExit {
  /// The pause before the next check if the time is up, but a call is still under way or a sign-in
  /// waits for its user.
  private static let pause: Duration = .seconds(1)

  /// The pause before the next attempt of a daemon that could not end.
  private let retry: Duration
  private let loop: EventLoop
  private let server: SocketServer
  private let endpoint: HTTPEndpoint?
  private let isBusy: () -> Bool
  /// Until when the daemon must remember what users have tried.
  private let countsUntil: () -> Instant?
  private let end: () -> Bool
  private var timer: EventSource?

  /// How long the daemon may be without a client; nil: for ever.
  var limit: Duration? {
    didSet { check() }
  }

  /// - Parameter end: returns whether the daemon ends.
  init(
    loop: EventLoop, server: SocketServer, endpoint: HTTPEndpoint?, retry: Duration = .seconds(60),
    isBusy: @escaping () -> Bool, countsUntil: @escaping () -> Instant?,
    end: @escaping () -> Bool
  ) throws(SystemError) {
    self.loop = loop
    self.retry = retry
    self.server = server
    self.endpoint = endpoint
    self.isBusy = isBusy
    self.countsUntil = countsUntil
    self.end = end
    timer = try loop.timer { [unowned self] _ in self.check() }
  }

  /// Checks whether the time is up, because connections do not reset the timer.
  private func check() {
    guard let limit else {
      timer?.arm(at: nil)
      return
    }
    let now = loop.now
    let isEmpty = server.connectionCount == 0 && endpoint?.connectionCount ?? 0 == 0
    let since = max(server.emptySince, endpoint?.emptySince ?? server.emptySince)
    let due = max((isEmpty ? since : now) + limit, countsUntil() ?? now)
    if due > now {
      timer?.arm(at: due)
    } else if isBusy() {
      timer?.arm(at: now + Self.pause)
    } else if !end() {
      timer?.arm(at: now + retry)
    }
  }
}
