/// One Unix user in one profile: the sign-in, the credentials, the call under way and the callers
/// that wait.
///
/// Events go in, actions come out, and the daemon performs them. The machine reads no clock and has
/// no random generator of its own. After every event the daemon reads ``nextWake`` and sends
/// `timePassed` at that time: no timer has to be cancelled, and none can be stale.
public struct SessionMachine: Sendable {
  public typealias Event = MachineEvent
  public typealias Action = MachineAction

  /// Whether a refresh is under way.
  indirect enum Work: Sendable, Equatable {
    /// Goes to `refreshing`. If `held.pause` is set, the last refresh failed: the next one starts
    /// at the end of the pause, or earlier for a new caller.
    case idle
    /// Goes to `idle`; `held.pause` is then set if the refresh failed.
    case refreshing(Refresh)
  }

  public internal(set) var plan: SessionPlan
  /// The state that watchers were told last. A change that is undone before the next announcement
  /// is not announced.
  var announcedState: ReportedState
  @Boxed private var told: Told? = nil
  /// The part that is stored, and that is restored when a sign-in is refused.
  var held = Held()
  /// The time of the last request. The daemon updates it when it answers from its cache.
  public var lastAsked: Instant
  /// The last failure since the last success.
  @Boxed public internal(set) var lastFailure: PastFailure? = nil
  /// Successful refreshes.
  public internal(set) var refreshCount = 0
  @Boxed var signIn: SignInUnderWay? = nil
  var work = Work.idle
  /// The renewal at a provider that is under way, if any. Its sign-in may have ended already.
  @Boxed var renewal: ProviderRenewal? = nil
  /// Nil unless the last renewal of the linked sign-in failed.
  @Boxed var linkTrouble: FailedRenewal? = nil
  /// Nil unless a backend answers with 401 in a web page.
  @Boxed var unauthorizedPages: UnauthorizedPages? = nil
  var waiters: [Waiter] = []
  /// Nil unless the session is derived from another one.
  @Boxed public internal(set) var source: SourceFacts? = nil

  /// What watchers were told last, beside the state. Both lie in one box, since sessions must stay small.
  private struct Told {
    var identityID: IdentityID?
    var user: Fingerprint?
  }

  var announcedIdentity: IdentityID? {
    get { told?.identityID }
    set { told = Told(identityID: newValue, user: announcedUser) }
  }

  /// Nil where no user was named so far.
  var announcedUser: Fingerprint? {
    get { told?.user }
    set { told = Told(identityID: announcedIdentity, user: newValue) }
  }

  /// - Parameter identityID: known from an earlier session.
  public init(plan: SessionPlan, identityID: IdentityID? = nil, now: Instant) {
    self.plan = plan
    lastAsked = now
    held.identityID = identityID
    announcedState = held.state.reported
    if identityID != nil { announcedIdentity = identityID }
  }

  /// Takes one event.
  ///
  /// - Parameters:
  ///   - callIDs: gives the ids of calls that start.
  ///   - random: used only for jitter.
  public mutating func handle(
    _ event: Event, now: Instant, callIDs: inout CallIDs,
    random: inout some RandomNumberGenerator
  ) -> [Action] {
    var context = EventContext(
      now: now, jitter: .random(in: 0..<1, using: &random), callIDs: callIDs)
    defer { callIDs = context.callIDs }
    dropUsedToken(context.now)
    dropExpired(&context)
    take(event, &context)
    dropExpired(&context)
    timeOutSignIn(&context)
    leaveSlowLink(&context)
    answerWaiters(&context, beforeRefresh: true)
    startIfDue(&context)
    answerWaiters(&context, beforeRefresh: false)
    warnOfExpiry(&context)
    return context.actions
  }

