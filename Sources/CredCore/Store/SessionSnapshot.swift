/// The part of a session that is stored for the next process: everything that was accepted, and nothing
/// under way.
///
/// Instants count by CLOCK_BOOTTIME, which continues across a restart of credd and begins anew at a
/// boot.
public struct SessionSnapshot: Sendable, Equatable {
  var held: Held
  var lastAsked: Instant
  var refreshCount = 0
  @Boxed var lastFailure: PastFailure? = nil

  init(held: Held = Held(), lastAsked: Instant) {
    self.held = held
    self.lastAsked = lastAsked
  }

  public var identityID: IdentityID? { held.identityID }

  /// The user pool or provider of the sign-in; nil for another kind of sign-in.
  public var providerIssuer: ProviderIssuer? { held.state.providerSession?.issuer }

  /// The sign-in at a user pool or provider; nil for another kind of sign-in.
  public var providerSession: ProviderSession? { held.state.providerSession }

  /// The sign-ins at user pools and providers that gave the session tokens: the session's sign-in, and
  /// the linked sign-in.
  public var providerSessions: [ProviderSession] { held.providerSessions }

  /// When the session was last used, as far as it was recorded.
  public var lastUse: Instant { lastAsked }

  /// Whether the user signed out by a `logout`.
  public var isSignedOutByUser: Bool { held.state == .signedOut(byUser: true) }

  /// Whether the snapshot differs from the snapshot of a new session.
  public var isWorthKeeping: Bool {
    var new = SessionSnapshot(lastAsked: lastAsked)
    new.refreshCount = refreshCount
    return self != new
  }

  /// Whether `other` need not be stored. A new time of the last request is not stored by itself,
  /// but a change of ``Held/isInUse(lastAsked:)`` is.
  public func isDurablyEqual(to other: SessionSnapshot) -> Bool {
    guard held.isInUse(lastAsked: lastAsked) == other.held.isInUse(lastAsked: other.lastAsked)
    else { return false }
    var other = other
    other.lastAsked = lastAsked
    return self == other
  }

  /// Whether the snapshot can be from this boot: none of its instants is in the future.
  func isOfThisBoot(_ now: Instant) -> Bool {
    let pool = held.state.providerSession
    return [
      lastAsked, held.credentials?.received, held.token?.received, lastFailure?.at,
      pool?.idToken?.received, pool?.accessToken?.received, pool?.provedAt,
      held.link?.idToken?.received, held.link?.accessToken?.received, held.link?.provedAt,
    ]
    .allSatisfy { $0.map { $0 <= now } ?? true }
  }

  /// Checks that a session of this profile can be in this state. Any state is possible if another
  /// version of the daemon wrote the bytes, or if somebody changed them. credd must make no call for an
  /// impossible state.
  func check(for profile: Profile) throws(SnapshotError) {
    let isPossible =
      switch held.state {
      case .signedOut, .guest: true
      case .signedIn(let method): profile.allows(method) && method.isComplete(in: held, profile)
      case .tokensInvalid(let method): profile.allows(method)
      }
    guard isPossible else { throw .invalid("state") }
  }

  /// Only the sign-in, for a profile that gives other credentials now.
  var signInAlone: SessionSnapshot {
    var kept = self
    kept.held.credentials = nil
    kept.held.backOff = BackOff()
    kept.held.pause = nil
    // A client's token is the sign-in itself, so it stays. A backend gives another token.
    if held.state != .signedIn(.developerToken) { kept.held.token = nil }
    kept.refreshCount = 0
    kept.lastFailure = nil
    return kept
  }
}

extension Profile {
  /// Whether users of the profile can be signed in by this method.
  fileprivate func allows(_ method: SignInMethod) -> Bool {
    switch method {
    case .host: plan.backend == .host
    case .password: plan.backend == .password
    // A developer token is no login to a user pool.
    case .developerToken: plan.backend.issuer == nil
    case .logins: true
    case .tokenFile: plan.tokenFileProvider != nil
    case .provider: plan.backend.issuer != nil
    case .source: plan.followsSource
    }
  }
}

extension SignInMethod {
  /// Whether the session has everything that its calls send. A sign-in without logins would get a
  /// guest's identity, and a callback without the user's token would carry the host's token.
  fileprivate func isComplete(in held: Held, _ profile: Profile) -> Bool {
    switch self {
    case .host, .developerToken, .tokenFile, .source: return true
    case .logins: return !held.logins.isEmpty
    case .provider(let session):
      return !session.refreshToken.isEmpty || !session.issuer.traits.alwaysGivesRefreshToken
    case .password(let session): return profile.backend?.kind.isUsable(session.token) ?? false
    }
  }
}

