public import AuthCore
public import AuthStore
import CActivation
import enum CredCore.Version
import FoundationEssentials
public import Logging
public import NIOCore

/// The whole server: its parts put together, and run until it is told to stop.
public struct Server: Sendable {
  public static let version = Version.current

  public struct Options: Sendable {
    public var configuration: AuthCore.Configuration
    public var environment: [String: String] = [:]
    public var hostName = "localhost"
    public var processors = 2
    public var log: Logger
    public var now: @Sendable () -> Timestamp = { Timestamp(Date.now) }
    /// In place of AWS.
    public var cognito: (any Cognito)?
    public var hashing = PasswordHasher.Parameters()
    /// Where the list of common passwords may be; the first that is there counts.
    public var passwordLists = [PasswordFile.shipped]
    /// Clients' connections at once.
    public var connections = Limits.connections
    /// The addresses that the server listens on.
    public var onReady: @Sendable (_ clients: SocketAddress?) -> Void = { _ in }
    public var takesSignals = true

    public init(configuration: AuthCore.Configuration, log: Logger) {
      self.configuration = configuration
      self.log = log
    }
  }

  let options: Options
  public let store: AuthStore
  public let metrics = Metrics()
  let audit: AuditLog
  let faults: DatabaseFaults

  /// Opens the database, and brings its schema up to date.
  public init(_ options: Options) async throws {
    self.options = options
    store = try AuthStore(options.configuration.database)
    try await store.migrate()
    let chain = Self.chain(options.configuration.listen, on: options.hostName)
    faults = DatabaseFaults(log: options.log, metrics: metrics, now: options.now)
    audit = AuditLog(
      store: store, chain: chain, metrics: metrics, faults: faults, now: options.now)
  }

  /// One chain for each server: two on one machine listen on two addresses.
  static func chain(
    _ address: AuthCore.Configuration.ListenAddress, on hostName: String
  ) -> String {
    switch address {
    case .network(let host, let port): "\(hostName)/\(host)/\(port)"
    case .unixSocket(let path): "\(hostName)\(path)"
    case .systemd: "\(hostName)/systemd"
    }
  }

  /// Serves until it is told to stop. Requests under way are answered first.
  public func run() async throws {
    let configuration = options.configuration
    let passwords = try PasswordFile(options.passwordLists)
    let hasher = try PasswordHasher(
      threads: max(1, options.processors / 2), parameters: options.hashing, metrics: metrics)
    let http = try HTTPClient(
      calls: Limits.cognitoCalls, environment: options.environment)
    let tls = try TLSContexts(configuration, metrics: metrics)
    metrics.set(.buildInfo, Self.version, to: 1)
    do {
      try await serve(hasher, http, tls, passwords)
    } catch {
      await stop(hasher, http)
      throw error
    }
    await stop(hasher, http)
  }

  private func stop(_ hasher: PasswordHasher, _ http: HTTPClient) async {
    http.close()
    await hasher.close()
    await store.close()
  }

  private func serve(
    _ hasher: PasswordHasher, _ http: HTTPClient, _ tls: TLSContexts?, _ passwords: PasswordFile
  ) async throws {
    let signals = Signals(isOn: options.takesSignals)
    let listeners = try await listen(routes(hasher, http, passwords), tls)
    let housekeeping = Task { await keepHouse() }
    for await event in signals.events {
      guard event == .reload else { break }
      if let tls {
        reload("the certificate was read again", or: "the earlier certificate stays", tls.reload)
      }
      reload(
        "the common passwords were read again", or: "the earlier common passwords stay",
        passwords.reload)
    }
    // Also where this task was cancelled: what stops the server goes on.
    await Task {
      await withDiscardingTaskGroup { group in
        for listener in listeners {
          group.addTask { await listener.close(within: Limits.stopTime) }
        }
      }
      housekeeping.cancel()
      await housekeeping.value
      await audit.writeNumbers(all: true)
      await logHeads()
    }.value
  }

  var admin: AdminRoutes {
    AdminRoutes(store: store, metrics: metrics, faults: faults, now: options.now)
  }

  /// Binds all sockets, and says so.
  private func listen(_ routes: Routes, _ tls: TLSContexts?) async throws -> [Listener] {
    var listeners: [Listener] = []
    let proxyFaults = ProxyFaults(options.log)
    if let address = options.configuration.adminListen {
      let setUp = ConnectionSetUp(
        responder: admin,
        connections: OpenConnections(limit: Limits.connections, metrics: nil), faults: proxyFaults)
      listeners.append(try await Listener(.address(address), setUp))
    }
    let admins = listeners.count
    let setUp = ConnectionSetUp(
      responder: routes, tls: tls,
      connections: OpenConnections(limit: options.connections, metrics: metrics),
      proxies: options.configuration.proxies, faults: proxyFaults)
    for source in try sources() { listeners.append(try await Listener(source, setUp)) }
    for listener in listeners {
      let address = listener.address?.description ?? "a passed socket"
      options.log.info("listening", metadata: ["address": "\(address)"])
    }
    _ = unsafe sd_notify(0, "READY=1")
    options.onReady(listeners[admins].address)
    return listeners
  }

  private func reload(
    _ done: Logger.Message, or fault: Logger.Message, _ body: () throws -> Void
  ) {
    do {
      try body()
      options.log.notice(done)
    } catch {
      options.log.error(fault, metadata: ["reason": "\(error)"])
    }
  }

  private func routes(
    _ hasher: PasswordHasher, _ http: HTTPClient, _ passwords: PasswordFile
  ) -> Routes {
    let configuration = options.configuration
    let quota = QuotaGate(
      store: store, rate: configuration.quota, metrics: metrics, now: options.now)
    let cognito =
      options.cognito
      ?? CognitoClient(
        http: http, endpoint: configuration.aws.cognitoEndpoint,
        credentials: AWSCredentials(
          .init(configuration.aws, environment: options.environment), now: options.now),
        metrics: metrics, now: options.now)
    let tokens = TokenService(
      configuration: configuration, store: store, cognito: cognito, quota: quota, audit: audit,
      metrics: metrics, log: options.log, now: options.now)
    let accounts = AccountService(
      configuration: configuration, store: store, hasher: hasher, passwords: passwords,
      audit: audit, log: options.log, now: options.now)
    let sample = configuration.sample.map {
      SampleService(
        sample: $0, configuration: configuration, store: store, tokens: tokens, audit: audit,
        now: options.now)
    }
    return Routes(
      tokens: tokens, accounts: accounts, sample: sample, metrics: metrics, log: options.log,
      faults: faults, now: options.now)
  }

  /// What systemd has passed, or what the configuration names.
  private func sources() throws -> [Listener.Source] {
    guard options.configuration.listen == .systemd else {
      return [.address(options.configuration.listen)]
    }
    let count = sd_listen_fds(0)
    guard count > 0 else {
      throw ServerFailure.noSocket
    }
    return (0..<count).map { .descriptor(SD_LISTEN_FDS_START + $0) }
  }
}
