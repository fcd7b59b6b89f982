/// One Unix user in one profile: who they are, what they hold, what is being fetched for whom.
///
/// Events go in, actions come out; the daemon performs them. The machine reads no clock and draws
/// no numbers of its own. After every event the daemon reads ``nextWake`` and sends `timePassed`
/// when it has come, so there are no timers to cancel and none can be stale.
public struct SessionMachine: Sendable {
  /// Whether something is being fetched.
  indirect enum Work: Sendable, Equatable {
    /// Nothing is under way. With `held.pause` set it is a pause after a failure, which ends when
    /// its time has come, or earlier for a caller in person. Goes to `fetching`.
    case idle
    /// Goes to `idle`, with a pause where it fails.
    case fetching(Attempt)
  }

  public internal(set) var plan: SessionPlan
  /// What is stored, and what a refused sign-in goes back to.
  var held = Held()
  /// When somebody last asked. The daemon notes answers from its cache here too.
  public var lastAsked: Instant
  /// The last failure and when it happened; kept after a success, for whoever asks why.
  @Rare public internal(set) var lastFailure: PastFailure? = nil
  public internal(set) var refreshes = 0
  @Rare var signIn: SignIn? = nil
  /// What watchers know: what comes and goes between two announcements is no news.
  var told: (state: String, identityID: IdentityID?)
  var work = Work.idle
  var waiters: [Waiter] = []

  /// - Parameter identityID: one that is known from before.
  public init(plan: SessionPlan, identityID: IdentityID? = nil, now: Instant) {
    self.plan = plan
    self.held.identityID = identityID
    self.lastAsked = now
    self.told = (Standing.signedOut(byUser: false).name, identityID)
  }

  /// Takes one event.
  ///
  /// - Parameters:
  ///   - callIDs: gives the ids of calls that begin.
  ///   - random: decides jitter alone.
  public mutating func handle(
    _ event: Event, now: Instant, callIDs: inout CallIDs,
    random: inout some RandomNumberGenerator
  ) -> [Action] {
    var turn = Turn(now: now, chance: .random(in: 0..<1, using: &random), callIDs: callIDs)
    defer { callIDs = turn.callIDs }
    dropUsedToken(turn.now)
    dropExpired(&turn)
    switch event {
    case .asked(let waiter):
      lastAsked = now
      if awaitedCall != nil, turn.actions.isEmpty { turn.firstToSettle = waiters.count }
      waiters.append(waiter)
    case .signInRequested(let request):
      beginSignIn(request, &turn)
    case .loggedOut:
      signOut(&turn)
    case .userChanged:
      changeUser(&turn)
    case .profileChanged(let plan, let change):
      changeProfile(plan, change, &turn)
    case .cleared(let scope):
      clear(scope, &turn)
    case .released:
      release(&turn)
    case .waiterLeft(let id):
      waiters.removeAll { $0.id == id }
      if signIn?.id == id { signIn?.id = nil }
    case .callFinished(let call, let outcome):
      finish(call, outcome, &turn)
    case .timePassed:
      break
    }
    dropExpired(&turn)
    settleSignIn(&turn)
    settleWaiters(&turn, holdingOut: true)
    startIfDue(&turn)
    settleWaiters(&turn, holdingOut: false)
    warnOfExpiry(&turn)
    return turn.actions
  }

  /// One event's surroundings and what comes of it.
  struct Turn {
    let now: Instant
    /// Uniform in `0..<1`.
    let chance: Double
    var callIDs: CallIDs
    var actions: [Action] = []
    /// The first waiter for whom something may be new.
    var firstToSettle = 0
  }

  /// When the daemon must send `timePassed`, at the latest.
  public var nextWake: Instant {
    var wake = Instant.distantFuture
    for waiter in waiters { wake = min(wake, holdsOut(waiter) ? waiter.patience : waiter.deadline) }
    if let credentials = held.credentials { wake = min(wake, credentials.servableUntil) }
    if let nextStart { wake = min(wake, nextStart) }
    if let warning = expiryWarning { wake = min(wake, warning) }
    if let progress = signIn, progress.id != nil { wake = min(wake, progress.deadline) }
    if let tokenEnd { wake = min(wake, tokenEnd) }
    return wake
  }

  /// Whether somebody asked since the last refresh. What nobody uses is not renewed.
  public var isInUse: Bool {
    held.credentials.map { lastAsked > $0.received } ?? false
  }

  /// Until when the daemon may answer a plain `get` from its cache without asking the machine:
  /// before the refresh is due there is nothing to decide.
  public var quietUntil: Instant {
    held.credentials.map { min($0.refreshAt, $0.freshUntil) } ?? Instant(nanoseconds: .min)
  }

  /// What expired is forgotten at once, not when somebody next looks.
  mutating func dropExpired(_ turn: inout Turn) {
    if let credentials = held.credentials, credentials.servableUntil <= turn.now {
      held.credentials = nil
      turn.actions.append(.credentialsChanged)
    }
    dropLoginsOver(at: turn.now)
    guard let tokenEnd, tokenEnd <= turn.now else { return }
    held.token = nil
    // Where a backend knows the user, it has the next one.
    if held.state == .signedIn(.developerToken), plan.backend != .host {
      become(.tokensInvalid(.developerToken), &turn)
    }
  }

  /// A token of unknown end is used once, unless a client brought it: there is no other then.
  private mutating func dropUsedToken(_ now: Instant) {
    guard let token = held.token, token.lifetime == nil, held.state != .signedIn(.developerToken)
    else { return }
    if token.usableUntil <= now { held.token = nil }
  }

