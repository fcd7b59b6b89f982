package import CredCore
package import CredService
internal import Glibc
package import Logging

/// SIGHUP: reads and checks the whole configuration, then applies all of it or nothing.
extension Daemon {
  /// Files are small and local, but the user database may ask a network directory for groups.
  private static let reloadTime: Duration = .seconds(30)

  /// The result of a reading: the diagnostics, and the configuration if there are no errors.
  private struct Reading: Sendable {
    let diagnostics: [Diagnostic]
    let configuration: ResolvedConfiguration?
    /// The files before they were read.
    let state: ConfigurationState?

    /// Also opens files that systemd shows only to this process, so that no earlier check could see
    /// them.
    init(_ reading: ConfigurationReading, _ state: ConfigurationState?, log: Logger) {
      self.state = state
      let files = ConfigurationInspection.ofCredentials(reading)
      let others = ConfigurationInspection.ofContents(
        reading, outside: ServiceDirectory.credentials)
      diagnostics = (reading.diagnostics + files + others).inReadingOrder
      let isUsable = !files.contains { $0.severity == .error }
      configuration =
        isUsable ? reading.configuration.map { ResolvedConfiguration($0, log: log) } : nil
    }
  }

  /// Tells of files that are of no use before the first call that needs one.
  func inspectFiles() {
    background.runOnce(.configuration, deadline: loop.now + Self.reloadTime) {
      [read = options.readConfiguration] in
      (try? read().get()).map { ConfigurationInspection.ofContents($0) } ?? []
    } completion: { [log] found in
      for diagnostic in found ?? [] { log.warning("\(diagnostic)") }
    }
  }

  func startReload() {
    // The next daemon will read the configuration itself.
    guard !isStopping else { return }
    guard let generation = readings.begin() else { return }
    ServiceNotification.send(
      "RELOADING=1\nMONOTONIC_USEC=\(loop.monotonicMicroseconds)\nSTATUS=reading the configuration")
    let (read, path, log) = (options.readConfiguration, options.configuration?.path, log)
    background.runOnce(.configuration, deadline: loop.now + Self.reloadTime) {
      let state = path.map(ConfigurationState.init)
      return read().map { Reading($0, state, log: log) }
    } completion: { [unowned self] result in
      finishReload(generation, result ?? .failure(.readingTookTooLong))
    }
  }

  private func finishReload(_ generation: Int, _ result: Result<Reading, SystemError>) {
    guard !isStopping else { return }
    switch readings.end(generation) {
    case .late: return
    case .outOfDate: return startReload()
    case .current: break
    }
    switch result {
    case .failure(let error):
      service.refuseConfiguration(["\(error)"])
    case .success(let reading):
      for diagnostic in reading.diagnostics where diagnostic.severity == .warning {
        log.warning("\(diagnostic)")
      }
      if let configuration = reading.configuration {
        apply(configuration)
        if let state = reading.state { watch(since: state) }
      } else {
        service.refuseConfiguration(
          reading.diagnostics.filter { $0.severity == .error }.map(\.description))
      }
    }
    ServiceNotification.send("READY=1")
    status?.restore()
  }

  /// Lets clients be told when files of the configuration have changed.
  func watch(since state: ConfigurationState) {
    service.watchFiles(reloadedBy: ServiceDirectory.reload) {
      ConfigurationState(of: state.path) != state
    }
  }

  private func apply(_ configuration: ResolvedConfiguration) {
    let daemon = configuration.daemon
    options.logThreshold?.current = Logger.Level(daemon.logLevel)
    server.limits = ServerLimits(daemon)
    http.limitConnections(to: daemon.upstreamConnections)
    http.configurationChanged()
    upstream.apply(daemon)
    service.apply(configuration)
    followSections()
    limitIdleTime()
  }
}

/// The readings of the configuration, each with a generation. Only one reading is awaited. If credd
/// gave up an earlier reading, it never takes the result of the earlier one for the awaited one.
struct ConfigurationReadings {
  enum Verdict: Equatable {
    case current
    /// Another reload was requested during the reading: the files are read once more.
    case outOfDate
    /// The reading is not awaited, or not any more.
    case late
  }

  private var generation = 0
  private var awaited: Int?
  private var isOutOfDate = false

  /// The generation of a reading that starts. If a reading is under way, returns nil, and the
  /// reading counts as out of date.
  mutating func begin() -> Int? {
    guard awaited == nil else {
      isOutOfDate = true
      return nil
    }
    generation += 1
    awaited = generation
    isOutOfDate = false
    return generation
  }

  /// Ends a reading, because its result came or it took too long.
  mutating func end(_ generation: Int) -> Verdict {
    guard generation == awaited else { return .late }
    awaited = nil
    return isOutOfDate ? .outOfDate : .current
  }
}

extension ResolvedConfiguration {
  /// Asks the host's user database for groups; this may block. A group that does not exist admits
  /// no user and is logged.
  package init(_ configuration: Configuration, log: Logger) {
    let queries = SystemQueries()
    self.init(configuration) { name in
      let answer = queries.group(name)
      GroupDirectory.report(answer, to: name, log)
      return answer
    }
  }
}

extension SystemError {
  fileprivate static let readingTookTooLong = SystemError(
    "read the configuration: the host's user database did not answer", number: ETIMEDOUT)
}
