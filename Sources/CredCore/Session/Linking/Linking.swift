/// The sign-in at a provider that is linked to the user whom the backend vouches for (`link_backend`).
///
/// The session belongs to the backend. Beside it stands the sign-in at the provider: its fresh ID
/// token goes into each callback, and the backend links it. If the provider does not answer, or has
/// ended its sign-in, the callback goes without the token: the identity is the user's already.
///
/// Programs may have the tokens of the linked sign-in (`vend_tokens` beside `link_backend`). A refresh
/// for these tokens renews only the linked sign-in and does not ask the backend. Its failures are the
/// provider's, so they have a pause of their own: the session's credentials do not wait for it.
struct Linking: Sendable {
  let plan: SessionPlan
  let state: SignInState
  /// The linked sign-in; nil if there is none.
  private(set) var session: ProviderSession?
  /// The one from before the sign-in under way.
  private(set) var former: ProviderSession?
  /// Its last renewal, if that failed.
  private(set) var trouble: FailedRenewal?
  /// The renewal of the linked sign-in that is under way.
  let renewal: ProviderRenewal?
  /// Whether a sign-in at a provider is under way.
  let isSigningIn: Bool

  // MARK: For those who want its tokens

  /// Whether a waiter asks for a token of the linked sign-in.
  func isAsked(by waiter: Waiter) -> Bool { plan.link != nil && waiter.want.isOfProvider }

  /// Whether only a renewal of the linked sign-in can answer a waiter.
  func serves(_ waiter: Waiter) -> Bool {
    if case .signedIn = state { isAsked(by: waiter) } else { false }
  }

  /// Whether a refresh can bring a token of the linked sign-in.
  func canRenew(for waiter: Waiter) -> Bool {
    isAsked(by: waiter) && !(session?.refreshToken.isEmpty ?? true)
  }

  /// Whether a renewal that will answer the waiter is under way without a refresh.
  func isRenewed(for waiter: Waiter) -> Bool { renewal != nil && serves(waiter) }

  /// Whether only a sign-in at the provider can help a waiter, however the refresh under way ends.
  func isMissed(by waiter: Waiter) -> Bool {
    isAsked(by: waiter) && isBackendsUser && !canRenew(for: waiter) && !isSigningIn
  }

  /// Why a sign-in at the provider must help a waiter; nil if it is not the linked one that lacks.
  func refusal(of waiter: Waiter) -> ProtocolError? {
    guard isAsked(by: waiter), let issuer = plan.link, isBackendsUser else { return nil }
    let place = issuer.loginsKey.quoted
    guard let session else {
      return ProtocolError(
        .signInRequired, "no account at \(place) is linked to this session: sign in there")
    }
    return ProtocolError(
      .signInRequired,
      "the linked sign-in of \(session.username.quoted) at \(place) has run out, and nothing renews it: "
        + "sign in there again")
  }

  /// Whether the user needs no sign-in at the backend.
  private var isBackendsUser: Bool {
    switch state {
    case .signedIn: true
    case .signedOut(byUser: false), .guest: plan.backend == .host
    case .signedOut(byUser: true), .tokensInvalid: false
    }
  }

  // MARK: For callbacks

  /// The linked sign-in, if a callback needs a new ID token of it first.
  func toRenew(before refresh: Refresh, _ now: Instant) -> ProviderSession? {
    guard !refresh.done.contains(.triedLink), let session, !session.refreshToken.isEmpty,
      !(session.idToken?.isUsable(now) ?? false)
    else { return nil }
    // The renewal has just failed: a callback does not wait for a second attempt.
    if let trouble, now < trouble.pause.callersFrom { return nil }
    if let renewal, now >= renewal.started + RefreshPolicy.linkGrace { return nil }
    return session
  }

  /// Until when a refresh waits for the renewal of the linked sign-in; nil if this one does not.
  func graceEnd(of refresh: Refresh) -> Instant? {
    guard let renewal, refresh.call == renewal.call else { return nil }
    return renewal.started + RefreshPolicy.linkGrace
  }
}

// MARK: - Changes

extension Linking {
  /// Takes the result of a renewal.
  ///
  /// - Parameter jitter: uniform in `0..<1`.
  /// - Returns: what the user is told if the linked sign-in has ended.
  mutating func take(
    _ outcome: UpstreamOutcome, _ now: Instant, jitter: Double
  ) -> ProtocolError? {
    switch outcome {
    case .providerTokens(let tokens, let serverTime):
      guard let session, session.isUser(of: tokens) else {
        return end(UpstreamFailure.tokensOfAnotherUser.message)
      }
      let renewed = session.renewed(
        tokens, serverTime: serverTime, received: now, keepsAccessToken: plan.keepsAccessToken)
      replace(by: renewed)
      trouble = nil
      if let lifetime = renewed.idToken?.lifetime, lifetime <= .zero {
        note(.tokenExpired, now, jitter)
      }
    case .refreshTokenReplaced(let token, let failure):
      if let session { replace(by: session.replacing(refreshToken: token)) }
      return failed(failure, now, jitter)
    case .failed(let failure): return failed(failure, now, jitter)
    case .signedIn, .fileToken, .token, .identity, .credentials, .sourceRenewed, .derived: break
    }
    return nil
  }

  /// If the provider does not answer, nothing ends: the next callback tries again.
  private mutating func failed(
    _ failure: UpstreamFailure, _ now: Instant, _ jitter: Double
  ) -> ProtocolError? {
    if failure.failureClass == .signInRequired { return end(failure.message) }
    note(failure, now, jitter)
    return nil
  }

  private mutating func note(_ failure: UpstreamFailure, _ now: Instant, _ jitter: Double) {
    var backOff = trouble?.backOff ?? BackOff()
    let pause = backOff.failed(failure.failureClass, jitter: jitter)
    trouble = FailedRenewal(backOff, Pause(failure, now: now, pause: pause), at: now)
  }

  /// Ends the link. If the sign-in under way is refused, that must not bring the dead token back.
  ///
  /// - Returns: what the user is told.
  mutating func end(_ reason: String) -> ProtocolError {
    let name = session?.username ?? ""
    if let session {
      if former?.refreshToken == session.refreshToken { former = nil }
      self.session = nil
      trouble = nil
    }
    return ProtocolError(
      .signInRequired,
      "the linked sign-in of \(name.quoted) has ended: \(reason); the session goes on "
        + "without it, and a new sign-in links it again")
  }

  /// The former refresh token may be dead, so a refused sign-in restores this one.
  mutating func replace(by next: ProviderSession) {
    if let former, former.refreshToken == session?.refreshToken { self.former = next }
    session = next
  }

  /// Tokens of a provider go to no other provider, and to no other address.
  ///
  /// - Parameter issuer: where they may go; nil for nowhere.
  /// - Returns: the sign-ins that are left.
  mutating func leave(unlessOf issuer: ProviderIssuer?) -> [ProviderSession] {
    var left: [ProviderSession] = []
    for link in [session, former].compactMap(\.self)
    where link.issuer != issuer && !left.contains(where: { $0.refreshToken == link.refreshToken }) {
      left.append(link)
    }
    if session.map({ $0.issuer != issuer }) ?? false { session = nil }
    if former.map({ $0.issuer != issuer }) ?? false { former = nil }
    return left
  }
}
