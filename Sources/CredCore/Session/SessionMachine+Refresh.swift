// MARK: When a refresh starts

extension SessionMachine {
  /// Starts a refresh if its time has come or a new caller is a reason to start it now.
  mutating func startIfDue(_ context: inout EventContext) {
    if case .refreshing(var refresh) = work {
      // A caller that wants credentials extends a refresh that was only for the backend's token.
      if !refresh.isForLink, waiters.contains(where: { $0.want == .credentials }) {
        refresh.goal = usualGoal
      }
      work = .refreshing(refresh)
    } else if nextStart.map({ $0 <= context.now }) ?? false || callerStartsRefresh(context.now) {
      startRefresh(&context)
    }
  }

  /// When the next refresh starts if no event comes before; nil if it needs an event.
  var nextStart: Instant? {
    guard work == .idle, canRefresh else { return nil }
    var start = isInUse ? held.pause?.until ?? refreshAt : nil
    for waiter in waiters where needsRefresh(waiter) {
      guard let wanted = nextStart(for: waiter) else { continue }
      start = min(start ?? wanted, wanted)
    }
    return start
  }

  /// When a refresh starts for a caller that waits; nil if that is after the caller's deadline.
  private func nextStart(for waiter: Waiter) -> Instant? {
    guard let (pause, failed) = pause(for: waiter) else {
      let start = earliestStart(for: waiter)
      return start < waiter.deadline ? start : nil
    }
    guard pause.until < waiter.deadline else { return nil }
    // A caller that comes during the pause does not wait longer than one that comes after it. A
    // caller that was there before the failed attempt waits for the next planned one: otherwise a
    // single caller would end each pause.
    return failed.map { waiter.arrived > $0 } ?? true ? pause.callersFrom : pause.until
  }

  /// When a refresh that nobody asked for may start; nil while one is under way, or if none is
  /// possible without a sign-in. A user who signed out stays signed out.
  ///
  /// - Parameter signingIn: whether the refresh may also sign the user in for the first time.
  public func unattendedStart(signingIn: Bool) -> Instant? {
    guard work == .idle, signIn == nil, canRefresh else { return nil }
    if case .signedOut(let isByUser) = held.state, isByUser || !signingIn { return nil }
    let renewed = held.renewed(plan)
    // Nothing is held: as soon as possible.
    guard let due = renewed == nil ? Instant(nanoseconds: 0) : renewed?.at else { return nil }
    return max(due, held.pause?.until ?? due)
  }

  mutating func renewUnattended(_ context: inout EventContext) {
    guard let start = unattendedStart(signingIn: true), start <= context.now else { return }
    startRefresh(&context)
  }

  /// Whether a waiter can only be answered after a sign-in.
  func needsSignIn(_ waiter: Waiter) -> Bool {
    if case .tokensInvalid = held.state { return true }
    return !canRefresh || !isServedByRefresh(waiter)
  }

  /// Whether a caller that came with this event starts a refresh before the pause is over. Its own
  /// deadline does not matter: the next caller has the result.
  private func callerStartsRefresh(_ now: Instant) -> Bool {
    canRefresh
      && waiters.contains { needsRefresh($0) && startsRefresh($0, now) }
  }

  /// Whether a waiter came with this event, and starts a refresh.
  private func startsRefresh(_ waiter: Waiter, _ now: Instant) -> Bool {
    waiter.arrived == now && callersStart(for: waiter) <= now
  }

  /// Whether a refresh should start now for this waiter. The waiter must be one that a refresh can
  /// serve.
  private func isDue(_ waiter: Waiter, _ now: Instant) -> Bool {
    startsRefresh(waiter, now) || nextStart(for: waiter).map { $0 <= now } ?? false
  }

  /// From when on a caller starts a refresh.
  private func callersStart(for waiter: Waiter) -> Instant {
    pause(for: waiter)?.pause.callersFrom ?? earliestStart(for: waiter)
  }

  /// Only a backend and a linked sign-in give tokens; guests and logins have none.
  func isServedByRefresh(_ waiter: Waiter) -> Bool {
    switch (waiter.want, tokenSource) {
    case (.credentials, _): plan.product == .credentials
    case (.token, .backend): true
    case (_, .provider(let session)): waiter.want.isOfProvider && !session.servesToItsEnd
    case (_, .backend): linking.canRenew(for: waiter)
    default: false
    }
  }

  /// Whether a waiter is served by a refresh that is yet to start.
  private func needsRefresh(_ waiter: Waiter) -> Bool {
    isServedByRefresh(waiter) && !linking.isRenewed(for: waiter)
  }

