import CredCore

/// Makes the upstream calls of sessions.
extension SessionService {
  func start(_ call: UpstreamCall, _ id: CallID, _ session: Session) {
    guard !renewals.isStopping else { return }
    countForStatus(call)
    cancelCall(of: session)
    let isInPerson = session.machine.isAwaited
    session.call = (id, isInPerson)
    if isInPerson {
      callAllowance.spent(by: accountNumber(of: session.key.uid), now: host.clock.now)
    }
    let (begun, labels) = (host.clock.now, call.labels(in: session.profile))
    let profile = session.profile
    if case .renewPoolTokens(let tokens, let way) = call {
      let isLink = tokens.issuer == profile.plan.link
      renewals[id] = RenewalsUnderWay.Renewal(
        tokens: tokens, profile: isLink ? profile.link ?? profile : profile,
        mayReplaceToken: tokens.issuer.pool == nil || way.mayReplaceToken)
    }
    host.upstream.start(
      CallRequest(
        id: id, call: call, profile: profile,
        user: UnixUser(uid: session.key.uid, name: session.userName), isInPerson: isInPerson,
        isRetry: session.machine.failures > 0, caller: callerNote(session, isInPerson))
    ) { [unowned self] outcome in
      if let labels {
        var failure: UpstreamFailure?
        if case .failed(let reason) = outcome { failure = reason }
        let time = self.host.clock.now - begun
        counters.called(labels.upstream, labels.operation, failure, in: time)
        if !session.checks.isEmpty { noteStep(labels.operation, of: session, failure, in: time) }
      }
      let renewal = renewals.removeRenewal(id)
      // It may have been removed meanwhile. A weak reference would make each of its retains slower.
      if !session.hasEnded {
        hostAccepted(outcome, session)
        self.handle(.callFinished(id, outcome), session, self.host.clock.now)
      }
      if let renewal { renewalEnded(renewal, outcome, session) }
    }
  }

  /// Who asks, for a backend that wants to know.
  private func callerNote(_ session: Session, _ isInPerson: Bool) -> CallerNote? {
    guard session.profile.backend?.sendsCaller ?? false else { return nil }
    guard isInPerson, let client = clients[session.askedBy] else {
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
    return CallerNote(user: name, uid: uid, unit: client.unit(), purpose: client.purpose)
  }

  /// A backend that answers accepts this host again.
  private func hostAccepted(_ outcome: UpstreamOutcome, _ session: Session) {
    guard !hostRefusals.isEmpty, let backend = session.profile.backend else { return }
    switch outcome {
    case .token, .signedIn, .poolTokens, .refreshTokenReplaced: hostRefusals.remove(backend.name)
    default: break
    }
  }

  private func countForStatus(_ call: UpstreamCall) {
    switch call {
    case .tokenCallback, .renewPoolTokens: backendCalls += 1
    case .getCredentials, .assumeRole: exchanges += 1
    case .signIn, .readTokenFile, .getID, .getOpenIDToken: break
    }
  }

  /// Prioritises a session's call when a caller waits for it; cancels a call that is no longer
  /// needed.
  func updateCall(of session: Session) {
    guard let call = session.call else { return }
    if session.machine.awaitedCall == nil {
      cancelCall(of: session)
    } else if !call.isInPerson, session.machine.isAwaited {
      session.call?.isInPerson = true
      host.upstream.prioritise(call.id)
    }
  }

  /// Drops the outcome of a session's call, but not that of a renewal: it may have the only refresh
  /// token.
  func cancelCall(of session: Session) {
    guard let call = session.call else { return }
    session.call = nil
    if renewals[call.id] == nil { host.upstream.cancel(call.id) }
  }
}

extension TokenKind {
  var want: Waiter.Want {
    switch self {
    case .developer: .token
    case .id: .idToken
    case .access: .accessToken
    }
  }
}

/// Answers waiting clients.
extension SessionService {
  func giveCredentials(of session: Session, to waiter: UInt64) {
    if asksAnew(waiter, in: session) { return }
    guard let (client, request) = endWait(waiter, in: session) else { return }
    if giveCheck(of: session, request, client) { return }
    guard let reply = session.reply else { return refuse(.nothingHeld, id: request.id, client) }
    let now = host.clock.now
    // The user may have signed in while the client waited.
    if request.otherUser != nil, let error = impersonationRefusal(session, client, now) {
      return refuse(error, id: request.id, client)
    }
    recordCredentialsGiven(session, client, now)
    give(reply, of: session, request, client)
  }

  func giveToken(of session: Session, to waiter: UInt64) {
    if asksAnew(waiter, in: session) { return }
    guard let (client, request) = endWait(waiter, in: session) else { return }
    if case .token(let token) = request.operation {
      do throws(ProtocolError) {
        let kind = try session.profile.tokenKind(token.kind, holdsToken: true)
        if kind != .developer { return givePoolToken(kind, of: session, request, client) }
      } catch {
        return refuse(error, id: request.id, client)
      }
    }
    guard let held = session.machine.token, let identity = session.machine.identityID else {
      return refuse(.nothingHeld, id: request.id, client)
    }
    recordTokenGiven("developer", held.token.expiration, session, client)
    give(.token(held.token, of: identity), request, client)
  }

  private func givePoolToken(
    _ kind: TokenKind, of session: Session, _ request: Request, _ client: Client
  ) {
    let pool = session.machine.vendedSession
    guard let token = kind == .id ? pool?.idToken : pool?.accessToken else {
      return refuse(.nothingHeld, id: request.id, client)
    }
    if kind == .access, let error = session.profile.refusal(ofVending: token) {
      return refuse(error, id: request.id, client)
    }
    recordTokenGiven(kind.rawValue, token.expiration, session, client)
    give(.token(token, of: session.machine.identityID), request, client)
  }

  func giveState(of session: Session, to waiter: UInt64) {
    guard let client = clients[waiter], let waiting = client.waiting, waiting.session === session
    else { return }
    let request = waiting.request
    if let attempt = passwordAttempt(request, in: session) { passwordEnded(attempt, nil) }
    // The sign-in has happened, and is not made again.
    if asksAnew(waiter, in: session, for: .identity(profile: session.key.profile)) { return }
    endWait(client)
    giveState(of: session, request, client)
  }

  func refuse(_ waiter: UInt64, _ error: ProtocolError, _ session: Session) {
    guard let (client, request) = endWait(waiter, in: session) else { return }
    if let attempt = passwordAttempt(request, in: session) {
      passwordEnded(attempt, error.code)
    }
    if giveCheck(of: session, request, client, error) { return }
    // An upstream's words about the user are for that user alone.
    let isOwner = client.peer.uid == session.key.uid
    refuse(isOwner ? error : error.forOthers, id: request.id, client)
  }

  /// Nil if the client does not wait in this session: an answer never goes to another request.
  func endWait(_ waiter: UInt64, in session: Session) -> (Client, Request)? {
    guard let client = clients[waiter], let waiting = client.waiting, waiting.session === session
    else { return nil }
    endWait(client)
    return (client, waiting.request)
  }
}
