extension SessionMachine {
  /// Starts a refresh if its time has come, or if a caller in person is a reason to hurry.
  mutating func startIfDue(_ turn: inout Turn) {
    if case .fetching(var attempt) = work {
      // A caller who wants credentials joins a fetch that was for a token alone.
      if waiters.contains(where: { $0.want == .credentials }) { attempt.goal = .credentials }
      work = .fetching(attempt)
    } else if nextStart.map({ $0 <= turn.now }) ?? false || isHurried(turn.now) {
      start(&turn)
    }
  }

  /// When a refresh starts if nothing happens before; nil where it takes an event first.
  var nextStart: Instant? {
    guard means != nil else { return nil }
    switch work {
    case .fetching:
      return nil
    case .idle:
      if let pause = held.pause {
        let isAwaited = waiters.contains { isServedByRefresh($0) && $0.deadline > pause.until }
        return isInUse || isAwaited ? pause.until : nil
      }
      let renewal = isInUse ? held.credentials?.refreshAt : nil
      let wanted = waiters.compactMap { waiter in
        let start = earliestStart(for: waiter)
        return isServedByRefresh(waiter) && start < waiter.deadline ? start : nil
      }
      return (wanted + [renewal].compactMap(\.self)).min()
    }
  }

  /// Whether a refresh could do anything for a session as it stands.
  var canRefresh: Bool { means != nil }

  /// Whether only a sign-in helps a waiter.
  func needsSignIn(_ waiter: Waiter) -> Bool {
    if case .tokensInvalid = held.state { return true }
    return means == nil || !isServedByRefresh(waiter)
  }

  /// Whether somebody asked just now who is worth an attempt before the pause is over, and even
  /// one that they have no time to wait for. Who was answered from the cache is not.
  private func isHurried(_ now: Instant) -> Bool {
    waiters.contains { waiter in
      guard means != nil, waiter.arrived == now, isServedByRefresh(waiter) else { return false }
      return (held.pause?.callersFrom ?? earliestStart(for: waiter)) <= now
    }
  }

  /// Tokens come from a backend alone; guests and other logins never have one.
  private func isServedByRefresh(_ waiter: Waiter) -> Bool {
    guard waiter.want == .token else { return true }
    return if case .backend = means { true } else { false }
  }

  /// Who is not content with what came a moment ago waits a little for the next.
  func earliestStart(for waiter: Waiter) -> Instant {
    let received = waiter.want == .token ? held.token?.received : held.credentials?.received
    guard waiter.isDemanding, let received else { return waiter.arrived }
    return max(waiter.arrived, received + RefreshPolicy.demandInterval)
  }

  mutating func start(_ turn: inout Turn) {
    guard let means else { return }
    held.pause = held.pause?.ended(turn.now)
    let isForToken = !waiters.isEmpty && waiters.allSatisfy { $0.want == .token }
    proceed(
      Attempt(
        goal: isForToken && signIn == nil ? .token : .credentials,
        voucher: means.voucher), &turn)
  }
}

extension SessionMachine {
  /// Makes the next call of an attempt from what the session holds.
  mutating func proceed(_ attempt: Attempt, _ turn: inout Turn) {
    guard let call = nextCall(for: attempt, turn.now) else { return stopRefresh() }
    make(call, for: attempt, &turn)
  }

  /// Makes a call, whose answer is then the only one that is awaited.
  mutating func make(_ call: UpstreamCall, for attempt: Attempt, _ turn: inout Turn) {
    var attempt = attempt
    let id = turn.callIDs.next()
    attempt.call = id
    work = .fetching(attempt)
    turn.actions.append(.call(id, call))
  }

  private func nextCall(for attempt: Attempt, _ now: Instant) -> UpstreamCall? {
    let readsFile = plan.tokenFileProvider != nil && !attempt.hasReadTokenFile
    switch means {
    case nil: return nil
    case .backend(_, let session):
      if attempt.goal == .credentials, let token = held.token, isUsable(token, now),
        let identityID = held.identityID
      {
        return exchange(token, identityID)
      }
      if readsFile { return .readTokenFile }
      return .tokenCallback(
        identityID: identity(for: attempt), logins: held.logins, session: session)
    case .token:
      guard let token = held.token, let identityID = held.identityID else { return nil }
      return exchange(token, identityID)
    case .tokenFile where readsFile: return .readTokenFile
    // Logins were added to the one of the file, which somebody else keeps fresh.
    case .logins where readsFile && plan.tokenFileProvider.flatMap { held.logins[$0] } != nil:
      return .readTokenFile
    case .logins, .tokenFile: return directCall(held.logins, attempt)
    case .guest: return directCall(LoginsMap(), attempt)
    }
  }

