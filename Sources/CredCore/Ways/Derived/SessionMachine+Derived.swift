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
    guard plan.followsSource else { return }
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

  /// Why a caller whose time is over waited in vain for the source; nil where that is not known.
  func refusalWhileSourceIsAsked(_ waiter: Waiter) -> ProtocolError? {
    guard plan.followsSource, case .refreshing(let refresh) = work, refresh.step != .derive else {
      return nil
    }
    if needsSignIn(waiter) { return signInRequired }
    return source?.failure.map {
      UpstreamFailure.ofSource($0.protocolError, last: $0).protocolError
    }
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

  /// What a refresh must know of the source; nil unless the session is derived from another one.
  var derivedSource: DerivedSource? {
    plan.derived.map {
      DerivedSource(
        plan: $0, facts: source, asking: waiters.filter { $0.want == .credentials },
        isAwaited: isAwaited, wasRenewed: lastFailure?.hasRenewedSource ?? false)
    }
  }

  /// The lifetime that the next credentials have: of narrowed ones, at most what the source gets.
  var nextLifetime: Duration? {
    guard let derived = plan.derived else { return nil }
    guard !derived.isHop else { return derived.longest }
    let ofSource = source?.lifetime ?? held.credentials?.lifetime
    return ofSource.map { min($0, derived.longest ?? $0) }
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
