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
