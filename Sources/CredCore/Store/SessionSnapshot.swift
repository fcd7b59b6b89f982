/// What of a session outlives the daemon: all that was accepted, nothing that is under way.
///
/// Instants are of CLOCK_BOOTTIME and hold across a restart, not across a boot.
public struct SessionSnapshot: Sendable, Equatable {
  /// A failure and when it happened.
  struct PastFailure: Sendable, Equatable {
    let failure: UpstreamFailure
    let at: Instant
  }

  var standing: Standing
  public internal(set) var identityID: IdentityID?
  var logins = LoginsMap()
  var expirations = LoginExpirations()
  var token: HeldToken?
  var credentials: HeldCredentials?
  var userName: String?
  var customRoleARN: String?
  var lastAsked: Instant
  var refreshes = 0
  var backOff = BackOff()
  @Rare var rest: Rest? = nil
  @Rare var lastFailure: PastFailure? = nil

  init(standing: Standing, lastAsked: Instant) {
    self.standing = standing
    self.lastAsked = lastAsked
  }

  /// Whether there is anything that a new session would not know by itself.
  public var isWorthKeeping: Bool {
    var new = SessionSnapshot(standing: .signedOut(byUser: false), lastAsked: lastAsked)
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
    credentials.map { lastAsked > $0.received } ?? false
  }

  /// Whether it can be of this boot: nothing in it happened later than now.
  func isOfThisBoot(_ now: Instant) -> Bool {
    [lastAsked, credentials?.received, token?.received, lastFailure?.at]
      .allSatisfy { $0.map { $0 <= now } ?? true }
  }

  /// The sign-in alone: for a profile whose credentials are others now.
  var signInAlone: SessionSnapshot {
    var kept = self
    kept.credentials = nil
    kept.refreshes = 0
    kept.backOff = BackOff()
    kept.rest = nil
    kept.lastFailure = nil
    // A client's token is itself the sign-in; a backend has another.
    if standing != .signedIn(.developerToken) { kept.token = nil }
    return kept
  }
}

extension SessionMachine {
  /// How long overdue refreshes are spread after a restart.
  static let overdueSpread: Duration = .seconds(5 * 60)

  /// The session as it is to be found again after a restart. A sign-in that is not accepted yet is
  /// not in it: a restart refuses it.
  public var snapshot: SessionSnapshot {
    let isPending = !(signInProgress?.isAccepted ?? true)
    let memory = isPending ? signInProgress?.before ?? memory : memory
    var snapshot = SessionSnapshot(standing: memory.standing, lastAsked: lastAsked)
    snapshot.identityID = memory.identityID
    snapshot.logins = memory.logins
    snapshot.expirations = memory.expirations
    snapshot.token = memory.token
    snapshot.credentials = memory.credentials
    snapshot.userName = memory.userName
    snapshot.customRoleARN = memory.customRoleARN
    snapshot.refreshes = refreshes
    snapshot.backOff = memory.backOff
    if case .resting(let rest) = memory.work { snapshot.rest = rest }
    snapshot.lastFailure = lastFailure.map {
      SessionSnapshot.PastFailure(failure: $0.failure, at: $0.at)
    }
    return snapshot
  }

  /// A session as it was before a restart. Nobody hears of it: nothing is new.
  ///
  /// - Parameter chance: uniform in `0..<1`; spreads refreshes that are overdue.
  public init(plan: SessionPlan, snapshot: SessionSnapshot, now: Instant, chance: Double) {
    self.init(plan: plan, identityID: snapshot.identityID, now: now)
    standing = snapshot.standing
    told.state = snapshot.standing.name
    logins = snapshot.logins
    expirations = snapshot.expirations
    token = snapshot.token
    credentials = snapshot.credentials?.spreadIfOverdue(now, chance)
    userName = snapshot.userName
    customRoleARN = snapshot.customRoleARN
    lastAsked = snapshot.lastAsked
    refreshes = snapshot.refreshes
    backOff = snapshot.backOff
    lastFailure = snapshot.lastFailure.map { ($0.failure, $0.at) }
    if let rest = snapshot.rest { work = .resting(rest.spreadIfOver(now, chance)) }
  }

  /// A session of which only the IdentityId is known, from before a reboot.
  ///
  /// - Parameter isGuests: an unauthenticated identity, which the user takes along into a sign-in.
  public init(plan: SessionPlan, identityID: IdentityID, isGuests: Bool, now: Instant) {
    // A user's identity is none that a guest could use, nor a guest's one of the host's users.
    let isOfUse = isGuests ? plan.allowsGuests : plan.worksUnattended || !plan.allowsGuests
    self.init(plan: plan, identityID: isOfUse ? identityID : nil, now: now)
    guard isGuests, isOfUse else { return }
    standing = .guest
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