  private mutating func take(_ event: Event, _ context: inout EventContext) {
    switch event {
    case .asked(let waiter):
      lastAsked = context.now
      if work != .idle, context.actions.isEmpty { context.firstToAnswer = waiters.count }
      waiters.append(waiter)
    case .signInRequested(let request):
      lastAsked = context.now
      beginSignIn(request, &context)
    case .loggedOut: signOut(&context)
    case .userChanged: changeUser(&context)
    case .profileChanged(let plan, let change): changeProfile(plan, change, &context)
    case .cleared(let scope): clear(scope, &context)
    case .released: release(&context)
    case .waiterLeft(let id):
      waiters.removeAll { $0.id == id }
      signIn?.left(id)
    case .waitersDismissed:
      waiters = []
      signIn?.client = nil
      signIn?.onlookers = []
    case .sourceChanged(let facts): sourceChanged(facts, &context)
    case .callFinished(let call, let outcome): outcomeReceived(call, outcome, &context)
    case .renewalDue: renewUnattended(&context)
    case .timePassed: break
    }
  }

  /// The input of an event, and the actions that it causes.
  struct EventContext {
    let now: Instant
    /// Uniform in `0..<1`.
    let jitter: Double
    var callIDs: CallIDs
    var actions: [Action] = []
    /// The first waiter to whom the event may have brought an answer.
    var firstToAnswer = 0
  }

  /// When the daemon must send `timePassed`, at the latest.
  public var nextWake: Instant {
    var wake = Instant.distantFuture
    for waiter in waiters {
      wake = min(wake, waitsForFresher(waiter) ? waiter.acceptsStaleFrom : waiter.deadline)
    }
    if let credentials = held.credentials { wake = min(wake, credentials.servableUntil) }
    if let nextStart { wake = min(wake, nextStart) }
    if let warning = expiryWarning { wake = min(wake, warning) }
    if let timeout = signIn?.nextTimeout { wake = min(wake, timeout) }
    if let tokenEnd { wake = min(wake, tokenEnd) }
    if let signInEnd { wake = min(wake, signInEnd) }
    if work == .idle, let end = held.providerTokenEnd { wake = min(wake, end) }
    if let linkGraceEnd { wake = min(wake, linkGraceEnd) }
    return wake
  }

  // MARK: Expiry

  /// Drops expired tokens, logins and credentials. Runs before and after each event, so that
  /// nothing expired is used.
  mutating func dropExpired(_ context: inout EventContext) {
    if let credentials = held.credentials, credentials.servableUntil <= context.now {
      held.credentials = nil
      context.actions.append(.credentialsChanged)
    }
    held.removeExpiredLogins(at: context.now)
    endSignIn(&context)
    // A call under way uses them.
    if work == .idle { held.dropEndedProviderTokens(context.now) }
    guard let tokenEnd, tokenEnd <= context.now else { return }
    held.token = nil
    // A backend that trusts the host gives the next token.
    if held.state == .signedIn(.developerToken), plan.backend != .host {
      setState(.tokensInvalid(.developerToken), &context)
    }
  }

  /// Drops a token of unknown lifetime after its only use. A token of a client stays, because there
  /// is no other.
  private mutating func dropUsedToken(_ now: Instant) {
    guard let token = held.token, token.lifetime == nil, held.state != .signedIn(.developerToken)
    else { return }
    if token.usableUntil <= now { held.token = nil }
  }

  /// When the token is dropped; nil if its lifetime is unknown.
  private var tokenEnd: Instant? {
    guard let token = held.token, token.lifetime != nil else { return nil }
    // An exchange of a client's token that has started may succeed after the token's end.
    if case .refreshing = work, held.state == .signedIn(.developerToken) { return nil }
    return token.usableUntil
  }

  // MARK: State

  mutating func setState(_ next: SignInState, _ context: inout EventContext) {
    held.state = next
    announceChanges(&context)
  }

  mutating func setIdentity(
    _ identityID: IdentityID?, isWithheld: Bool = false, _ context: inout EventContext
  ) {
    held.identityID = identityID
    held.isIdentityWithheld = isWithheld && identityID != nil
    announceChanges(&context)
  }