extension SessionMachine {
  /// The time over which overdue refreshes are spread after a restart.
  static let overdueSpread: Duration = .seconds(5 * 60)

  /// The state that the next process restores. A sign-in that is not accepted yet is not included:
  /// a restart refuses it.
  public var snapshot: SessionSnapshot {
    let refused = signIn.flatMap { $0.isAccepted ? nil : $0.before }
    var snapshot = SessionSnapshot(held: refused ?? held, lastAsked: lastAsked)
    snapshot.refreshCount = refreshCount
    snapshot.lastFailure = lastFailure
    return snapshot
  }

  /// Restores a session. Nothing is announced.
  ///
  /// - Parameter jitter: uniform in `0..<1`; spreads refreshes that are overdue.
  public init(plan: SessionPlan, snapshot: SessionSnapshot, now: Instant, jitter: Double) {
    self.init(plan: plan, identityID: snapshot.held.identityID, now: now)
    held = snapshot.held
    held.credentials = held.credentials?.delayIfOverdue(now, jitter)
    held.delayOverdueTokens(plan, now, jitter)
    held.pause = held.pause?.delayIfOverdue(now, jitter, held.servedUntil(plan))
    announcedState = held.state.reported
    announcedUser = held.shownUser(plan)
    lastAsked = snapshot.lastAsked
    refreshCount = snapshot.refreshCount
    lastFailure = snapshot.lastFailure
  }

  /// A session of which only the IdentityId from before a reboot is known.
  ///
  /// - Parameter isGuests: whether the identity is unauthenticated. A later sign-in takes it over.
  public init(plan: SessionPlan, identityID: IdentityID, isGuests: Bool, now: Instant) {
    // A guest cannot use a user's identity, and a backend's user cannot use a guest's.
    let isOfUse = isGuests ? plan.allowsGuests : plan.worksUnattended || !plan.allowsGuests
    self.init(plan: plan, identityID: isOfUse ? identityID : nil, now: now)
    guard isGuests, isOfUse else { return }
    held.state = .guest
    announcedState = .guest
  }
}

extension SessionMachine {
  /// When an overdue refresh starts after a restart: not all sessions refresh at once, and what is held
  /// does not end before.
  ///
  /// - Parameter end: until when something is held that can be given; nil if nothing is.
  fileprivate static func startOfOverdue(
    _ now: Instant, _ jitter: Double, before end: Instant?
  ) -> Instant {
    let left = end.flatMap { $0 > now ? ($0 - now) * 0.5 : nil }
    return now + min(overdueSpread, left ?? overdueSpread) * jitter
  }
}

extension Held {
  /// Until when something can be given.
  fileprivate func servedUntil(_ plan: SessionPlan) -> Instant? {
    plan.product == .tokens ? state.providerSession?.tokenEnd : credentials?.servableUntil
  }

  /// Delays an overdue renewal of tokens, where a profile gives them alone.
  fileprivate mutating func delayOverdueTokens(
    _ plan: SessionPlan, _ now: Instant, _ jitter: Double
  ) {
    guard plan.product == .tokens, case .signedIn(.provider(let session)) = state,
      let due = renewed(plan)?.at, due <= now, let end = session.tokenEnd, end > now
    else { return }
    let start = SessionMachine.startOfOverdue(now, jitter, before: end)
    state = .signedIn(.provider(session.renewing(from: start)))
  }
}

extension HeldCredentials {
  /// Delays an overdue refresh.
  fileprivate func delayIfOverdue(_ now: Instant, _ jitter: Double) -> HeldCredentials {
    guard refreshAt <= now, servableUntil > now else { return self }
    return HeldCredentials(
      credentials, lifetime: lifetime, received: received,
      refreshAt: SessionMachine.startOfOverdue(now, jitter, before: servableUntil))
  }
}

extension Pause {
  /// Delays an overdue retry.
  fileprivate func delayIfOverdue(_ now: Instant, _ jitter: Double, _ end: Instant?) -> Pause {
    guard until <= now else { return self }
    return Pause(
      failure, until: SessionMachine.startOfOverdue(now, jitter, before: end),
      callersFrom: callersFrom)
  }
}
