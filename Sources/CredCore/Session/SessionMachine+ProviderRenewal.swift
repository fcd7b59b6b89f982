/// Renewals that outlive the refresh that asked for them.
extension Refresh {
  /// Whether this refresh can use the outcome of a renewal that another refresh asked for.
  func takes(_ outcome: UpstreamOutcome, of renewal: ProviderRenewal) -> Bool {
    guard case .provider(let session) = method, session.refreshToken == renewal.token else {
      return false
    }
    if case .providerTokens = outcome { return true }
    // If there is an ID token, the refresh can go on without the pool.
    return session.idToken == nil
  }
}

extension ProviderSession {
  /// This sign-in with the refresh token of a renewal that ends after the session; unchanged if the
  /// renewal failed.
  public func continued(by outcome: UpstreamOutcome, at now: Instant) -> ProviderSession {
    switch outcome {
    case .providerTokens(let tokens, let serverTime) where isUser(of: tokens):
      renewed(tokens, serverTime: serverTime, received: now, keepsAccessToken: true)
    // The tokens are another user's: their sign-in must end too.
    case .providerTokens(let tokens, _): replacing(refreshToken: tokens.refresh ?? refreshToken)
    case .refreshTokenReplaced(let token, _): replacing(refreshToken: token)
    default: self
    }
  }

  /// The sign-in with the tokens that a renewal has shown to be alive: they are to be revoked
  /// unless a session keeps them. Nil if the renewal has shown nothing new.
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

  /// The renewal under way of a sign-in that is held, or that comes back if the sign-in under way
  /// is refused.
  var awaitedRenewal: ProviderRenewal? {
    guard let renewal else { return nil }
    return holds(renewal.token) ? renewal : nil
  }

  /// The state before the sign-in under way, restored if it is refused; nil once the sign-in is
  /// accepted.
  var formerHeld: Held? { signIn.flatMap { $0.isAccepted ? nil : $0.before } }

  /// The sign-ins at user pools and providers whose tokens the session has: its own, the linked
  /// one, and those that come back if the sign-in under way is refused.
  public var providerSessions: [ProviderSession] {
    var sessions = held.providerSessions
    for former in formerHeld?.providerSessions ?? []
    where !sessions.contains(where: { $0.refreshToken == former.refreshToken }) {
      sessions.append(former)
    }
    return sessions
  }

  /// Asks to revoke tokens that the session does not hold any more.
  func abandon(_ sessions: [ProviderSession], _ context: inout EventContext) {
    for session in sessions where !session.refreshToken.isEmpty && !holds(session.refreshToken) {
      context.actions.append(.abandon(session))
    }
  }

  /// Whether the session holds a refresh token of a user pool or a provider. An empty token belongs
  /// to no session.
  ///
  /// - Parameter withFormer: whether the tokens count that come back if the sign-in under way is
  ///   refused.
  public func holds(_ refreshToken: Secret, withFormer: Bool = true) -> Bool {
    guard !refreshToken.isEmpty else { return false }
    let former = withFormer ? formerHeld : nil
    return [held, former].contains { held in
      [held?.state.providerSession, held?.link].contains { $0?.refreshToken == refreshToken }
    }
  }

  /// Lets a refresh wait for the renewal under way, if there is one. A renewal of a linked sign-in
  /// delays only another renewal.
  ///
  /// - Returns: whether the refresh waits.
  mutating func waitsForRenewal(_ refresh: Refresh, before call: UpstreamCall) -> Bool {
    guard let renewal = awaitedRenewal, refresh.call != renewal.call,
      call.isRenewal || !isOfLink(renewal)
    else { return false }
    var refresh = refresh
    refresh.awaits(renewal.call, at: .awaitRenewal)
    work = .refreshing(refresh)
    return true
  }

  /// The renewal under way has ended, and no refresh waits for its tokens. They are kept, and a
  /// refresh that waited for the end of the renewal goes on.
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
    if case .provider = refresh.method, case .signedIn(let method) = held.state {
      refresh.method = method
    }
    startNextCall(refresh, &context)
  }

  /// Changes the sign-in that was renewed: the held one, and the one that comes back if the sign-in
  /// under way is refused.
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

  /// Changes the sign-in that has this refresh token: the session's own, or the linked one.
  fileprivate mutating func change(_ token: Secret, _ change: (ProviderSession) -> ProviderSession)
  {
    if case .signedIn(.provider(let session)) = state, session.refreshToken == token {
      state = .signedIn(.provider(change(session)))
    }
    if let link, link.refreshToken == token { self.link = change(link) }
  }
}