  /// The pause that a failure imposes on what the waiter asks for, and when that failed.
  func pause(for waiter: Waiter) -> (pause: Pause, since: Instant?)? {
    guard linking.serves(waiter) else { return held.pause.map { ($0, lastFailure?.at) } }
    return linkTrouble.map { ($0.pause, $0.at) }
  }

  /// The goal of a refresh that starts now.
  private func nextGoal(_ now: Instant) -> Waiter.Want {
    let served = waiters.filter(needsRefresh)
    guard signIn == nil, !served.isEmpty else { return usualGoal }
    let linking = linking
    // Whoever waits for the backend has its pause, which a token of the link does not end.
    let due = served.filter { isDue($0, now) }
    if !due.isEmpty, due.allSatisfy(linking.serves) { return .idToken }
    let others = served.filter { !linking.serves($0) }
    // The credentials may be due, and who waits for a token may have to wait on.
    return others.isEmpty || others.contains { $0.want == .credentials } ? usualGoal : .token
  }

  /// A caller that does not accept what just arrived waits for a minimum interval.
  func earliestStart(for waiter: Waiter) -> Instant {
    let received =
      switch waiter.want {
      case .credentials: held.credentials?.received
      case .token: held.token?.received
      case .idToken, .accessToken: providerToken(for: waiter.want)?.received
      case .accountToken: Instant?.none
      }
    guard waiter.isDemanding, let received else { return waiter.arrived }
    let interval =
      waiter.want.isOfProvider ? Limits.User.providerDemandInterval : Limits.User.demandInterval
    return max(waiter.arrived, received + interval)
  }

  mutating func startRefresh(_ context: inout EventContext) {
    guard let tokenSource else { return }
    var refresh = Refresh(goal: nextGoal(context.now), method: tokenSource.method)
    refresh.key.knownIdentity = identityOfUser
    if let unread = signIn?.unreadLogins, !unread.isEmpty { refresh.atCognito = .proving(unread) }
    if !refresh.isForLink { held.pause = held.pause?.ended(context.now) }
    // A token of the user pool that is held is not what its waiter asks for.
    let wantsNewToken =
      renewsUsableTokens
      || waiters.contains {
        guard !linking.isAsked(by: $0) else { return false }
        return $0.mustRefresh || $0.want.isOfProvider && earliestStart(for: $0) <= context.now
      }
    if wantsNewToken { refresh.demand = .new }
    startNextCall(refresh, &context)
  }

  /// Drops the refresh, its pause and the count of failures.
  mutating func endRefresh() {
    stopRefresh()
    held.backOff = BackOff()
  }

  /// Drops the refresh and its pause. Failures still count.
  mutating func stopRefresh() {
    work = .idle
    held.pause = nil
  }
}

// MARK: - Which call is next

extension SessionMachine {
  /// Starts the next call of a refresh, chosen by the tokens that the session holds.
  mutating func startNextCall(_ refresh: Refresh, _ context: inout EventContext) {
    guard let call = refresh.nextCall(facts(of: refresh, context.now)) else {
      return isComplete(refresh) ? succeed(&context) : stopRefresh()
    }
    startCall(call, for: refresh, &context)
  }

  /// Starts a call. From here on only its outcome is awaited.
  mutating func startCall(
    _ call: UpstreamCall, for refresh: Refresh, _ context: inout EventContext
  ) {
    // A password is checked now: no other call can replace the check, and it does not depend on the
    // renewal of a linked sign-in.
    if !call.isPasswordCheck, waitsForRenewal(refresh, before: call) { return }
    var refresh = refresh
    let id = context.callIDs.next()
    refresh.awaits(id, at: refresh.step(of: call, held, plan))
    if case .renewProviderTokens(let session, _) = call {
      renewal = ProviderRenewal(call: id, token: session.refreshToken, started: context.now)
    }
    work = .refreshing(refresh)
    context.actions.append(.call(id, call))
  }

  /// What the next call of a refresh and its remedies depend on.
  func facts(of refresh: Refresh, _ now: Instant) -> RefreshFacts {
    RefreshFacts(
      plan: plan, held: held, tokens: tokenSource, signIn: signIn,
      linkToRenew: linking.toRenew(before: refresh, now), source: derivedSource, now: now)
  }

  // MARK: Where the tokens come from

  /// Nil if only a sign-in helps.
  var tokenSource: TokenSource? {
    guard !plan.followsSource else { return source?.canRefresh ?? false ? .source : nil }
    return held.tokenSource(plan, claimed: signIn?.claimedIdentity)
  }
}
