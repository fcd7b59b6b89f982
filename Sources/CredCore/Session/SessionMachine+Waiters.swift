extension SessionMachine {
  /// Answers each waiter that can be answered now, and each whose deadline has passed.
  ///
  /// - Parameter beforeRefresh: true before a refresh may start. Then no waiter is refused, and a
  ///   waiter that prefers fresher credentials does not get older valid ones yet.
  mutating func answerWaiters(_ context: inout EventContext, beforeRefresh: Bool) {
    // While a call is under way, a new request changes nothing for earlier waiters: only the
    // outcome or a deadline does, and both are events of their own.
    let start = work != .idle ? context.firstToAnswer : 0
    let first = waiters[start...].firstIndex { answer(to: $0, context.now, beforeRefresh) != nil }
    guard let first else { return }
    var waiting = Array(waiters[..<first])
    for waiter in waiters[first...] {
      if let action = answer(to: waiter, context.now, beforeRefresh) {
        context.actions.append(action)
      } else {
        waiting.append(waiter)
      }
    }
    waiters = waiting
  }

  private func answer(to waiter: Waiter, _ now: Instant, _ beforeRefresh: Bool) -> Action? {
    switch waiter.want {
    case .credentials:
      if let credentials = held.credentials, credentials.servableUntil > now {
        let isBest = credentials.freshUntil > now || waiter.minimumLife != nil
        var offer = Waiter.Offer(credentials)
        offer.nextLifetime = nextLifetime
        if waiter.accepts(offer, now) {
          if isBest { return .giveCredentials(waiter.id) }
          let waits = waitsForFresher(waiter) && now < waiter.acceptsStaleFrom
          if !beforeRefresh && !waits { return .giveCredentials(waiter.id) }
        }
        if let error = waiter.demandsTooMuch(of: offer, now) { return .refuse(waiter.id, error) }
      }
    case .token:
      if let token = held.token, isTokenAccepted {
        let offer = Waiter.Offer(token)
        if waiter.accepts(offer, now) { return .giveToken(waiter.id) }
        if let error = waiter.demandsTooMuch(of: offer, now) { return .refuse(waiter.id, error) }
      }
    case .idToken, .accessToken, .accountToken:
      if let token = providerToken(for: waiter.want) {
        let offer = Waiter.Offer(token)
        if waiter.accepts(offer, now) { return given(token, to: waiter) }
        if let error = waiter.demandsTooMuch(of: offer, now) { return .refuse(waiter.id, error) }
      }
    }
    return beforeRefresh ? nil : refusal(of: waiter, now).map { .refuse(waiter.id, $0) }
  }

  /// The held token of a user pool or provider that a waiter asks for.
  func providerToken(for want: Waiter.Want) -> HeldProviderToken? {
    guard let session = vendedSession else { return nil }
    return want == .idToken ? session.idToken : session.accessToken
  }

  private func given(_ token: HeldProviderToken, to waiter: Waiter) -> Action {
    guard waiter.want == .accountToken else { return .giveToken(waiter.id) }
    return .lendToken(waiter.id, token.token, isNew: waiter.mustRefresh)
  }

  // MARK: What a waiter accepts

  /// False if a client brought the token and Cognito has not accepted it yet.
  private var isTokenAccepted: Bool {
    guard let signIn, held.state == .signedIn(.developerToken) else { return true }
    return signIn.isAccepted || signIn.kind != .tokens
  }

  /// Whether a waiter waits some time for a refresh before it takes credentials that are merely
  /// valid. In a pause it does not: nothing fresher comes soon.
  func waitsForFresher(_ waiter: Waiter) -> Bool {
    guard case .refreshing = work, waiter.want == .credentials, held.credentials != nil else {
      return false
    }
    return waiter.minimumLife == nil && !waiter.mustRefresh
  }

  // MARK: Refusals

  /// Why a waiter gets nothing; nil while it may still be answered.
  private func refusal(of waiter: Waiter, _ now: Instant) -> ProtocolError? {
    let isLate = waiter.deadline <= now
    // The profile gave some until it was changed.
    if plan.product == .tokens, waiter.want == .credentials { return .givesNoCredentials }
    let linking = linking
    if work != .idle || linking.isRenewed(for: waiter) {
      guard isLate else { return nil }
      if linking.isMissed(by: waiter) { return signInRequired(for: waiter) }
      if let error = refusalWhileSourceIsAsked(waiter) { return error }
      return .noAnswerYet(after: lastFailure?.failure)
    }
    // A `login` may come before the deadline. But if another user signs in, this request must not
    // act on that user's account.
    if needsSignIn(waiter) {
      let mayWait = !isLate && !waiter.triesOnce && waiter.want != .accountToken
      return mayWait ? nil : signInRequired(for: waiter)
    }
    guard let (pause, failed) = pause(for: waiter) else {
      return isLate ? tooManyRequests(waiter, now) : nil
    }
    let isTried = waiter.triesOnce && failed.map { $0 >= waiter.arrived } ?? false
    let isWorthWaiting =
      !isTried && pause.failure.failureClass.isTransient && pause.until < waiter.deadline
    guard isLate || !isWorthWaiting else { return nil }
    var error = pause.failure.protocolError
    if error.retryAfter != nil { error.retryAfter = max(pause.callersFrom - now, .zero) }
    return error
  }

  /// The refusal of a caller that does not accept what just arrived, and does not wait for the next
  /// refresh.
  private func tooManyRequests(_ waiter: Waiter, _ now: Instant) -> ProtocolError {
    ProtocolError(
      .tooManyRequests, "refreshed a moment ago", retryAfter: earliestStart(for: waiter) - now)
  }

  /// The refusal of a waiter that only a sign-in can help.
  func signInRequired(for waiter: Waiter) -> ProtocolError {
    linking.refusal(of: waiter) ?? signInRequired
  }

  var signInRequired: ProtocolError {
    guard !plan.followsSource else {
      return ProtocolError(.signInRequired, source?.refusal ?? "nobody is signed in")
    }
    return held.signInRequired(after: lastFailure?.failure)
  }
}

