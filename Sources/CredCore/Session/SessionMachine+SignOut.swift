extension SessionMachine {
  /// Drops everything. The outcome of a call under way is dropped too. The service decides whether
  /// the tokens are revoked where they came from.
  mutating func signOut(_ context: inout EventContext) {
    cancelSignIn(
      ProtocolError(.signInFailed, "a logout of the same profile came in between"),
      abandons: false, &context)
    forgetUser(&context)
  }

  private mutating func forgetUser(_ context: inout EventContext) {
    endRefresh()
    held.removeTokens()
    forgetCredentials(&context)
    held.username = nil
    held.customRoleARN = nil
    // The failure's message may be about this user.
    lastFailure = nil
    unauthorizedPages = nil
    forgetIdentity(&context)
    setState(.signedOut(byUser: true), &context)
  }

  /// Why clients of a uid's former owner are refused.
  public static let uidPassedOn = "this uid belongs to another user now"

  /// Drops everything of the former person, whose clients get nothing of the new person. The new
  /// person never signed out, so an unattended sign-in is allowed.
  mutating func changeUser(_ context: inout EventContext) {
    for waiter in waiters {
      context.actions.append(
        .refuse(waiter.id, ProtocolError(.accessDenied, Self.uidPassedOn)))
    }
    waiters = []
    cancelSignIn(ProtocolError(.accessDenied, Self.uidPassedOn), &context)
    let tokens = held.providerSessions
    signOut(&context)
    abandon(tokens, &context)
    held.state = .signedOut(byUser: false)
    announcedState = held.state.reported
    refreshCount = 0
  }

  /// `credentials` is the mobile SDKs' clearCredentials, `identity` their clearKeychain.
  mutating func clear(_ scope: ClearScope, _ context: inout EventContext) {
    // A pending sign-in is ended, because it could be rolled back to a state that is dropped now.
    // An accepted sign-in goes on and fetches everything anew.
    if let signIn, !signIn.isAccepted {
      cancelSignIn(
        ProtocolError(.signInFailed, "a clear of the same profile came in between"), &context)
    }
    defer { resumeSignIn(&context) }
    forgetCredentials(&context)
    // The call under way uses what is dropped now.
    if case .refreshing = work { stopRefresh() }
    guard scope == .identity else { return }
    endRefresh()
    let link = held.link.map { [$0] } ?? []
    held.removeTokens()
    abandon(link, &context)
    forgetIdentity(&context)
    switch held.state {
    case .signedIn(.developerToken), .signedIn(.logins), .tokensInvalid:
      setState(.signedOut(byUser: false), &context)
    case .guest:
      // In a profile that signs in unattended, a session is a guest's only after a logout.
      setState(.signedOut(byUser: plan.worksUnattended), &context)
    case .signedIn(.host), .signedIn(.tokenFile), .signedIn(.password),
      .signedIn(.provider), .signedIn(.source), .signedOut:
      // These users sign in again without the dropped parts.
      break
    }
  }

  /// Refuses the callers that only a sign-in could help.
  mutating func release(_ context: inout EventContext) {
    guard signIn == nil else { return }
    let released = waiters.filter(needsSignIn)
    waiters.removeAll(where: needsSignIn)
    for waiter in released {
      context.actions.append(.refuse(waiter.id, signInRequired(for: waiter)))
    }
  }

  mutating func forgetCredentials(_ context: inout EventContext) {
    guard held.credentials != nil else { return }
    held.credentials = nil
    context.actions.append(.credentialsChanged)
  }

  // MARK: Tokens and logins that expire

  /// Whether to warn that tokens expire. There is no warning for tokens that were refused, or that
  /// are not accepted yet.
  private var warnsOfExpiry: Bool {
    if case .tokensInvalid = held.state { return false }
    return signIn?.isAccepted ?? true
  }

  /// When the next warning is due.
  var expiryWarning: Instant? { warnsOfExpiry ? held.loginExpirations.nextWarning : nil }

  mutating func warnOfExpiry(_ context: inout EventContext) {
    guard warnsOfExpiry else { return }
    for (provider, end) in held.loginExpirations.takeWarnings(at: context.now) {
      let left = max(Int((end - context.now).inSeconds), 0)
      let message = "the token of \(provider) runs out in \(left) s; sign in with a new one"
      context.actions.append(.announce(.expiring(ProtocolError(.tokenRejected, message))))
    }
  }
}

// MARK: - A changed profile

