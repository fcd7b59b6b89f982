/// Sessions of profiles that give a provider's tokens, and no credentials. A refresh is a renewal of the
/// tokens, and nothing follows.
extension SessionMachine {
  /// What a refresh is for where nobody says it.
  var usualGoal: Waiter.Want { plan.product == .tokens ? .token : .credentials }

  /// Whether a refresh has nothing to ask for: after a sign-in its tokens are there.
  func isComplete(_ refresh: Refresh) -> Bool {
    guard plan.product == .tokens, case .provider(let session) = tokenSource else { return false }
    return session.idToken != nil
  }

  /// Whether a refresh renews tokens that may be usable still: all but that of a sign-in.
  var renewsUsableTokens: Bool { plan.product == .tokens && signIn == nil }

  /// Whether a refresh is possible in this state.
  var canRefresh: Bool {
    guard let tokenSource else { return false }
    guard plan.product == .tokens, case .provider(let session) = tokenSource else { return true }
    return !session.servesToItsEnd
  }

  /// Whether the session of a user can be renewed now, or is being renewed.
  public var mayRenew: Bool {
    if case .signedOut = held.state { return isBusy }
    return canRefresh || signIn != nil || work != .idle || awaitedRenewal != nil
  }

  /// Whether nobody is signed in, and the next request signs in without a `login`.
  public var signsInByItself: Bool {
    if case .signedOut = held.state { canRefresh } else { false }
  }

  /// Announces renewed tokens, where they are what the profile gives.
  mutating func announceTokens(_ session: ProviderSession, _ context: inout EventContext) {
    guard plan.product == .tokens, let expiration = session.idToken?.expiration else { return }
    refreshCount += 1
    context.actions.append(.announce(.refreshed(expiration: expiration)))
  }

  /// When what the profile gives expires, by those who gave it; nil where the session has nothing to give.
  public var expiration: WallTime? {
    plan.product == .tokens
      ? held.state.providerSession?.idToken?.expiration : held.credentials?.credentials.expiration
  }

  /// When it came.
  public var received: Instant? { held.renewed(plan)?.received }

  /// When it is renewed if it is in use.
  public var refreshAt: Instant? {
    let planned = held.renewed(plan)?.at
    return isBehindSource ? planned.map { min($0, source?.received ?? $0) } : planned
  }
}

extension Held {
  /// When the credentials came and are renewed, or the tokens where a profile gives them alone. Nil
  /// where nothing is held. `at` is nil where nobody knows the end of the tokens, or where it is too near:
  /// then they are renewed only for a client that asks. It is nil, too, where nothing renews them.
  func renewed(_ plan: SessionPlan) -> (received: Instant, at: Instant?)? {
    guard plan.product == .tokens else { return credentials.map { ($0.received, $0.refreshAt) } }
    guard case .signedIn(.provider(let session)) = state, let idToken = session.idToken else {
      return nil
    }
    guard !session.servesToItsEnd else { return (idToken.received, nil) }
    let times = [idToken, session.accessToken].compactMap { $0?.refreshAt }
    return (idToken.received, times.min())
  }
}

extension HeldProviderToken {
  /// When it is renewed ahead of its end, as credentials are; not sooner than a client may ask for it. Nil
  /// where its lifetime is unknown, and where a client may ask for the next one only after its end. An
  /// access token whose provider states no lifetime counts as such a one.
  fileprivate var refreshAt: Instant? {
    guard let lifetime, lifetime > Limits.User.providerDemandInterval else { return nil }
    // The last digits of its arrival spread tokens that came together.
    let jitter = Double(received.nanoseconds.magnitude % 1000) / 1000
    let start = max(
      RefreshPolicy.refreshTime(received: received, lifetime: lifetime, jitter: jitter),
      received + Limits.User.providerDemandInterval)
    return max(start, renewedFrom ?? start)
  }
}
