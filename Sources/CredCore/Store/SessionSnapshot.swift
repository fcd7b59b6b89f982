/// What of a session outlives the daemon: all that was accepted, nothing that is under way.
///
/// Instants are of CLOCK_BOOTTIME and hold across a restart, not across a boot.
public struct SessionSnapshot: Sendable, Equatable {
  var held: Held
  var lastAsked: Instant
  var refreshes = 0
  @Rare var lastFailure: PastFailure? = nil

  init(held: Held = Held(), lastAsked: Instant) {
    self.held = held
    self.lastAsked = lastAsked
  }

  public var identityID: IdentityID? { held.identityID }

  /// Whether there is anything that a new session would not know by itself.
  public var isWorthKeeping: Bool {
    var new = SessionSnapshot(lastAsked: lastAsked)
    new.refreshes = refreshes
    return self != new
  }

  /// Whether it differs in more than when exactly somebody last asked, which alone is not worth
  /// writing down.
  public func isDurablyEqual(to other: SessionSnapshot) -> Bool {
    guard isInUse == other.isInUse else { return false }
    var other = other
    other.lastAsked = lastAsked
    return self == other
  }

  private var isInUse: Bool {
    held.credentials.map { lastAsked > $0.received } ?? false
  }

  /// Whether it can be of this boot: nothing in it happened later than now.
  func isOfThisBoot(_ now: Instant) -> Bool {
    [lastAsked, held.credentials?.received, held.token?.received, lastFailure?.at]
      .allSatisfy { $0.map { $0 <= now } ?? true }
  }

  /// The sign-in alone: for a profile whose credentials are others now.
  var signInAlone: SessionSnapshot {
    var kept = self
    kept.held.credentials = nil
    kept.held.backOff = BackOff()
    kept.held.pause = nil
    // A client's token is itself the sign-in; a backend has another.
    if held.state != .signedIn(.developerToken) { kept.held.token = nil }
    kept.refreshes = 0
    kept.lastFailure = nil
    return kept
  }
}

extension SessionMachine {
  /// How long overdue refreshes are spread after a restart.
  static let overdueSpread: Duration = .seconds(5 * 60)

  /// The session as it is to be found again after a restart. A sign-in that is not accepted yet is
  /// not in it: a restart refuses it.
  public var snapshot: SessionSnapshot {
    let refused = signIn.flatMap { $0.isAccepted ? nil : $0.before }
    var snapshot = SessionSnapshot(held: refused ?? held, lastAsked: lastAsked)
    snapshot.refreshes = refreshes
    snapshot.lastFailure = lastFailure
    return snapshot
  }

  /// A session as it was before a restart. Nobody hears of it: nothing is new.
  ///
  /// - Parameter chance: uniform in `0..<1`; spreads refreshes that are overdue.
  public init(plan: SessionPlan, snapshot: SessionSnapshot, now: Instant, chance: Double) {
    self.init(plan: plan, identityID: snapshot.held.identityID, now: now)
    held = snapshot.held
    held.credentials = held.credentials?.spreadIfOverdue(now, chance)
    held.pause = held.pause?.spreadIfOver(now, chance)
    told.state = held.state.name
    lastAsked = snapshot.lastAsked
    refreshes = snapshot.refreshes
    lastFailure = snapshot.lastFailure
  }

  /// A session of which only the IdentityId is known, from before a reboot.
  ///
  /// - Parameter isGuests: an unauthenticated identity, which the user takes along into a sign-in.
  public init(plan: SessionPlan, identityID: IdentityID, isGuests: Bool, now: Instant) {
    // A user's identity is none that a guest could use, nor a guest's one of the host's users.
    let isOfUse = isGuests ? plan.allowsGuests : plan.worksUnattended || !plan.allowsGuests
    self.init(plan: plan, identityID: isOfUse ? identityID : nil, now: now)
    guard isGuests, isOfUse else { return }
    held.state = .guest
    told.state = Standing.guest.name
  }
}

extension HeldCredentials {
  /// Those whose refresh was due meanwhile: it comes soon, but not at once with all others.
  fileprivate func spreadIfOverdue(_ now: Instant, _ chance: Double) -> HeldCredentials {
    guard refreshAt <= now, servableUntil > now else { return self }
    let time = min(SessionMachine.overdueSpread, (servableUntil - now) * 0.5)
    return HeldCredentials(
      credentials, lifetime: lifetime, received: received, refreshAt: now + time * chance)
  }
}

extension Rest {
  fileprivate func spreadIfOver(_ now: Instant, _ chance: Double) -> Rest {
    guard until <= now else { return self }
    return Rest(
      failure, until: now + SessionMachine.overdueSpread * chance, callersFrom: callersFrom)
  }
}
