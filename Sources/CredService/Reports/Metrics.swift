import CredCore

/// `metrics`, and `GET /metrics`: for root, the admin group and `metrics_users`.
extension Reports {
  func giveMetrics(_ turn: Turn) {
    switch readsMetrics(turn.client, turn.now) {
    case nil: turn.waitForCaller()
    case false?:
      turn.refuse(
        ProtocolError(
          .accessDenied,
          "only root, members of admin_group and metrics_users may read the metrics"))
    case true?: clients.giveMetrics(metricsText(turn.now), turn)
    }
  }

  /// Nil while the caller is being looked up. At the endpoint, root may read metrics only if
  /// `metrics_users` names it: forwarders run as root.
  private func readsMetrics(_ client: Client, _ now: Instant) -> Bool? {
    if client.peer.uid == 0, client.http == nil { return true }
    var needs = CallerNeeds()
    if let group = configuration.current.adminGroup { needs.groups = [group] }
    switch admittance.caller(client, needs, now) {
    case .known(let caller):
      if AccessRule.names(caller, in: configuration.daemon.metricsUsers) { return true }
      return caller.uid != 0 && !needs.groups.isDisjoint(with: caller.groups)
    case .pending: return nil
    case .unknown: return false
    }
  }

  // MARK: The text

  private func metricsText(_ now: Instant) -> [UInt8] {
    var text = MetricsText(includingProfiles: true)
    text.append(.buildInfo, [([Version.current], 1)])
    appendSessions(to: &text, now)
    appendCounters(to: &text)
    let http = clients.httpCount
    text.append(
      .connections,
      [([Self.socket], Double(clients.count - http)), ([Self.http], Double(http))])
    text.append(.replicaInUse, replicasInUse())
    text.append(.clockSkew, host.clock.skew?.inSeconds ?? 0)
    text.append(.configurationValid, configuration.problem == nil ? 1 : 0)
    text.append(
      .configurationTime, (Double(configuration.since.milliseconds) / 1000).rounded(.down))
    return text.bytes
  }

  /// One sample for each user pool with a replica.
  private func replicasInUse() -> [([String], Double)] {
    var inUse: [String: Bool] = [:]
    for name in configuration.profileNames {
      guard let pool = configuration[name]?.poolProfile, let backend = pool.backend,
        backend.replicaName != nil
      else { continue }
      inUse[backend.name] = host.upstream.replicaInUse(of: pool) != nil
    }
    return inUse.sorted { $0.key < $1.key }.map { ([$0.key], $0.value ? 1 : 0) }
  }

  private static let socket = "socket"
  private static let http = "http"

  private func appendSessions(to text: inout MetricsText, _ now: Instant) {
    var states: [[String]: Int] = [:]
    var degraded: [String: Int] = [:]
    var first: [String: HeldCredentials] = [:]
    var waiters = 0
    for name in configuration.profileNames {
      degraded[name] = 0
      for state in ReportedState.allCases { states[[name, state.rawValue]] = 0 }
    }
    for session in sessions.byKey.values {
      let name = session.key.profile
      states[[name, session.machine.state.reported.rawValue], default: 0] += 1
      degraded[name, default: 0] += session.registration.isDegraded ? 1 : 0
      waiters += session.machine.waiterCount
      if session.machine.isInUse, let held = session.machine.credentials {
        let other = first[name] ?? held
        if held.credentials.expiration <= other.credentials.expiration { first[name] = held }
      }
    }
    text.append(
      .sessions,
      states.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, Double($0.value)) })
    text.append(
      .sessionsDegraded,
      degraded.sorted { $0.key < $1.key }.map { ([$0.key], Double($0.value)) })
    let inUse = first.sorted { $0.key < $1.key }
    text.append(
      .credentialsExpiration,
      inUse.map {
        ([$0.key], (Double($0.value.credentials.expiration.milliseconds) / 1000).rounded(.down))
      })
    text.append(
      .credentialsLifetime, inUse.map { ([$0.key], $0.value.lifetime.inSeconds.rounded(.down)) })
    text.append(.waiters, Double(waiters))
  }

  private func appendCounters(to text: inout MetricsText) {
    // The number of cached answers is the rest of all requests, because the hot path has no further
    // counter.
    var answers = figures.answers
    let get = {
      Figures.Answer(operation: "get", isHTTP: $0, code: Figures.success)
    }
    answers[get(false), default: 0] += figures.cachedAnswers
    answers[get(true), default: 0] += figures.cachedHTTP
    text.append(
      .requests,
      Self.sorted(
        answers.map {
          ([$0.key.operation, $0.key.isHTTP ? Self.http : Self.socket, $0.key.code], $0.value)
        }))
    text.append(
      .refreshes,
      Self.sorted(figures.refreshes.map { ([$0.key.profile, $0.key.result], $0.value) }))
    text.append(
      .signIns,
      Self.sorted(
        figures.signIns.map { ([$0.key.profile, $0.key.means, $0.key.result], $0.value) }))
    text.append(
      .upstreamRequests,
      Self.sorted(
        figures.calls.map { ([$0.key.upstream, $0.key.operation, $0.key.result], $0.value) }))
    text.append(
      .upstreamRequestDuration,
      figures.durations.map { ([$0.key.upstream, $0.key.operation], $0.value) }
        .sorted { $0.0.lexicographicallyPrecedes($1.0) })
    text.append(
      .upstreamUp, Self.sorted(figures.works.map { ([$0.key], $0.value ? 1 : 0) }))
    let failures = attestationFailures()
    text.append(
      .attestationFailures,
      AttestationFailure.allCases.map { ([$0.rawValue], Double(failures[$0] ?? 0)) })
    let hits = figures.limitHits.merging(connectionLimitHits(), uniquingKeysWith: +)
    text.append(
      .limitHits, HitLimit.allCases.map { ([$0.rawValue], Double(hits[$0] ?? 0)) })
  }

  private static func sorted(
    _ samples: [([String], Int)]
  ) -> [([String], Double)] {
    samples.sorted { $0.0.lexicographicallyPrecedes($1.0) }.map { ($0.0, Double($0.1)) }
  }
}

extension Duration {
  fileprivate var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