  /// Drops the identity and announces that at once: no other identity follows.
  mutating func forgetIdentity(_ context: inout EventContext) {
    held.identityID = nil
    held.endedLogins.removeAll()
    held.isIdentityWithheld = false
    guard let previous = announcedIdentity else { return }
    context.actions.append(.announce(.identityChanged(previous: previous, current: nil)))
    announcedIdentity = nil
  }

  /// Announces a new state, another user and a new identity. Does nothing until a sign-in is accepted, because a
  /// refused sign-in changes nothing.
  mutating func announceChanges(_ context: inout EventContext) {
    guard signIn?.isAccepted ?? true else { return }
    // A dropped identity is announced together with the one that replaces it.
    if let identityID = held.identityID, identityID != announcedIdentity {
      context.actions.append(
        .announce(.identityChanged(previous: announcedIdentity, current: identityID)))
      announcedIdentity = identityID
    }
    let user = held.shownUser(plan)
    let isAnother = user != nil && user != announcedUser
    if held.state.reported != announcedState || isAnother {
      context.actions.append(.announce(.state(held.state)))
      announcedState = held.state.reported
      if isAnother { announcedUser = user }
    }
  }
}

// MARK: - What the daemon reads

extension SessionMachine {
  public var state: SignInState { held.state }
  public var identityID: IdentityID? { held.identityID }
  /// The IdentityId, if a backend may see it.
  public var identityForBackend: IdentityID? {
    // If logins sign the user in although there is a backend, the identity is not the backend's.
    held.state.method == .logins && plan.backend != .none ? nil : held.identityForBackend
  }
  public var logins: LoginsMap { held.logins }
  /// The bytes of its logins, with those that wait for a password to be accepted.
  public var loginBytes: Int {
    held.logins.byteCount + (signIn?.loginsToLink?.map.byteCount ?? 0)
  }
  public var token: HeldToken? { held.token }
  public var credentials: HeldCredentials? { held.credentials }

  /// Failed refreshes since the last success.
  public var failures: Int { held.backOff.failures }

  /// The call whose outcome is awaited; the outcome of any other call is stale.
  public var awaitedCall: CallID? {
    if case .refreshing(let refresh) = work { refresh.call } else { awaitedRenewal?.call }
  }

  /// Whether the sign-in of that number is under way and its user is signed in already.
  public func hasAccepted(_ number: UInt64) -> Bool {
    signIn.map { $0.number == number && $0.isAccepted } ?? false
  }

  /// Whether a client waits for that call.
  public var isAwaited: Bool {
    waiters.contains { !$0.isUnattended } || signIn?.nextTimeout != nil
  }

  /// Whether a caller waits, a sign-in is carried out or a refresh is under way.
  public var isBusy: Bool {
    !waiters.isEmpty || signIn != nil || work != .idle || awaitedRenewal != nil
  }

  /// Callers that wait now.
  public var waiterCount: Int { waiters.count }

  /// Whether a caller asked since the last refresh. Unused credentials are not renewed.
  public var isInUse: Bool { received.map { lastAsked > $0 } ?? false }

  /// Until when the daemon may answer a plain `get` from its cache without an event: before the
  /// refresh is due the machine has nothing to decide.
  public var quietUntil: Instant {
    held.credentials.map { min($0.refreshAt, $0.freshUntil) } ?? Instant(nanoseconds: .min)
  }

  /// When the next refresh starts, and why then, for people. Without a time, an event must come
  /// first.
  public var nextRefresh: (at: Instant?, reason: String) {
    switch work {
    case .refreshing: return (nil, "under way")
    case .idle: break
    }
    guard canRefresh else { return (nil, "after a sign-in") }
    if let pause = held.pause {
      let reason = Self.reason(of: pause.failure)
      return (nextStart, nextStart == nil ? "when somebody asks, \(reason)" : reason)
    }
    guard let refreshAt else { return (nil, "when somebody asks") }
    if isInUse { return (refreshAt, "half of the lifetime") }
    return (nil, "when somebody asks: not in use since the last refresh")
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