  /// The identity that a backend is told of.
  private func identity(for attempt: Attempt) -> IdentityID? {
    if attempt.remedies.contains(.withoutIdentity) { return nil }
    switch held.state {
    // A client said whose that one is. Told of it, a backend would link its own user with it.
    case .signedIn(.developerToken), .tokensInvalid(.developerToken): return nil
    default: return held.identityID
    }
  }

  /// A developer token for credentials.
  private func exchange(_ token: HeldToken, _ identityID: IdentityID) -> UpstreamCall {
    switch plan.flow {
    case .enhanced:
      .getCredentials(
        identityID: identityID,
        logins: LoginsMap(developerToken: token.token, key: plan.developerLoginKey),
        customRoleARN: held.customRoleARN)
    case .basic: .assumeRole(identityID: identityID, token: token.token.token)
    }
  }

  /// Without a backend Cognito itself gives the identity, and in the basic flow the token.
  private func directCall(_ logins: LoginsMap, _ attempt: Attempt) -> UpstreamCall {
    guard let identityID = held.identityID else { return .getID(logins: logins) }
    switch (plan.flow, attempt.openIDToken) {
    case (.enhanced, _):
      return .getCredentials(
        identityID: identityID, logins: logins, customRoleARN: held.customRoleARN)
    case (.basic, nil): return .getOpenIDToken(identityID: identityID, logins: logins)
    case (.basic, let token?): return .assumeRole(identityID: identityID, token: token)
    }
  }

  /// A token without an expiration serves the attempt that fetched it, and no other.
  private func isUsable(_ token: HeldToken, _ now: Instant) -> Bool {
    token.usableUntil > now || (token.received == now && token.usableUntil == token.received)
  }
}

extension SessionMachine {
  /// What a refresh goes by.
  enum Means {
    /// A backend gives the token.
    case backend(Voucher, BackendSession?)
    /// The developer token that a client brought.
    case token
    /// Logins of other providers.
    case logins
    /// The one login of those that a file holds.
    case tokenFile
    /// Nothing: an unauthenticated identity.
    case guest

    /// What the user will have signed in by; nil for guests.
    var voucher: Voucher? {
      switch self {
      case .backend(let voucher, _): voucher
      case .token: .developerToken
      case .logins: .logins
      case .tokenFile: .tokenFile
      case .guest: nil
      }
    }
  }

  /// Nil where only a sign-in helps.
  var means: Means? {
    switch held.state {
    case .signedIn(.host), .tokensInvalid(.host): .backend(.host, nil)
    case .signedIn(.password(let session)): .backend(.password(session), session)
    case .signedIn(.developerToken):
      if held.token != nil, held.identityID != nil { .token } else { renewal }
    case .signedIn(.logins): .logins
    case .signedIn(.tokenFile), .tokensInvalid(.tokenFile): .tokenFile
    case .tokensInvalid(.developerToken): renewal
    case .tokensInvalid: nil
    case .signedOut(byUser: false): unattendedMeans
    case .signedOut(byUser: true), .guest: plan.allowsGuests ? .guest : nil
    }
  }

  /// What has another token when the one that a client brought is used up.
  private var renewal: Means? { plan.backend == .host ? .backend(.host, nil) : nil }

  /// What needs nobody: used unless the user signed out on purpose.
  private var unattendedMeans: Means? {
    if plan.backend == .host { return .backend(.host, nil) }
    if plan.tokenFileProvider != nil { return .tokenFile }
    return plan.allowsGuests ? .guest : nil
  }
}

/// One refresh under way: a chain of upstream calls, one at a time.
struct Attempt: Sendable, Equatable {
  /// The remedies that were tried. Each is tried once, so that no attempt can go round in circles.
  struct Remedies: OptionSet, Sendable {
    let rawValue: UInt8
    static let newToken = Remedies(rawValue: 1)
    static let droppedIdentity = Remedies(rawValue: 2)
    static let withoutIdentity = Remedies(rawValue: 4)
    static let newIdentity = Remedies(rawValue: 8)
  }

  /// The call that is awaited, nil before the first; an outcome of another is stale.
  var call: CallID?
  /// Where the chain ends.
  var goal: Waiter.Want
  var remedies: Remedies = []
  /// The standing that a success leads to: a guest's where it is nil.
  var voucher: Voucher?
  /// The token of GetOpenIdToken, on its way to STS.
  var openIDToken: Secret?
  var hasReadTokenFile = false

  /// Whether a token that arrives is GetOpenIdToken's, not a backend's.
  func awaitsOpenIDToken(_ means: SessionMachine.Means?) -> Bool {
    if case .backend = means { false } else { true }
  }
}
