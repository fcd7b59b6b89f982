/// Tokens of a linked sign-in that programs may have (`vend_tokens` beside `link_backend`).
///
/// A refresh for them renews the linked sign-in alone: the backend is not asked. Its failures are the
/// provider's own, so they have a pause of their own, and the session's credentials do not wait for it.
extension SessionMachine {
  /// What is known of the last renewal of a linked sign-in, if it failed.
  struct LinkTrouble: Sendable, Equatable {
    var backOff: BackOff
    let pause: Pause
    let at: Instant
  }

  /// The sign-in whose tokens programs may have: the session's own, or the linked one. Nil while nobody
  /// is signed in, and until the backend has accepted a new link.
  public var vendedSession: ProviderSession? {
    guard case .signedIn(let method) = held.state else { return nil }
    if case .provider(let session) = method { return session }
    return signIn?.isAccepted ?? true ? held.link : nil
  }

  /// Whether a waiter asks for a token of the linked sign-in.
  func wantsLinkToken(_ waiter: Waiter) -> Bool { plan.link != nil && waiter.want.isOfProvider }

  /// Whether a renewal of the linked sign-in, and nothing else, answers a waiter.
  private func isServedByLink(_ waiter: Waiter) -> Bool {
    guard case .signedIn = held.state else { return false }
    return wantsLinkToken(waiter)
  }

  /// Whether a refresh can bring a token of the linked sign-in.
  func canRenewLink(_ waiter: Waiter) -> Bool {
    wantsLinkToken(waiter) && !(held.link?.refreshToken.isEmpty ?? true)
  }

  /// Whether the renewal that answers a waiter is under way, though no refresh waits for it.
  func awaitsLinkRenewal(_ waiter: Waiter) -> Bool {
    linkRenewal != nil && isServedByLink(waiter)
  }

  /// The pause after a failure for what a waiter asks.
  func pause(for waiter: Waiter) -> (pause: Pause, since: Instant?)? {
    guard isServedByLink(waiter) else { return held.pause.map { ($0, lastFailure?.at) } }
    return linkTrouble.map { ($0.pause, $0.at) }
  }

  /// What a refresh that starts now is for.
  func nextGoal(_ now: Instant) -> Waiter.Want {
    let served = waiters.filter { isServedByRefresh($0) && !awaitsLinkRenewal($0) }
    guard signIn == nil, !served.isEmpty else { return usualGoal }
    // Whoever waits for the backend has its pause, which a token of the link does not end.
    let due = served.filter { isDue($0, now) }
    if !due.isEmpty, due.allSatisfy(isServedByLink) { return .idToken }
    let others = served.filter { !isServedByLink($0) }
    // The credentials may be due, and who waits for a token may have to wait on.
    return others.isEmpty || others.contains { $0.want == .credentials } ? usualGoal : .token
  }

  /// Whether nothing but a sign-in at the provider helps a waiter, whatever comes of the refresh that is
  /// under way.
  func lacksLink(_ waiter: Waiter) -> Bool {
    wantsLinkToken(waiter) && isBackendsUser && !canRenewLink(waiter) && signIn?.kind != .provider
  }

  /// Ends a refresh that was for the linked sign-in alone.
  mutating func linkRefreshEnded() { work = .idle }

  /// Counts a failed renewal of the linked sign-in.
  mutating func noteLinkFailure(_ failure: UpstreamFailure, _ context: EventContext) {
    var backOff = linkTrouble?.backOff ?? BackOff()
    let pause = backOff.failed(failure.failureClass, jitter: context.jitter)
    linkTrouble = LinkTrouble(
      backOff: backOff, pause: Pause(failure, now: context.now, pause: pause), at: context.now)
  }

  /// Why a waiter that only a sign-in can help gets nothing.
  func signInRequired(for waiter: Waiter) -> ProtocolError {
    guard wantsLinkToken(waiter), let issuer = plan.link, isBackendsUser else {
      return signInRequired
    }
    let place = issuer.loginsKey.quoted
    guard let link = held.link else {
      return ProtocolError(
        .signInRequired, "no account at \(place) is linked to this session: sign in there")
    }
    return ProtocolError(
      .signInRequired,
      "the linked sign-in of \(link.username.quoted) at \(place) has run out, and nothing renews it: "
        + "sign in there again")
  }

  /// Whether the user needs no sign-in at the backend.
  private var isBackendsUser: Bool {
    switch held.state {
    case .signedIn: true
    case .signedOut(byUser: false), .guest: plan.backend == .host
    case .signedOut(byUser: true), .tokensInvalid: false
    }
  }
}

extension Refresh {
  /// Whether it renews the linked sign-in, and asks the backend for nothing.
  var isForLink: Bool { goal.isOfProvider }
}
