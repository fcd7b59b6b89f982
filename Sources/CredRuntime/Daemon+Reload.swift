package import CredCore
package import CredService
internal import Glibc
package import Logging

/// SIGHUP: the configuration is read and checked whole, then taken into use, or not at all.
extension Daemon {
  /// One reading under way.
  struct Reload {
    /// Another SIGHUP came meanwhile: what is being read may be older than it.
    var isStale = false
  }

  /// Files are small and local, but groups may be asked of a network directory.
  private static let reloadTime: Duration = .seconds(30)

  /// What a reading gives: the diagnostics, and the configuration where there are no errors.
  private struct Reading: Sendable {
    let diagnostics: [Diagnostic]
    let configuration: ResolvedConfiguration?
  }

  func startReload() {
    // The next daemon reads what would be read now.
    guard !isStopping else { return }
    guard reload == nil else {
      reload?.isStale = true
      return
    }
    ServiceNotification.send(
      "RELOADING=1\nMONOTONIC_USEC=\(loop.monotonicMicroseconds)\nSTATUS=reading the configuration")
    reload = Reload()
    let (read, log) = (options.readConfiguration, log)
    background.runOnce(.configuration, deadline: loop.now + Self.reloadTime) {
      read().map { reading in
        Reading(
          diagnostics: reading.diagnostics,
          configuration: reading.configuration.map { ResolvedConfiguration($0, log: log) })
      }
    } completion: { [unowned self] result in
      finishReload(result ?? .failure(.readingTookTooLong))
    }
  }

  private func finishReload(_ result: Result<Reading, SystemError>) {
    guard let finished = reload else { return }
    reload = nil
    guard !isStopping else { return }
    if finished.isStale { return startReload() }
    switch result {
    case .failure(let error):
      refuseConfiguration(["\(error)"])
    case .success(let reading):
      for diagnostic in reading.diagnostics where diagnostic.severity == .warning {
        log.warning("\(diagnostic)")
      }
      if let configuration = reading.configuration {
        apply(configuration)
      } else {
        refuseConfiguration(reading.diagnostics.filter { $0.severity == .error }.map(\.description))
      }
    }
    ServiceNotification.send("READY=1")
    status?.restore()
  }

  private func refuseConfiguration(_ problems: [String]) {
    for problem in problems {
      log.log(
        .configurationRefused, .error, "the new configuration is not used: \(problem)")
    }
    let more = problems.count > 1 ? " and \(problems.count - 1) more" : ""
    service.reloadProblem = problems.first.map { $0 + more }
  }

  private func apply(_ configuration: ResolvedConfiguration) {
    let daemon = configuration.daemon
    options.logThreshold?.current = Logger.Level(daemon.logLevel)
    server.limits = ServerLimits(daemon)
    http.limitConnections(to: daemon.upstreamConnections)
    upstream.apply(daemon)
    let outcome = service.apply(configuration)
    limitIdleTime()
    log.log(
      .configurationLoaded, .notice, "configuration loaded",
      [
        "profiles": "\(configuration.profiles.count)", "added": "\(outcome.added)",
        "changed": "\(outcome.changed)", "removed": "\(outcome.removed)",
      ])
  }
}

extension ResolvedConfiguration {
  /// Asks the host's user database for groups, which may block. A group that does not exist admits
  /// nobody, which is logged.
  package init(_ configuration: Configuration, log: Logger) {
    self.init(configuration) { name in
      let id = HostNames.groupID(name)
      if id == nil {
        log.warning("the host has no group of that name", metadata: ["group": "\(name)"])
      }
      return id
    }
  }
}

extension SystemError {
  fileprivate static let readingTookTooLong = SystemError(
    "read the configuration: the host's user database did not answer", number: ETIMEDOUT)
}
