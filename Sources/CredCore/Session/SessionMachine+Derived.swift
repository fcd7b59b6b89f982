/// A session that is derived from another one. It has no sign-in of its own: its source's credentials sign
/// a call of STS, whose answer it holds. The service tells it of each change of the source.
extension SessionMachine {
  // MARK: As a source

  /// What a session that is derived from this one must know. A sign-in that is not accepted changes
  /// nothing of it.
  public var factsForDerived: SourceFacts {
    let accepted = signIn.flatMap { $0.isAccepted ? nil : $0.before } ?? held
    return SourceFacts(
      state: accepted.state.mirrored, identityID: accepted.identityID, user: accepted.user(plan),
      role: accepted.customRoleARN,
      credentials: accepted.areCredentialsOfFormer ? nil : accepted.credentials,
      lifetime: nextLifetime ?? accepted.credentials?.lifetime, canRefresh: canRefresh,
      refusal: signInRequired.message, failure: lastFailure?.failure)
  }

  /// Whether a person signed in, also while a sign-in is tried that may take that one's place: what was
  /// derived is still of the former.
  public var isOfPerson: Bool {
    held.state.isPersonal
      || signIn.map { !$0.isAccepted && $0.before.state.isPersonal } ?? false
  }

  /// A new session of a derived profile.
  public init(plan: SessionPlan, from source: SessionMachine, now: Instant) {
    let facts = source.factsForDerived
    // Who watches is told with the first event.
    self.init(plan: plan, now: now)
    held.identityID = facts.identityID
    held.state = facts.state
    held.customRoleARN = facts.role
    self.source = facts
  }

  // MARK: The source

  /// Takes a change of the source. What was derived from another identity is dropped at once, and a call
  /// under way with it.
  mutating func sourceChanged(_ next: SourceFacts, _ context: inout EventContext) {
    guard plan.derived != nil else { return }
    let isRenewed =
      next.state != held.state || next.credentials != nil && next.credentials != source?.credentials
    let isOfSameUser = next.isOfSameUser(as: held) && next.user == source?.user
    source = next
    if usesSource, !isOfSameUser {
      forgetCredentials(&context)
      endRefresh()
      lastFailure = nil
    }
    if next.identityID == nil { forgetIdentity(&context) }
    setIdentity(next.identityID, &context)
    held.customRoleARN = next.role
    setState(next.state, &context)
    // The source's trouble is over.
    if isRenewed, work == .idle, held.pause != nil { endRefresh() }
  }

  /// Whether something was derived, or is being derived now.
  private var usesSource: Bool {
    if case .refreshing(let refresh) = work, refresh.step == .derive { return true }
    return held.credentials != nil
  }

  /// Whether the source has other credentials than those that signed the call for the held ones.
  var isBehindSource: Bool {
    guard let held = held.credentials?.credentials.session, let source = source?.credentials else {
      return false
    }
    return held.sourceAccessKeyID != source.credentials.accessKeyID
  }

  /// Whether a refusal may mean the source's credentials: they are older than a minute, and were not
  /// renewed for such a refusal since the last success.
  func isSourceOld(_ now: Instant) -> Bool {
    guard !(lastFailure?.hasRenewedSource ?? false) else { return false }
    return source?.credentials.map { now - $0.received > .seconds(60) } ?? false
  }

  /// Why a caller whose time is over waited in vain for the source; nil where that is not known.
  func refusalWhileSourceIsAsked(_ waiter: Waiter) -> ProtocolError? {
    guard plan.derived != nil, case .refreshing(let refresh) = work, refresh.step != .derive else {
      return nil
    }
    if needsSignIn(waiter) { return signInRequired }
    return source?.failure.map {
      UpstreamFailure.ofSource($0.protocolError, last: $0).protocolError
    }
  }

  // MARK: Calls

  /// The next call of a refresh. The source is asked first, unless its credentials have half of their
  /// lifetime left.
  func derivedCall(for refresh: Refresh, _ now: Instant) -> UpstreamCall? {
    let held = servableSource(now)
    let wanted = demand(of: refresh, now)
    let hasAsked = refresh.step == .askSource
    if let held, hasAsked || wanted.accepts(held, now) {
      return .derive(
        from: SourceCredentials(
          held.credentials, lifetime: held.expires - now, role: source?.role))
    }
    return hasAsked ? nil : .renewSource(wanted)
  }