extension SessionMachine {
  /// Takes another configuration of the profile. Waiters keep waiting.
  mutating func changeProfile(
    _ next: SessionPlan, _ change: ProfileChange, _ context: inout EventContext
  ) {
    if change.contains(.identity) {
      beginAnew(&context)
    } else {
      if change.contains(.backend) { leaveBackend(&context) }
      if change.contains(.credentials) { dropCredentialsOfOldProfile(&context) }
    }
    plan = next
    if !next.keepsAccessToken { dropAccessTokens() }
    leaveLink(isElsewhere: change.contains(.link), &context)
    // The change may have removed the cause of a failure.
    linkTrouble = nil
    if work == .idle, held.pause != nil { endRefresh() }
    resumeSignIn(&context)
  }

  /// Goes on with a sign-in whose call was dropped. The changed profile may have no source of
  /// tokens for it.
  private mutating func resumeSignIn(_ context: inout EventContext) {
    guard signIn != nil, work == .idle else { return }
    startRefresh(&context)
    if work == .idle { cancelSignIn(signInRequired, &context) }
  }

  /// Programs may not have access tokens any more.
  private mutating func dropAccessTokens() {
    held.dropAccessTokens()
    signIn?.before.dropAccessTokens()
    guard case .refreshing(var refresh) = work, case .provider = refresh.method,
      case .signedIn(let method) = held.state
    else { return }
    refresh.method = method
    work = .refreshing(refresh)
  }

  private mutating func dropCredentialsOfOldProfile(_ context: inout EventContext) {
    forgetCredentials(&context)
    signIn?.before.credentials = nil
    // The call under way asks for the old credentials. The check of a password does not depend on
    // the change, and must not be repeated.
    if case .refreshing = work, !awaitsPassword { endRefresh() }
  }

  /// Sends nothing of the former backend to the new one: no session token, no name for the user, no
  /// IdentityId. The outcome of a call to the former backend is dropped.
  private mutating func leaveBackend(_ context: inout EventContext) {
    switch signIn?.kind {
    case .password, .provider: cancelSignIn(.configurationChanged, &context)
    // The logins were meant for the former backend.
    case .tokens
    where signIn?.isLinkingLogins ?? false && [.host, nil].contains(held.state.method):
      cancelSignIn(.configurationChanged, &context)
    case nil, .host, .tokens: break
    }
    if case .refreshing = work { stopRefresh() }
    unauthorizedPages = nil
    let tokens = providerSessions
    signIn?.before.leaveBackend()
    held.leaveBackend()
    // The user has not agreed to be linked to a user of the new backend.
    signIn?.before.link = nil
    held.link = nil
    abandon(tokens, &context)
    announceChanges(&context)
  }

  private mutating func beginAnew(_ context: inout EventContext) {
    cancelSignIn(.configurationChanged, &context)
    let byUser = held.state == .signedOut(byUser: true)
    let tokens = held.providerSessions
    forgetUser(&context)
    abandon(tokens, &context)
    // The change does not count as a logout; an earlier logout still holds.
    held.state = .signedOut(byUser: byUser)
  }
}

extension ProtocolError {
  static let configurationChanged = ProtocolError(
    .signInFailed, "the profile's configuration changed in between")
}

/// What a session must drop when the configuration of its profile changes.
public struct ProfileChange: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Nothing that the session holds depends on the change.
  public static let nothingHeld: ProfileChange = []
  /// The profile would give other credentials: they are fetched anew. The user stays signed in.
  public static let credentials = ProfileChange(rawValue: 1)
  /// The backend is at another place, or another certificate authority vouches for it: it gets
  /// nothing that the former one gave.
  public static let backend = ProfileChange(rawValue: 2)
  /// The identity or the kind of sign-in would be another: the session begins anew.
  public static let identity = ProfileChange(rawValue: 4)
  /// As ``backend``, for the provider whose sign-ins are linked.
  public static let link = ProfileChange(rawValue: 8)
}

extension Profile {
  /// The parts of a session that are affected if its profile becomes `next`. A restart applies the
  /// same rules.
  public func change(to next: Profile) -> ProfileChange {
    if identityFingerprint != next.identityFingerprint { return .identity }
    var change = ProfileChange.nothingHeld
    // Of a derived profile every key counts: what was given under the old ones may be wider.
    if credentialsFingerprint != next.credentialsFingerprint || derivation != nil && self != next {
      change.insert(.credentials)
    }
    if backendFingerprint != next.backendFingerprint { change.insert(.backend) }
    if link?.backendFingerprint != next.link?.backendFingerprint { change.insert(.link) }
    return change
  }
}
