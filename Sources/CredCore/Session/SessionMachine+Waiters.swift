extension SessionMachine {
  /// Answers each waiter that can be answered now, and each whose deadline has passed.
  ///
  /// - Parameter beforeRefresh: true before a refresh may start. Then nobody is refused, and a
  ///   waiter that prefers fresher credentials is not answered with valid ones yet.
  mutating func answerWaiters(_ context: inout EventContext, beforeRefresh: Bool) {
    // While a call is under way, a new request changes nothing for the waiters before it: only the
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
        if isGoodEnough(credentials, for: waiter, now) {
          if isBest { return .giveCredentials(waiter.id) }
          let waits = waitsForFresher(waiter) && now < waiter.acceptsStaleFrom
          if !beforeRefresh && !waits { return .giveCredentials(waiter.id) }
        }
        if let refusal = cannotBeMet(waiter, credentials, now) { return refusal }
      }
    case .token:
      if let token = held.token, isTokenAccepted {
        if isGoodEnough(token, for: waiter, now) { return .giveToken(waiter.id) }
        if let refusal = cannotBeMet(waiter, token, now) { return refusal }
      }
    case .idToken, .accessToken, .accountToken:
      if let token = poolToken(for: waiter.want) {
        if isGoodEnough(token, for: waiter, now) { return given(token, to: waiter) }
        if let refusal = cannotBeMet(waiter, token, now) { return refusal }
      }
    }
    return beforeRefresh ? nil : refusal(of: waiter, now).map { .refuse(waiter.id, $0) }
  }

  /// The held token of a user pool or provider that a waiter asks for.
  func poolToken(for want: Waiter.Want) -> HeldPoolToken? {
    guard let session = vendedSession else { return nil }
    return want == .idToken ? session.idToken : session.accessToken
  }

  private func given(_ token: HeldPoolToken, to waiter: Waiter) -> Action {
    guard waiter.want == .accountToken else { return .giveToken(waiter.id) }
    return .lendToken(waiter.id, token.token, isNew: waiter.mustRefresh)
  }

  // MARK: What a waiter accepts

  /// False until Cognito has accepted a token that a client brought.
  private var isTokenAccepted: Bool {
    guard let signIn, held.state == .signedIn(.developerToken) else { return true }
    return signIn.isAccepted || signIn.kind != .tokens
  }

  private func isGoodEnough(
    _ credentials: HeldCredentials, for waiter: Waiter, _ now: Instant
  ) -> Bool {
    if waiter.mustRefresh, !credentials.isAnew || credentials.received < waiter.arrived {
      return false
    }
    return waiter.minimumLife.map { credentials.expires - now >= $0 } ?? true
  }

  private func isGoodEnough(_ token: HeldToken, for waiter: Waiter, _ now: Instant) -> Bool {
    if let minimum = waiter.minimumLife, token.expires.map({ $0 - now < minimum }) ?? false {
      return false
    }
    if waiter.mustRefresh { return token.isAnew && token.received >= waiter.arrived }
    return token.received >= waiter.arrived || token.usableUntil > now
  }

  private func isGoodEnough(
    _ token: HeldPoolToken, for waiter: Waiter, _ now: Instant
  ) -> Bool {
    if let minimum = waiter.minimumLife, token.expires.map({ $0 - now < minimum }) ?? false {
      return false
    }
    if waiter.mustRefresh { return token.received >= waiter.arrived }
    return token.received >= waiter.arrived || token.usableUntil > now
  }

  /// Whether a waiter gives a refresh some time before it takes credentials that are merely valid.
  /// In a pause it does not: nothing fresher comes that soon.
  func waitsForFresher(_ waiter: Waiter) -> Bool {
    guard case .refreshing = work, waiter.want == .credentials, held.credentials != nil else {
      return false
    }
    return waiter.minimumLife == nil && !waiter.mustRefresh
  }

  // MARK: Refusals

  /// The refusal of a `min_ttl` that no refresh can meet.
  private func cannotBeMet(
    _ waiter: Waiter, _ credentials: HeldCredentials, _ now: Instant
  ) -> Action? {
    guard let minimum = waiter.minimumLife else { return nil }
    let isNew = credentials.received >= waiter.arrived
    // A forced refresh is carried out first: the role may allow a longer lifetime by now.
    let isTooShort =
      isNew ? credentials.expires - now < minimum : credentials.lifetime < minimum
    guard isTooShort, isNew || !waiter.mustRefresh else { return nil }
    return tooShort(waiter, minimum, "credentials of this profile last", credentials.lifetime)
  }

  private func cannotBeMet(
    _ waiter: Waiter, _ token: HeldToken, _ now: Instant
  ) -> Action? {
    guard let minimum = waiter.minimumLife, let lifetime = token.lifetime,
      token.received >= waiter.arrived
    else { return nil }
    return tooShort(waiter, minimum, "the backend's tokens last", lifetime)
  }

  private func cannotBeMet(
    _ waiter: Waiter, _ token: HeldPoolToken, _ now: Instant
  ) -> Action? {
    guard let minimum = waiter.minimumLife, let lifetime = token.lifetime,
      token.received >= waiter.arrived
    else { return nil }
    return tooShort(waiter, minimum, "the user pool's tokens last", lifetime)
  }

  private func tooShort(
    _ waiter: Waiter, _ minimum: Duration, _ what: String, _ lifetime: Duration
  ) -> Action {
    let message =
      "min_ttl asks for \(Int(minimum.inSeconds)) s, but \(what) \(Int(lifetime.inSeconds)) s"
    return .refuse(waiter.id, ProtocolError(.invalidRequest, message))
  }

  /// Why a waiter gets nothing; nil while it may still be answered.
  private func refusal(of waiter: Waiter, _ now: Instant) -> ProtocolError? {
    let isLate = waiter.deadline <= now
    if work != .idle || awaitsLinkRenewal(waiter) {
      guard isLate else { return nil }
      if lacksLink(waiter) { return signInRequired(for: waiter) }
      return ProtocolError(
        .timeout, "no answer from upstream yet; the refresh goes on", retryAfter: .seconds(1))
    }
    // A `login` may come before the deadline. Another one's account is not for this request.
    if needsSignIn(waiter) {
      return isLate || waiter.want == .accountToken ? signInRequired(for: waiter) : nil
    }
    guard let (pause, _) = pause(for: waiter) else {
      return isLate ? tooManyRequests(waiter, now) : nil
    }
    let isWorthWaiting = pause.failure.failureClass.isTransient && pause.until < waiter.deadline
    guard isLate || !isWorthWaiting else { return nil }
    var error = pause.failure.protocolError
    if error.retryAfter != nil { error.retryAfter = max(pause.callersFrom - now, .zero) }
    return error
  }

  /// For a caller that wants better than what just arrived and does not wait for the next refresh.
  private func tooManyRequests(_ waiter: Waiter, _ now: Instant) -> ProtocolError {
    ProtocolError(
      .tooManyRequests, "refreshed a moment ago", retryAfter: earliestStart(for: waiter) - now)
  }

  var signInRequired: ProtocolError {
    let reason =
      switch held.state {
      // The end of a refused token is dropped with the token, so this one expired.
      case .tokensInvalid(.developerToken) where !held.loginExpirations.ends.isEmpty:
        "the developer token has run out"
      case .tokensInvalid:
        reasonOfInvalidTokens
      case .signedOut(byUser: true): "signed out"
      case .signedIn: "this sign-in has no developer token"
      default: "nobody is signed in"
      }
    return ProtocolError(.signInRequired, reason)
  }

  private var reasonOfInvalidTokens: String {
    let reason = "the sign-in is no longer accepted"
    guard let failure = lastFailure?.failure else { return reason }
    // Such a failure says it by itself, and by whom.
    return failure.failureClass == .signInRequired
      ? failure.message : "\(reason): \(failure.message)"
  }
}

