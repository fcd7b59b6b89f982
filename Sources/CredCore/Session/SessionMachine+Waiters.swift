extension SessionMachine {
  /// Answers everyone who can be answered now, and everyone whose time is up.
  ///
  /// - Parameter holdingOut: before a refresh could start, when those who would rather have
  ///   something better keep waiting.
  mutating func settleWaiters(_ turn: inout Turn, holdingOut: Bool) {
    // While a call is under way only its outcome changes what those before could hope for, and a
    // deadline is an event of its own: who comes then costs no look at all who wait.
    let start = awaitedCall != nil ? turn.firstToSettle : 0
    let first = waiters[start...].firstIndex { answer(to: $0, turn.now, holdingOut) != nil }
    guard let first else { return }
    var waiting = Array(waiters[..<first])
    for waiter in waiters[first...] {
      if let action = answer(to: waiter, turn.now, holdingOut) {
        turn.actions.append(action)
      } else {
        waiting.append(waiter)
      }
    }
    waiters = waiting
  }

  private func answer(to waiter: Waiter, _ now: Instant, _ holdingOut: Bool) -> Action? {
    switch waiter.want {
    case .credentials:
      if let credentials = held.credentials, credentials.servableUntil > now {
        let isBest = credentials.freshUntil > now || waiter.minimumLife != nil
        if isGoodEnough(credentials, for: waiter, now) {
          if isBest { return .giveCredentials(waiter.id) }
          let holdsOut = holdingOut || (holdsOut(waiter) && now < waiter.patience)
          if !holdsOut { return .giveCredentials(waiter.id) }
        }
        if let refusal = impossible(waiter, credentials, now) { return refusal }
      }
    case .token:
      if let token = held.token, isProven {
        if isGoodEnough(token, for: waiter, now) { return .giveToken(waiter.id) }
        if let refusal = impossible(waiter, token, now) { return refusal }
      }
    }
    return holdingOut ? nil : refusal(of: waiter, now).map { .refuse(waiter.id, $0) }
  }

  // MARK: What will do

  /// Not while Cognito is being asked what it says of a client's token.
  private var isProven: Bool {
    guard let signIn, held.state == .signedIn(.developerToken) else { return true }
    return signIn.isAccepted || signIn.way != .tokens
  }

  private func isGoodEnough(
    _ credentials: HeldCredentials, for waiter: Waiter, _ now: Instant
  ) -> Bool {
    if waiter.mustRefresh && credentials.received < waiter.arrived { return false }
    return waiter.minimumLife.map { credentials.expires - now >= $0 } ?? true
  }

  private func isGoodEnough(_ token: HeldToken, for waiter: Waiter, _ now: Instant) -> Bool {
    if let minimum = waiter.minimumLife, token.expires.map({ $0 - now < minimum }) ?? false {
      return false
    }
    if token.received >= waiter.arrived { return true }
    return !waiter.mustRefresh && token.usableUntil > now
  }

  /// Whether a waiter is left with credentials that are merely still valid, while better ones are
  /// being fetched. In a pause after a failure nothing better will come in two seconds.
  func holdsOut(_ waiter: Waiter) -> Bool {
    guard case .fetching = work, waiter.want == .credentials, held.credentials != nil else {
      return false
    }
    return waiter.minimumLife == nil && !waiter.mustRefresh
  }

  // MARK: Refusals

  /// A wish that no refresh can fulfil.
  private func impossible(
    _ waiter: Waiter, _ credentials: HeldCredentials, _ now: Instant
  ) -> Action? {
    guard let minimum = waiter.minimumLife else { return nil }
    let isNew = credentials.received >= waiter.arrived
    // Who forces a refresh wants to see what it brings: the role may allow more by now.
    let isTooShort =
      isNew ? credentials.expires - now < minimum : credentials.lifetime < minimum
    guard isTooShort, isNew || !waiter.mustRefresh else { return nil }
    return tooShort(waiter, minimum, "credentials of this profile last", credentials.lifetime)
  }

  private func impossible(
    _ waiter: Waiter, _ token: HeldToken, _ now: Instant
  ) -> Action? {
    guard let minimum = waiter.minimumLife, let lifetime = token.lifetime,
      token.received >= waiter.arrived
    else { return nil }
    return tooShort(waiter, minimum, "the backend's tokens last", lifetime)
  }

  private func tooShort(
    _ waiter: Waiter, _ minimum: Duration, _ what: String, _ lifetime: Duration
  ) -> Action {
    let message =
      "min_ttl asks for \(Int(minimum.inSeconds)) s, but \(what) \(Int(lifetime.inSeconds)) s"
    return .refuse(waiter.id, ProtocolError(.invalidRequest, message))
  }

  /// Why a waiter has to go without, if it is time to say so.
  private func refusal(of waiter: Waiter, _ now: Instant) -> ProtocolError? {
    let isLate = waiter.deadline <= now
    switch work {
    case .fetching:
      guard isLate else { return nil }
      return ProtocolError(
        .timeout, "no answer from upstream yet; the refresh goes on",
        retryAfter: .seconds(1))
    case _ where needsSignIn(waiter):
      // It may come while the caller waits.
      return isLate ? signInRequired : nil
    case .idle:
      guard let pause = held.pause else { return isLate ? tooManyRequests(waiter, now) : nil }
      let isWorthWaiting = pause.failure.failureClass.isTransient && pause.until < waiter.deadline
      guard isLate || !isWorthWaiting else { return nil }
      var error = pause.failure.protocolError
      if error.retryAfter != nil { error.retryAfter = max(pause.callersFrom - now, .zero) }
      return error
    }
  }

  /// For who demands better than what came a moment ago and cannot wait.
  private func tooManyRequests(_ waiter: Waiter, _ now: Instant) -> ProtocolError {
    ProtocolError(
      .tooManyRequests, "refreshed a moment ago",
      retryAfter: earliestStart(for: waiter) - now)
  }

  var signInRequired: ProtocolError {
    let reason =
      switch held.state {
      // Of one that was refused the end is forgotten too.
      case .tokensInvalid(.developerToken) where !held.loginExpirations.ends.isEmpty:
        "the developer token has run out"
      case .tokensInvalid:
        lastFailure.map { "the sign-in is no longer accepted: \($0.failure.message)" }
          ?? "the sign-in is no longer accepted"
      case .signedOut(byUser: true): "signed out"
      case .signedIn: "this sign-in has no developer token"
      default: "nobody is signed in"
      }
    return ProtocolError(.signInRequired, reason)
  }
}

/// A request that could not be answered at once.
public struct Waiter: Sendable, Equatable {
  /// What is waited for.
  public enum Want: Sendable, Equatable {
    case credentials
    case token
  }

  /// Given by the daemon; unique in its lifetime.
  public let id: UInt64
  public let want: Want
  /// The caller has no use for what lasts shorter.
  public let minimumLife: Duration?
  /// Only what is received from now on will do.
  public let mustRefresh: Bool
  public let arrived: Instant
  /// When the caller is answered one way or the other.
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

  /// Whether the caller wants something better than what is good for others.
  var isDemanding: Bool { mustRefresh || minimumLife != nil }

  /// Until when a caller waits for something better than what is merely still valid.
  var patience: Instant { min(arrived + RefreshPolicy.grace, deadline) }
}
