import CredCore

/// The upstream calls of sessions.
final class SessionCalls {
  private let host: Host
  private let clients: Clients
  private let sessions: SessionTable
  private let derived: DerivedSessions
  private let tokens: Tokens
  private let directory: UserDirectory
  private let limits: UserLimits
  private let journal: Journal
  private let figures: Figures

  init(
    host: Host, clients: Clients, sessions: SessionTable, derived: DerivedSessions,
    tokens: Tokens, directory: UserDirectory, limits: UserLimits, journal: Journal, figures: Figures
  ) {
    self.host = host
    self.clients = clients
    self.sessions = sessions
    self.derived = derived
    self.tokens = tokens
    self.directory = directory
    self.limits = limits
    self.journal = journal
    self.figures = figures
  }

  func start(_ call: UpstreamCall, _ id: CallID, _ session: Session) {
    guard !tokens.isStopping else { return }
    figures.began(call)
    cancel(of: session)
    let isInPerson = session.machine.isAwaited
    session.call = (id, isInPerson)
    if case .renewSource(let demand) = call { return derived.ask(demand, id, of: session) }
    if isInPerson {
      limits.callSpent(by: session.key.uid, at: clients[session.asking.client]?.user.allowance)
    }
    let (begun, labels) = (host.clock.now, call.labels(in: session.profile))
    let profile = session.profile
    if case .renewProviderTokens(let held, let way) = call { tokens.began(id, held, way, profile) }
    host.upstream.start(
      CallRequest(
        id: id, call: call, profile: profile,
        user: UnixUser(uid: session.key.uid, name: session.userName),
        account: sessions.account(of: session), isInPerson: isInPerson,
        isRetry: session.machine.failures > 0, caller: callerNote(session, isInPerson),
        isPersonal: session.machine.isPersonal(call))
    ) { [unowned self] outcome in
      if let labels { count(labels, outcome, session, in: host.clock.now - begun) }
      let renewal = tokens.takeRenewal(id)
      // The session may have been removed meanwhile. A weak reference would make every retain of it
      // slower.
      if !session.hasEnded {
        hostAccepted(outcome, session)
        sessions.handle(.callFinished(id, outcome), session, host.clock.now)
      }
      if let renewal { tokens.ended(renewal, outcome, session) }
    }
  }

  private func count(
    _ labels: (upstream: String, operation: String), _ outcome: UpstreamOutcome,
    _ session: Session, in time: Duration
  ) {
    var failure: UpstreamFailure?
    if case .failed(let reason) = outcome { failure = reason }
    figures.called(labels.upstream, labels.operation, failure, in: time)
    for run in session.asking.checks.values { run.note(labels.operation, failure, in: time) }
  }

  /// The caller, for a backend that wants to know it.
  private func callerNote(_ session: Session, _ isInPerson: Bool) -> CallerNote? {
    guard session.profile.backend?.sendsCaller ?? false else { return nil }
    guard isInPerson, let client = clients[session.asking.client],
      client.waiting?.session === session
    else {
      return CallerNote(user: session.userName, uid: session.key.uid)
    }
    let uid = client.peer.uid
    var name = session.userName
    if uid != session.key.uid {
      if case .user(let user)? = directory.known(UserQuery(.uid(uid))) {
        name = user.name
      } else {
        name = nil
      }
    }
    return CallerNote(
      user: name, uid: uid, unit: client.unit(), purpose: client.waiting?.request.purpose)
  }

  /// Notes that a backend which answers accepts this host again.
  private func hostAccepted(_ outcome: UpstreamOutcome, _ session: Session) {
    guard journal.isAnyHostRefused, let backend = session.profile.backend else { return }
    switch outcome {
    case .token, .signedIn, .providerTokens, .refreshTokenReplaced:
      journal.hostAccepted(by: backend.name)
    default: break
    }
  }

  /// Prioritises a session's call when a caller waits for it; cancels a call that is no longer
  /// needed.
  func update(of session: Session) {
    guard let call = session.call else { return }
    if session.machine.awaitedCall == nil {
      cancel(of: session)
    } else if !call.isInPerson, session.machine.isAwaited {
      session.call?.isInPerson = true
      derived.prioritise(call.id)
      host.upstream.prioritise(call.id)
    }
  }

  /// Drops the outcome of a session's call, unless it is a renewal: that outcome may have the only
  /// valid refresh token.
  func cancel(of session: Session) {
    guard let call = session.call else { return }
    session.call = nil
    derived.withdraw(call.id)
    if !tokens.isUnderWay(call.id) { host.upstream.cancel(call.id) }
  }
}
