/// A renewal at a user pool or a provider outlives the refresh that asked for it: where refresh tokens
/// are rotated, its outcome alone has the next one. A `clear`, a sign-in or another profile ends the
/// refresh; the session then takes the tokens all the same, and asks for nothing else meanwhile.
struct ProviderRenewal: Sendable, Equatable {
  let call: CallID
  /// The refresh token that was sent.
  let token: Secret
  let started: Instant
}

extension Refresh {
  /// Whether a renewal that another refresh asked for is the one that this one would ask for.
  func takes(_ outcome: UpstreamOutcome, of renewal: ProviderRenewal) -> Bool {
    guard case .provider(let session) = method, session.refreshToken == renewal.token else {
      return false
    }
    if case .providerTokens = outcome { return true }
    // With an ID token it can go on without the pool.
    return session.idToken == nil
  }
}

extension ProviderSession {
  /// With the refresh token of a renewal that ends after the session; the same where it failed.
  public func continued(by outcome: UpstreamOutcome, at now: Instant) -> ProviderSession {
    switch outcome {
    case .providerTokens(let tokens, let serverTime) where isUser(of: tokens):
      renewed(tokens, serverTime: serverTime, received: now, keepsAccessToken: true)
    // Another user's: it is to end too.
    case .providerTokens(let tokens, _): replacing(refreshToken: tokens.refresh ?? refreshToken)
    case .refreshTokenReplaced(let token, _): replacing(refreshToken: token)
    default: self
    }
  }

  /// What a renewal has shown to live, and what is to be revoked unless a session keeps it; nil where it
  /// has shown nothing new.
  public func shown(by outcome: UpstreamOutcome, at now: Instant) -> ProviderSession? {
    if case .providerTokens(let tokens, _) = outcome, isUser(of: tokens), tokens.refresh == nil {
      return nil
    }
    switch outcome {
    case .providerTokens, .refreshTokenReplaced: return continued(by: outcome, at: now)
    default: return nil
    }
  }
}

extension SessionMachine {
  /// The call of the renewal that is under way, of its own sign-in or of the linked one.
  public var renewalCall: CallID? { awaitedRenewal?.call }

  /// The renewal under way of the session that is held, or that a refused sign-in goes back to.
  var awaitedRenewal: ProviderRenewal? {
    guard let renewal else { return nil }
    return holds(renewal.token) ? renewal : nil
  }

  /// What a refused sign-in goes back to. After an accepted one nothing goes back.
  var formerHeld: Held? { signIn.flatMap { $0.isAccepted ? nil : $0.before } }

  /// The sign-ins at user pools and providers whose tokens it has: its own, the one that is linked, and
  /// those that a refused sign-in goes back to.
  public var providerSessions: [ProviderSession] {
    var sessions = held.providerSessions
    for former in formerHeld?.providerSessions ?? []
    where !sessions.contains(where: { $0.refreshToken == former.refreshToken }) {
      sessions.append(former)
    }
    return sessions
  }

  /// Has tokens revoked that it does not hold any more.
  func abandon(_ sessions: [ProviderSession], _ context: inout EventContext) {
    for session in sessions where !session.refreshToken.isEmpty && !holds(session.refreshToken) {
      context.actions.append(.abandon(session))
    }
  }

  /// Whether a refresh token of a user pool or a provider is the session's. A sign-in that brought none
  /// is known by none.
  ///
  /// - Parameter withFormer: whether that of the session counts to which a refused sign-in goes back.
  public func holds(_ refreshToken: Secret, withFormer: Bool = true) -> Bool {
    guard !refreshToken.isEmpty else { return false }
    let former = withFormer ? formerHeld : nil
    return [held, former].contains { held in
      [held?.state.providerSession, held?.link].contains { $0?.refreshToken == refreshToken }
    }
  }

  /// Lets a refresh wait for the renewal under way, if there is one. That of a linked sign-in holds up
  /// another renewal alone.
  ///
  /// - Returns: whether it waits.
  mutating func waitsForRenewal(_ refresh: Refresh, before call: UpstreamCall) -> Bool {
    guard let renewal = awaitedRenewal, refresh.call != renewal.call,
      call.isRenewal || !isOfLink(renewal)
    else { return false }
    var refresh = refresh
    refresh.call = renewal.call
    refresh.isAfterRenewal = true
    refresh.provesLogin = false
    work = .refreshing(refresh)
    return true
  }

  /// The renewal under way has ended. No refresh waits for its tokens: they are kept, and a refresh
  /// that waited for its end goes on.
  mutating func renewalEnded(
    _ renewal: ProviderRenewal, _ outcome: UpstreamOutcome, _ context: inout EventContext
  ) {
    switch outcome {
    case _ where held.link?.refreshToken == renewal.token: takeLinkRenewal(outcome, &context)
    case .providerTokens(let tokens, let serverTime):
      let keepsAccessToken = plan.keepsAccessToken
      keep(of: renewal) { session in
        guard session.isUser(of: tokens) else { return session }
        return session.renewed(
          tokens, serverTime: serverTime, received: context.now,
          keepsAccessToken: keepsAccessToken)
      }
    case .refreshTokenReplaced(let token, _):
      keep(of: renewal) { $0.replacing(refreshToken: token) }
    default: break
    }
    guard case .refreshing(var refresh) = work, refresh.call == renewal.call else { return }
    refresh.isAfterRenewal = false
    if case .provider = refresh.method, case .signedIn(let method) = held.state {
      refresh.method = method
    }
    startNextCall(refresh, &context)
  }

  /// Changes the session whose renewal it was, as it is held and as a refused sign-in goes back to it.
  private mutating func keep(
    of renewal: ProviderRenewal, _ change: (ProviderSession) -> ProviderSession
  ) {
    held.change(renewal.token, change)
    if formerHeld != nil { signIn?.before.change(renewal.token, change) }
  }
}

extension Held {
  /// Its own sign-in at a user pool or provider, and the one that is linked.
  var providerSessions: [ProviderSession] { [state.providerSession, link].compactMap(\.self) }

  /// Changes the session with a refresh token: its own, or the one that is linked.
  fileprivate mutating func change(_ token: Secret, _ change: (ProviderSession) -> ProviderSession)
  {
    if case .signedIn(.provider(let session)) = state, session.refreshToken == token {
      state = .signedIn(.provider(change(session)))
    }
    if let link, link.refreshToken == token { self.link = change(link) }
  }
}