extension ProtocolError {
  /// - Parameter failure: the last failure since the last success. It says more than that this try goes on.
  fileprivate static func noAnswerYet(after failure: UpstreamFailure?) -> ProtocolError {
    let text = "no answer from upstream yet; the refresh goes on"
    var error = ProtocolError(.timeout, text, retryAfter: .seconds(1))
    guard let failure else { return error }
    let before = "\(text); the try before failed: "
    error.message = before + failure.message
    if failure.summary != failure.message { error.messageForOthers = before + failure.summary }
    return error
  }

  static let givesNoCredentials = ProtocolError(
    .invalidRequest,
    "the profile has no identity pool any more, and gives no credentials: ask for a token")
}

extension Held {
  /// Why only a sign-in helps.
  ///
  /// - Parameter failure: the last failure since the last success.
  fileprivate func signInRequired(after failure: UpstreamFailure?) -> ProtocolError {
    let reason =
      switch state {
      // When a token is refused, its end is dropped with it. Here the end is known, so the token
      // has expired.
      case .tokensInvalid(.developerToken) where !loginExpirations.ends.isEmpty:
        "the developer token has run out"
      case .tokensInvalid(.logins) where !loginExpirations.ends.isEmpty:
        "the token of \(loginExpirations.ends.keys.sorted().joined(separator: " and ")) has run out: sign in again"
      case .tokensInvalid(.provider(let session)) where session.neverRenews:
        "the provider\(FailureTable.noRefreshToken.message)"
      case .tokensInvalid:
        Self.reasonOfInvalidTokens(failure)
      case .signedOut(byUser: true): "signed out"
      case .signedIn(.provider(let session)) where session.refreshToken.isEmpty:
        "the provider gave no refresh token, so nothing renews what is held: sign in again"
      case .signedIn: "this sign-in has no developer token"
      default: "nobody is signed in"
      }
    return ProtocolError(.signInRequired, reason)
  }

  private static func reasonOfInvalidTokens(_ failure: UpstreamFailure?) -> String {
    let reason = "the sign-in is no longer accepted"
    guard let failure else { return reason }
    // The message of such a failure says already that a sign-in is needed, and where.
    return failure.failureClass == .signInRequired
      ? failure.message : "\(reason): \(failure.message)"
  }
}
