/// Tokens of a linked sign-in that programs may have (`vend_tokens` beside `link_backend`).
///
/// A refresh for these tokens renews only the linked sign-in and does not ask the backend. Its
/// failures are the provider's, so they have a pause of their own: the session's credentials do not
/// wait for it.
extension SessionMachine {
  /// The last renewal of a linked sign-in, if it failed.
  struct LinkTrouble: Sendable, Equatable {
    var backOff: BackOff
    let pause: Pause
    let at: Instant
  }

  /// The sign-in whose tokens programs may have: the session's own, or the linked one. Nil if no
  /// user is signed in, and until the backend has accepted a new link.
  public var vendedSession: ProviderSession? {
    guard case .signedIn(let method) = held.state else { return nil }
    if case .provider(let session) = method { return session }
    return signIn?.isAccepted ?? true ? held.link : nil
  }

  /// Whether a waiter asks for a token of the linked sign-in.
  func wantsLinkToken(_ waiter: Waiter) -> Bool { plan.link != nil && waiter.want.isOfProvider }

  /// Whether only a renewal of the linked sign-in can answer a waiter.
  private func isServedByLink(_ waiter: Waiter) -> Bool {
    guard case .signedIn = held.state else { return false }
    return wantsLinkToken(waiter)
  }

  /// Whether a refresh can bring a token of the linked sign-in.
  func canRenewLink(_ waiter: Waiter) -> Bool {
    wantsLinkToken(waiter) && !(held.link?.refreshToken.isEmpty ?? true)
  }

  /// Whether a renewal that will answer the waiter is under way without a refresh.
  func awaitsLinkRenewal(_ waiter: Waiter) -> Bool {
    linkRenewal != nil && isServedByLink(waiter)
  }

  /// The pause that a failure imposes on what the waiter asks for.
  func pause(for waiter: Waiter) -> (pause: Pause, since: Instant?)? {
    guard isServedByLink(waiter) else { return held.pause.map { ($0, lastFailure?.at) } }
    return linkTrouble.map { ($0.pause, $0.at) }
  }

  /// The goal of a refresh that starts now.
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

  /// Whether only a sign-in at the provider can help a waiter, however the refresh under way ends.
  func lacksLink(_ waiter: Waiter) -> Bool {
    wantsLinkToken(waiter) && isBackendsUser && !canRenewLink(waiter) && signIn?.kind != .provider
  }

  /// Ends a refresh that was only for the linked sign-in.
  mutating func linkRefreshEnded() { work = .idle }

  /// Counts a failed renewal of the linked sign-in.
  mutating func noteLinkFailure(_ failure: UpstreamFailure, _ context: EventContext) {
    var backOff = linkTrouble?.backOff ?? BackOff()
    let pause = backOff.failed(failure.failureClass, jitter: context.jitter)
    linkTrouble = LinkTrouble(
      backOff: backOff, pause: Pause(failure, now: context.now, pause: pause), at: context.now)
  }

  /// The refusal of a waiter that only a sign-in can help.
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
  /// Whether it only renews the linked sign-in, and does not ask the backend.
  var isForLink: Bool { goal.isOfProvider }
}
