internal import CredCore
internal import Logging

/// SIGHUP: the configuration is read and checked whole, then taken into use, or not at all.
extension Daemon {
  /// One reading under way.
  struct Reloading {
    /// Another SIGHUP came meanwhile: what is being read may be older than it.
    var isStale = false
    /// Gives up on a reading that hangs.
    let deadline: EventSource
  }

  /// Files are small and local, but groups may be asked of a network directory.
  private static let patience: Duration = .seconds(30)

  func reload() {
    // What would be read now is for the next daemon to read.
    guard !isStopping else { return }
    guard reloading == nil else {
      reloading?.isStale = true
      return
    }
    ServiceNotification.send(
      "RELOADING=1\nMONOTONIC_USEC=\(loop.monotonicMicroseconds)\nSTATUS=reading the configuration")
    do throws(SystemError) {
      let deadline = try loop.timer { [unowned self] _ in
        self.assumeIsolated { $0.finishReload(.failure(.readingTookTooLong)) }
      }
      deadline.arm(at: loop.now + Self.patience)
      reloading = Reloading(deadline: deadline)
      try readAside()
    } catch {
      finishReload(.failure(error))
    }
  }

  /// What a reading gives: the diagnostics, and the configuration where there are no errors.
  private struct Reading: Sendable {
    let diagnostics: [Diagnostic]
    let settings: ActiveConfiguration?
  }

  private func readAside() throws(SystemError) {
    let read = options.readConfiguration
    let log = log
    try loop.runAside {
      read().map { reading in
        Reading(
          diagnostics: reading.diagnostics,
          settings: reading.configuration.map { ActiveConfiguration($0, log: log) })
      }
    } then: { [weak self] result in
      self?.assumeIsolated { $0.finishReload(result) }
    }
  }

  private func finishReload(_ result: Result<Reading, SystemError>) {
    // What comes after the deadline is not waited for any more.
    guard let finished = reloading else { return }
    reloading = nil
    guard !isStopping else { return }
    if finished.isStale { return reload() }
    switch result {
    case .failure(let error):
      refuseConfiguration(["\(error)"])
    case .success(let reading):
      for diagnostic in reading.diagnostics where diagnostic.severity == .warning {
        log.warning("\(diagnostic)")
      }
      if let settings = reading.settings {
        adopt(settings)
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

  private func adopt(_ settings: ActiveConfiguration) {
    let daemon = settings.daemon
    options.logThreshold?.current = Logger.Level(daemon.logLevel)
    server.limits = ServerLimits(daemon)
    upstream.adopt(daemon)
    let outcome = service.adopt(settings)
    service.reloadProblem = nil
    service.configured = loop.wallTime
    limitIdleness()
    log.log(
      .configurationLoaded, .notice, "configuration loaded",
      [
        "profiles": "\(settings.profiles.count)", "added": "\(outcome.added)",
        "changed": "\(outcome.changed)", "removed": "\(outcome.removed)",
      ])
  }

  var presentStatus: ServiceStatus {
    let now = loop.now
    let next = service.nextDue?.machine.nextRefresh.at
    return ServiceStatus(
      sessions: service.sessions.count, degraded: service.degraded,
      nextRefresh: next.map { loop.wallTime + ($0 - now) },
      trouble: service.reloadProblem.map { "configuration not reloaded: \($0)" }
        ?? service.state.identities?.failure.map { "identities in memory alone: \($0)" })
  }
}

extension SystemError {
  fileprivate static let readingTookTooLong = SystemError(
    "read the configuration: the host's user database did not answer", number: 110)
}