/// A request that could not be answered at once.
public struct Waiter: Sendable, Equatable {
  public enum Want: Sendable, Equatable {
    case credentials
    /// Of the backend, for a developer user.
    case token
    /// Of a user pool.
    case idToken
    case accessToken
    /// An access token for one request of the daemon's own about the account. It is lent when it
    /// arrives, and not kept for it.
    case accountToken

    /// Whether a user pool gives it.
    var isOfPool: Bool {
      switch self {
      case .credentials, .token: false
      case .idToken, .accessToken, .accountToken: true
      }
    }
  }

  /// The daemon gives it; unique as long as the daemon runs.
  public let id: UInt64
  public let want: Want
  /// The least remaining lifetime that the caller accepts.
  public let minimumLife: Duration?
  /// The caller accepts only what is received from now on.
  public let mustRefresh: Bool
  public let arrived: Instant
  /// When the caller is answered at the latest.
  public let deadline: Instant

  public init(
    id: UInt64, want: Want, minimumLife: Duration? = nil, mustRefresh: Bool = false,
    arrived: Instant, wait: Duration
  ) {
    self.id = id
    self.want = want
    self.minimumLife = minimumLife
    self.mustRefresh = mustRefresh
    self.arrived = arrived
    self.deadline = arrived + wait
  }

  /// Whether the caller wants better than what others are given.
  var isDemanding: Bool { mustRefresh || minimumLife != nil }

  /// From when on the caller accepts credentials that are merely valid.
  var acceptsStaleFrom: Instant { min(arrived + RefreshPolicy.grace, deadline) }
}
