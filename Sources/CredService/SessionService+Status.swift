import CredCore

extension SessionService {
  /// `status`: the caller's own sessions; for root and the admin group, all sessions.
  func giveStatus(
    _ status: StatusRequest, _ request: Request, _ client: Client, _ now: Instant
  ) {
    guard let isAdmin = isAdmin(client, now) else {
      return wait(client, for: WaitingRequest(request, for: .caller))
    }
    guard !status.all || isAdmin else {
      let who = configuration.daemon.adminGroup.map { "root and members of \($0)" } ?? "root"
      return refuse(
        ProtocolError(.accessDenied, "only \(who) may see everyone's sessions"), id: request.id,
        client)
    }
    var own: [Session]?
    var profiles: [ProfileReport]?
    if !status.all || status.profiles {
      switch caller(client, configuration.needs.own, now) {
      case .known(let caller):
        if !status.all { own = sessions(of: caller, now) }
        if status.profiles { profiles = openProfiles(to: caller) }
      case .pending: return wait(client, for: WaitingRequest(request, for: .caller))
      case .unknown(let error): return refuse(error, id: request.id, client)
      }
    }
    let page = page(status, of: own, now, isAdmin: isAdmin)
    give(
      .status(
        page.reports, profiles: profiles, of: daemonReport(now, isAdmin: isAdmin), next: page.next),
      request, client)
  }

  /// A part of the sessions; the place of its last one if there are more.
  ///
  /// - Parameter own: a user's sessions in order; nil for those of all users.
  private func page(
    _ status: StatusRequest, of own: [Session]?, _ now: Instant, isAdmin: Bool
  ) -> (reports: [SessionReport], next: SessionPlace?) {
    let start = status.after.map { SessionKey(uid: $0.uid, profile: $0.profile) }
    let wall = host.clock.wallTime
    var reports: [SessionReport] = []
    var bytes = 0
    var next: SessionPlace?
    func take(_ session: Session) -> Bool {
      guard reports.count < status.limit, bytes < Limits.Line.statusPageBytes else {
        next = reports.last.map { SessionPlace(uid: $0.uid, profile: $0.profile) }
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
      sessionOrder.walk(after: start, take)
    }
    return (reports, next)
  }

  /// The profiles for which a `get` of this caller would not be refused.
  private func openProfiles(to caller: Caller) -> [ProfileReport] {
    profiles(of: caller).compactMap { name in
      guard let profile = configuration.profiles[name],
        caller.userName != nil || !profile.needsUserName
      else { return nil }
      return ProfileReport(
        name: name, means: profile.signInMeans,
        redirectURIs: profile.signInProfile.redirectURIs.map(\.description),
        identityProviders: profile.signInProfile.browser?.identityProviders ?? [])
    }
  }

  private func daemonReport(_ now: Instant, isAdmin: Bool) -> DaemonReport {
    DaemonReport(
      version: Version.current, pid: host.process.pid, uptime: now - started,
      sessions: sessions.count,
      connections: clients.count, requests: requests, backendCalls: backendCalls,
      exchanges: exchanges, listeners: listeners, configured: configured,
      clockSkew: host.clock.skew,
      // Only administrators see names of files and backends.
      reloadProblem: isAdmin ? reloadProblem : nil,
      stateDirectory: isAdmin ? host.store?.problem : nil)
  }

  private func report(
    _ session: Session, _ now: Instant, _ wall: WallTime, isAdmin: Bool
  ) -> SessionReport {
    let machine = session.machine
    func civil(_ instant: Instant) -> WallTime { wall + (instant - now) }
    let next = session.nextRefresh
    return SessionReport(
      profile: session.key.profile, user: session.userName, uid: session.key.uid,
      state: machine.state.reported, identityID: machine.identityID,
      signedIn: signedIn(to: session),
      expiration: machine.credentials?.credentials.expiration,
      nextRefresh: next.at.map(civil), nextRefreshReason: next.reason,
      lastError: machine.lastFailure.map {
        SessionReport.LastError(
          code: $0.failure.code, message: $0.failure.message, at: civil($0.at),
          reason: $0.failure.reason,
          // It may have addresses and names of files.
          detail: isAdmin ? $0.failure.detail : nil)
      },
      failures: machine.failures, lastRefresh: machine.credentials.map { civil($0.received) },
      waiters: machine.waiterCount,
      lastCaller: session.audited.lastCaller.map {
        .init(pid: $0.pid > 0 ? $0.pid : nil, unit: $0.unit)
      })
  }
}

extension SessionService {
  /// Who is signed in, and how.
  func signedIn(to session: Session) -> SignedIn? {
    let (now, wall) = (host.clock.now, host.clock.wallTime)
    return session.machine.signedIn(hostName: session.userName) { wall + ($0 - now) }
  }

  /// The status for systemd.
  package var summary: ServiceStatus {
    let now = host.clock.now
    return ServiceStatus(
      sessions: sessions.count, degraded: degraded,
      nextRefresh: nextRefresh.map { host.clock.wallTime + ($0 - now) },
      trouble: reloadProblem.map { "configuration not reloaded: \($0)" }
        ?? host.store?.problem.map { "identities in memory alone: \($0)" })
  }
}

/// The daemon's status in one line, for `systemctl status`.
package struct ServiceStatus: Equatable {
  var sessions = 0
  /// Sessions whose last refresh failed.
  var degraded = 0
  /// A time, not a duration: a duration would need regular updates.
  var nextRefresh: WallTime?
  /// The most important problem for an operator: a refused reload, or a state directory that fails.
  var trouble: String?

  package var text: String {
    var parts = [sessions == 1 ? "1 session" : "\(sessions) sessions"]
    if let nextRefresh { parts.append("next refresh at \(nextRefresh.iso8601)") }
    if degraded > 0 { parts.append("\(degraded) degraded") }
    if let trouble { parts.append(trouble) }
    return parts.joined(separator: ", ")
  }
}