  private func demand(of refresh: Refresh, _ now: Instant) -> SourceDemand {
    let asking = waiters.filter { $0.want == .credentials }
    let isForced = asking.contains { $0.mustRefresh && !$0.sparesSource }
    var longest = Duration.zero
    if !(plan.derived?.isHop ?? true) { longest = asking.compactMap(\.minimumLife).max() ?? .zero }
    let mustRefresh = isForced || refresh.remedies.contains(.newToken)
    // What the source has will do, if nothing fresher comes in a moment.
    let mayServe =
      !mustRefresh && longest == .zero
      && source?.credentials.map { $0.servableUntil > now + RefreshPolicy.grace } ?? false
    let longestWait = asking.map { $0.deadline - $0.arrived }.max() ?? .zero
    return SourceDemand(
      mustRefresh: mustRefresh, minimumLife: longest, isUnattended: !isAwaited,
      wait: mayServe ? RefreshPolicy.grace : max(Limits.Session.sourceWait, longestWait),
      triesOnce: !asking.isEmpty && asking.allSatisfy(\.triesOnce))
  }

  /// Whether the source could not be renewed, but has credentials that are still valid. A caller that
  /// asked for new ones, and a refusal by STS, are not served by them.
  func takesOlderSource(_ refresh: Refresh, _ now: Instant) -> Bool {
    guard refresh.step == .askSource, !demand(of: refresh, now).mustRefresh else { return false }
    return servableSource(now) != nil
  }

  /// What signs a call; nil if the source has nothing that is still valid.
  func servableSource(_ now: Instant) -> HeldCredentials? {
    source?.credentials.flatMap { $0.servableUntil > now ? $0 : nil }
  }

  mutating func derivedReceived(
    _ credentials: Credentials, _ lifetime: Duration, _ refresh: Refresh,
    _ context: inout EventContext
  ) {
    announceChanges(&context)
    held.credentials = HeldCredentials(
      credentials, lifetime: lifetime, received: context.now, jitter: context.jitter,
      isAnew: refresh.demand == .new)
    refreshCount += 1
    context.actions.append(.credentialsChanged)
    context.actions.append(.announce(.refreshed(expiration: credentials.expiration)))
    succeed(&context)
  }

  /// The lifetime that the next credentials have: of narrowed ones, at most what the source gets.
  var nextLifetime: Duration? {
    guard let derived = plan.derived else { return nil }
    guard !derived.isHop else { return derived.longest }
    let ofSource = source?.lifetime ?? held.credentials?.lifetime
    return ofSource.map { min($0, derived.longest ?? $0) }
  }
}

/// What a derived session knows of its source.
public struct SourceFacts: Sendable, Equatable {
  /// Without any token: a user who is signed in is so by the method ``SignInMethod/source``.
  let state: SignInState
  let identityID: IdentityID?
  /// See ``Held/user(_:)``.
  let user: String?
  /// The role that a `login` chose.
  let role: String?
  /// The source's own, shared.
  let credentials: HeldCredentials?
  /// The lifetime of the next ones; nil if none is known.
  let lifetime: Duration?
  /// Whether it can get credentials without a sign-in.
  let canRefresh: Bool
  /// Why only a sign-in helps.
  let refusal: String
  /// Its last failure since its last success.
  let failure: UpstreamFailure?

  var received: Instant? { credentials?.received }

  /// Whether what was derived before may still be used.
  fileprivate func isOfSameUser(as held: Held) -> Bool {
    guard held.identityID == identityID, held.customRoleARN == role else { return false }
    switch (held.state, state) {
    case (.signedIn, .signedIn), (.signedIn, .tokensInvalid), (.tokensInvalid, .signedIn),
      (.tokensInvalid, .tokensInvalid), (.guest, .guest):
      return true
    default: return false
    }
  }
}

/// What a derived session needs of its source.
public struct SourceDemand: Sendable, Equatable {
  /// Only credentials that come from now on will do.
  public let mustRefresh: Bool
  /// The least remaining lifetime, beside half of the whole one and ``Derivation/leastOfSource``.
  let minimumLife: Duration
  /// Whether no client waits.
  public private(set) var isUnattended: Bool
  public let wait: Duration
  /// Whether the first try that fails is the answer: see ``Waiter/triesOnce``.
  public let triesOnce: Bool

  /// The same for a client that waits.
  public var inPerson: SourceDemand {
    var demand = self
    demand.isUnattended = false
    return demand
  }

  func accepts(_ held: HeldCredentials, _ now: Instant) -> Bool {
    !mustRefresh && held.expires - now >= least(of: held)
  }

  private func least(of held: HeldCredentials) -> Duration {
    max(held.lifetime * 0.5, minimumLife, Derivation.leastOfSource)
  }

  /// How long credentials like these must last to be taken; nil where none are held.
  public func leastLife(of held: HeldCredentials?) -> Duration? {
    guard let held else { return minimumLife > .zero ? minimumLife : nil }
    return min(least(of: held), held.lifetime)
  }
}

extension SignInState {
  /// This state for a derived session.
  fileprivate var mirrored: SignInState {
    switch self {
    case .signedOut, .guest: self
    case .signedIn: .signedIn(.source)
    case .tokensInvalid: .tokensInvalid(.source)
    }
  }
}
