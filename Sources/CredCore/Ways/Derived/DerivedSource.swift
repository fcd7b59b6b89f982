/// The session from which another one is derived, as a refresh of the derived one sees it.
struct DerivedSource {
  let plan: DerivedPlan
  /// Nil until the session was told of its source.
  let facts: SourceFacts?
  /// The callers that want credentials.
  let asking: [Waiter]
  /// Whether a client waits.
  let isAwaited: Bool
  /// Whether the source was renewed in vain since the last success.
  let wasRenewed: Bool

  /// What signs a call; nil if the source has nothing that is still valid.
  func servable(_ now: Instant) -> HeldCredentials? {
    facts?.credentials.flatMap { $0.servableUntil > now ? $0 : nil }
  }

  /// The source is asked first, unless its credentials have half of their lifetime left.
  func nextCall(for refresh: Refresh, _ now: Instant) -> UpstreamCall? {
    let held = servable(now)
    let wanted = demand(of: refresh, now)
    let hasAsked = refresh.step == .askSource
    if let held, hasAsked || wanted.accepts(held, now) {
      return .derive(
        from: SourceCredentials(
          held.credentials, lifetime: held.expires - now, role: facts?.role))
    }
    return hasAsked ? nil : .renewSource(wanted)
  }

  /// Whether the source could not be renewed, but has credentials that are still valid. A caller that
  /// asked for new ones, and a refusal by STS, are not served by them.
  func takesOlder(_ refresh: Refresh, _ now: Instant) -> Bool {
    refresh.step == .askSource && !demand(of: refresh, now).mustRefresh && servable(now) != nil
  }

  private func demand(of refresh: Refresh, _ now: Instant) -> SourceDemand {
    let isForced = asking.contains { $0.mustRefresh && !$0.sparesSource }
    let longest = plan.isHop ? nil : asking.compactMap(\.minimumLife).max()
    let mustRefresh = isForced || refresh.remedies.contains(.newToken)
    // What the source has will do, if nothing fresher comes in a moment.
    let mayServe =
      !mustRefresh && longest ?? .zero == .zero
      && facts?.credentials.map { $0.servableUntil > now + RefreshPolicy.grace } ?? false
    let longestWait = asking.map { $0.deadline - $0.arrived }.max() ?? .zero
    return SourceDemand(
      mustRefresh: mustRefresh, minimumLife: longest ?? .zero, isUnattended: !isAwaited,
      wait: mayServe ? RefreshPolicy.grace : max(Limits.Session.sourceWait, longestWait),
      triesOnce: !asking.isEmpty && asking.allSatisfy(\.triesOnce))
  }

  /// Whether a refusal may mean the source's credentials: they are older than a minute, and were not
  /// renewed for such a refusal since the last success.
  func isOld(_ now: Instant) -> Bool {
    !wasRenewed && facts?.credentials.map { now - $0.received > .seconds(60) } ?? false
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
  func isOfSameUser(as held: Held) -> Bool {
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