  /// When the token is forgotten, where it says how long it lasts.
  private var tokenEnd: Instant? {
    guard let token = held.token, token.lifetime != nil else { return nil }
    // The exchange of a client's token that has begun is worth its end.
    if case .fetching = work, held.state == .signedIn(.developerToken) { return nil }
    return token.usableUntil
  }

  // MARK: News

  mutating func become(_ next: Standing, _ turn: inout Turn) {
    held.state = next
    tell(&turn)
  }

  mutating func adopt(_ identityID: IdentityID?, _ turn: inout Turn) {
    held.identityID = identityID
    tell(&turn)
  }

  /// The user is somebody else from now on, or nobody.
  mutating func forgetIdentity(_ turn: inout Turn) {
    held.identityID = nil
    guard let previous = told.identityID else { return }
    turn.actions.append(.announce(.identityChanged(previous: previous, current: nil)))
    told.identityID = nil
  }

  /// Announces what is new, once it is certain.
  mutating func tell(_ turn: inout Turn) {
    // A sign-in that is refused leaves everything as it was.
    guard signIn?.isAccepted ?? true else { return }
    // An identity that is dropped is followed by the next.
    if let identityID = held.identityID, identityID != told.identityID {
      turn.actions.append(
        .announce(.identityChanged(previous: told.identityID, current: identityID)))
      told.identityID = identityID
    }
    if held.state.name != told.state {
      turn.actions.append(.announce(.state(held.state)))
      told.state = held.state.name
    }
  }
}

extension SessionMachine {
  /// What happens to a session.
  public enum Event: Sendable {
    /// A request came that the cache alone could not answer.
    case asked(Waiter)
    /// A user signs in; answered by `giveState` or `refuse`.
    case signInRequested(SignInRequest)
    /// The user signed out: everything is forgotten, and nothing signs in again by itself.
    case loggedOut
    /// The uid has another name: another person, of whom nothing is known.
    case userChanged
    /// The profile's configuration is another one.
    case profileChanged(SessionPlan, ProfileChange)
    /// Credentials, or the identity too, are to be forgotten.
    case cleared(ClearScope)
    /// Callers that wait for a sign-in are to wait no longer.
    case released
    /// A waiting caller is gone.
    case waiterLeft(UInt64)
    /// The call with that id ended.
    case callFinished(CallID, UpstreamOutcome)
    /// ``SessionMachine/nextWake`` has come.
    case timePassed
  }
}

extension SessionMachine {
  /// What the daemon does for a session, in order.
  public enum Action: Sendable, Equatable {
    /// Perform a call and bring its outcome back under that id.
    case call(CallID, UpstreamCall)
    /// Answer a waiter with the credentials of the session.
    case giveCredentials(UInt64)
    /// Answer a waiter with the token of the session.
    case giveToken(UInt64)
    /// Answer a `login` with how the session stands.
    case giveState(UInt64)
    /// Answer a waiter with an error.
    case refuse(UInt64, ProtocolError)
    /// The credentials are others now, or gone: render or forget the reply.
    case credentialsChanged
    /// Tell whoever watches.
    case announce(Announcement)
  }
}

extension SessionMachine {
  public var standing: Standing { held.state }
  public var identityID: IdentityID? { held.identityID }
  public var logins: LoginsMap { held.logins }
  public var token: HeldToken? { held.token }
  public var credentials: HeldCredentials? { held.credentials }

  /// Failed attempts since the last success.
  public var failures: Int { held.backOff.failures }

  /// The call whose outcome is awaited; any other is stale.
  public var awaitedCall: CallID? {
    if case .fetching(let attempt) = work { attempt.call } else { nil }
  }

  /// Whether somebody waits for that call in person.
  public var isAwaited: Bool { !waiters.isEmpty || signIn?.id != nil }

  /// Callers that wait right now.
  public var waiterCount: Int { waiters.count }

  /// When the next refresh begins, and why then, in words for a person. Without a time it takes
  /// an event first.
  public var nextRefresh: (at: Instant?, reason: String) {
    switch work {
    case .fetching:
      return (nil, "under way")
    case _ where !canRefresh:
      return (nil, "after a sign-in")
    case .idle:
      if let pause = held.pause {
        let reason = Self.reason(of: pause.failure)
        return (nextStart, nextStart == nil ? "when somebody asks, \(reason)" : reason)
      }
      guard let credentials = held.credentials else { return (nil, "when somebody asks") }
      if isInUse { return (credentials.refreshAt, "half of the lifetime") }
      return (nil, "when somebody asks: not in use since the last refresh")
    }
  }

  private static func reason(of failure: UpstreamFailure) -> String {
    switch (failure.isWithheld, failure.failureClass) {
    case (true, .throttled): "after it was held back by a rate limit"
    case (true, _): "while \(failure.upstream) is away: its circuit is open"
    case (false, .throttled): "after \(failure.upstream) throttled it"
    default: "after a failure"
    }
  }
}

/// A failure and when it happened.
public struct PastFailure: Sendable, Equatable {
  public let failure: UpstreamFailure
  public let at: Instant
}

/// A change in a session that watchers and the journal hear of.
public enum Announcement: Sendable, Equatable {
  case state(Standing)
  case identityChanged(previous: IdentityID?, current: IdentityID?)
  case refreshed(expiration: WallTime)
  /// A refresh failed while the credentials at hand are still good.
  case degraded(UpstreamFailure)
  /// An attempt failed, and there are no credentials that could serve meanwhile.
  case failed(UpstreamFailure)
  /// What the user signed in with runs out soon.
  case expiring(ProtocolError)
}
