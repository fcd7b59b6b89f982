import CredCore

/// `status` and `metrics`: the service's reports about itself.
final class Reports {
  /// Where clients connect.
  var listeners: [ListenerReport] = []
  /// How often the kernel did not say who an HTTP client is.
  var attestationFailures: () -> [AttestationFailure: Int] = { [:] }
  /// How often the limits of connections were hit.
  var connectionLimitHits: () -> [HitLimit: Int] = { [:] }
  private let started: Instant
  let host: Host
  let configuration: ConfigurationInForce
  let clients: Clients
  let sessions: SessionTable
  let admittance: Admittance
  let figures: Figures

  init(
    host: Host, configuration: ConfigurationInForce, clients: Clients, sessions: SessionTable,
    admittance: Admittance, figures: Figures
  ) {
    self.host = host
    self.configuration = configuration
    self.clients = clients
    self.sessions = sessions
    self.admittance = admittance
    self.figures = figures
    started = host.clock.now
  }

  /// `status`: the caller's own sessions; for root and the admin group, all sessions.
  func giveStatus(_ status: StatusRequest, _ turn: Turn) {
    admittance.changedFiles.whenKnown(turn) { [unowned self] turn, advice in
      giveStatus(status, turn, reload: advice)
    }
  }

  private func giveStatus(_ status: StatusRequest, _ turn: Turn, reload advice: String?) {
    guard let isAdmin = admittance.isAdmin(turn.client, turn.now) else {
      return turn.waitForCaller()
    }
    guard !status.all || isAdmin else {
      let who = configuration.daemon.adminGroup.map { "root and members of \($0)" } ?? "root"
      return turn.refuse(
        ProtocolError(.accessDenied, "only \(who) may see everyone's sessions"))
    }
    var own: [Session]?
    var profiles: [ProfileReport]?
    if !status.all || status.profiles {
      switch admittance.caller(turn.client, admittance.needsOfAll(turn.client), turn.now) {
      case .known(let caller):
        if !status.all { own = admittance.claimSessions(of: caller, behind: turn.door, turn.now) }
        if status.profiles { profiles = openProfiles(to: caller, behind: turn.door) }
      case .pending: return turn.waitForCaller()
      case .unknown(let error): return turn.refuse(error)
      }
    }
    let page = page(status, of: own, turn.now, isAdmin: isAdmin)
    var daemon = daemonReport(turn.now, isAdmin: isAdmin)
    daemon.reloadAdvice = advice
    turn.give(.status(page.reports, profiles: profiles, of: daemon, next: page.next))
  }

  /// A part of the sessions, and its last session if more follow.
  ///
  /// - Parameter own: a user's sessions in order; nil for the sessions of all users.
  private func page(
    _ status: StatusRequest, of own: [Session]?, _ now: Instant, isAdmin: Bool
  ) -> (reports: [SessionReport], next: SessionCursor?) {
    let start = status.after.map { SessionKey(uid: $0.uid, profile: $0.profile) }
    let wall = host.clock.wallTime
    var reports: [SessionReport] = []
    var bytes = 0
    var next: SessionCursor?
    func take(_ session: Session) -> Bool {
      guard reports.count < status.limit, bytes < Limits.Line.statusPageBytes else {
        next = reports.last.map { SessionCursor(uid: $0.uid, profile: $0.profile) }
        return false
      }
      let report = report(session, now, wall, isAdmin: isAdmin)
      bytes += report.roughByteCount
      reports.append(report)
      return true
    }
    if let own {
      for session in own where start.map({ $0 < session.key }) ?? true {
        guard take(session) else { break }
      }
    } else {
      sessions.order.walk(after: start, take)
    }
    return (reports, next)
  }

  /// The profiles for which a `get` of this caller would not be refused.
  private func openProfiles(to caller: Caller, behind door: Door) -> [ProfileReport] {
    admittance.profiles(of: caller, behind: door).compactMap { name in
      guard let profile = configuration[name],
        caller.userName != nil || !profile.needsUserName
      else { return nil }
      // Users sign in to its source.
      let root = profile.root
      var report = ProfileReport(
        name: name, means: root.signInMeans,
        redirectURIs: root.signInProfile.redirectURIs.map(\.description),
        identityProviders: root.signInProfile.browser?.identityProviders ?? [])
      report.derived = DerivedReport(profile)
      report.givesCredentials = profile.settings.vendCredentials
      report.accountActions = profile.accountActions
      return report
    }
  }

  private func daemonReport(_ now: Instant, isAdmin: Bool) -> DaemonReport {
    DaemonReport(
      version: Version.current, pid: host.process.pid, uptime: now - started,
      sessions: sessions.count, connections: clients.count, requests: figures.requests,
      backendCalls: figures.backendCalls, exchanges: figures.exchanges, listeners: listeners,
      configured: configuration.since, clockSkew: host.clock.skew,
      // Only administrators may see names of files and backends.
      reloadProblem: isAdmin ? configuration.problem : nil,
      stateDirectory: isAdmin ? host.store?.problem : nil)
  }

  private func report(
    _ session: Session, _ now: Instant, _ wall: WallTime, isAdmin: Bool
  ) -> SessionReport {
    let machine = session.machine
    func civil(_ instant: Instant) -> WallTime { wall + (instant - now) }
    let next = session.nextRefresh
    var report = SessionReport(
      profile: session.key.profile, user: session.userName, uid: session.key.uid,
      state: machine.state.reported, identityID: machine.identityID,
      signedIn: clients.signedIn(to: session),
      expiration: machine.expiration,
      nextRefresh: next.at.map(civil), nextRefreshReason: next.reason,
      lastError: machine.lastFailure.map {
        SessionReport.LastError(
          code: $0.failure.code, message: $0.failure.message, at: civil($0.at),
          reason: $0.failure.reason,
          // The detail may contain addresses and names of files.
          detail: isAdmin ? $0.failure.detail : nil)
      },
      failures: machine.failures, lastRefresh: machine.received.map(civil),
      waiters: machine.waiterCount,
      lastCaller: session.audited.lastCaller.map {
        .init(pid: $0.pid > 0 ? $0.pid : nil, unit: $0.unit)
      })
    report.derived = DerivedReport(session.profile, holding: machine.credentials?.credentials)
    report.region = session.profile.poolProfile.flatMap { host.upstream.replicaInUse(of: $0) }
    return report
  }

  /// The status for systemd.
  var summary: ServiceStatus {
    let now = host.clock.now
    return ServiceStatus(
      sessions: sessions.count, degraded: sessions.degraded,
      nextRefresh: sessions.nextRefresh.map { host.clock.wallTime + ($0 - now) },
      trouble: configuration.problem.map { "configuration not reloaded: \($0)" }
        ?? listeners.lazy.compactMap(\.trouble).first
        ?? host.store?.problem.map { "identities in memory alone: \($0)" })
  }
}
