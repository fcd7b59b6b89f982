extension SessionMachine {
  /// Takes the outcome of a call. An outcome that is no longer awaited is dropped: a logout, a
  /// sign-in or a `clear` came in between.
  mutating func outcomeReceived(
    _ call: CallID, _ outcome: UpstreamOutcome, _ context: inout EventContext
  ) {
    if let ended = renewal, ended.call == call {
      renewal = nil
      guard case .refreshing(let refresh) = work, refresh.call == call,
        !refresh.isAfterRenewal || refresh.takes(outcome, of: ended)
          || refresh.isForLink && held.link?.refreshToken == ended.token
      else { return renewalEnded(ended, outcome, &context) }
    }
    guard case .refreshing(var refresh) = work, refresh.call == call else { return }
    refresh.isAfterRenewal = false
    if refresh.renewsLink || refresh.isForLink {
      return linkRenewalEnded(outcome, refresh, &context)
    }
    let outcome = judged(outcome, context.now)
    if case .token = outcome, isBackendAsked { loginsTaken(&refresh) }
    switch outcome {
    case .credentials(_, _, let lifetime) where lifetime <= .zero:
      outcomeReceived(call, .failed(.credentialsExpired), &context)
    case .signedIn(let session):
      passwordAccepted(session, refresh, &context)
    case .poolTokens(let tokens, let serverTime):
      poolTokensReceived(tokens, serverTime, refresh, &context)
    case .refreshTokenReplaced(let token, let failure):
      refreshTokenReplaced(token, failure, refresh, &context)
    case .fileToken(let token):
      tokenFileRead(token, refresh, &context)
    case .token(let identityID, let token, _) where !isBackendAsked:
      if refusesIdentity(identityID, refresh, &context) { return }
      keepTriedKey(&refresh, &context)
      setIdentity(identityID, &context)
      refresh.openIDToken = token.token
      startNextCall(refresh, &context)
    case .token(_, _, let lifetime?) where lifetime <= .zero:
      outcomeReceived(call, .failed(.tokenExpired), &context)
    case .token(let identityID, let token, let lifetime):
      setIdentity(identityID, &context)
      held.token = HeldToken(
        token, lifetime: lifetime, received: context.now, isAnew: refresh.isForced)
      refresh.hasNewToken = true
      keepTriedKey(&refresh, &context)
      endRefusedLink(refresh, &context)
      if let method = refresh.method { setState(.signedIn(method), &context) }
      if refresh.goal == .token { succeed(&context) } else { startNextCall(refresh, &context) }
    case .identity(let identityID):
      if refusesIdentity(identityID, refresh, &context) { return }
      keepTriedKey(&refresh, &context)
      setIdentity(identityID, &context)
      startNextCall(refresh, &context)
    case .credentials(let credentials, let identityID, let lifetime):
      credentialsReceived(credentials, of: identityID, lifetime, refresh, &context)
    case .failed(let failure):
      if !awaitsPassword, let next = remedy(refresh, failure, &context) {
        return startNextCall(next, &context)
      }
      failWithKey(refresh, failure, &context)
    }
  }

  private mutating func credentialsReceived(
    _ credentials: Credentials, of identityID: IdentityID, _ lifetime: Duration,
    _ refresh: Refresh, _ context: inout EventContext
  ) {
    if refusesIdentity(identityID, refresh, &context) { return }
    var refresh = refresh
    keepTriedKey(&refresh, &context)
    // With a token that a client brought, the identity is that token's, not the backend's word.
    let isClients = refresh.method == .developerToken || signIn?.claimedIdentity != nil
    // A renewal changes nothing about where the identity came from.
    let wasWithheld = held.isIdentityWithheld && held.identityID == identityID
    setIdentity(identityID, isWithheld: isClients || wasWithheld, &context)
    setState(refresh.method.map { .signedIn($0) } ?? .guest, &context)
    acceptSignIn(&context)
    held.credentials = HeldCredentials(
      credentials, lifetime: lifetime, received: context.now, jitter: context.jitter,
      isAnew: refresh.isForced || !(isBackendAsked || isPoolAsked))
    refreshCount += 1
    context.actions.append(.credentialsChanged)
    context.actions.append(.announce(.refreshed(expiration: credentials.expiration)))
    succeed(&context)
  }

  mutating func succeed(_ context: inout EventContext) {
    lastFailure = nil
    endRefresh()
    signInSucceeded(&context)
  }

  private mutating func tokenFileRead(
    _ token: Secret, _ refresh: Refresh, _ context: inout EventContext
  ) {
    var refresh = refresh
    refresh.hasReadTokenFile = true
    do {
      try held.logins.set(plan.tokenFileProvider ?? "", token: token)
      startNextCall(refresh, &context)
    } catch {
      fail(refresh, .notSent(error, to: .cognitoIdentity), &context)
    }
  }

  // MARK: Remedies

  /// Whether the refresh asks a backend for its token. Without one, a token is GetOpenIdToken's.
  var isBackendAsked: Bool {
    if case .backend = tokenSource { true } else { false }
  }

  private var isPoolAsked: Bool { if case .userPool = tokenSource { true } else { false } }

  /// Prepares another call after a failure that one can mend. Each remedy is tried once in a
  /// refresh; nil where none is left.
  private mutating func remedy(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) -> Refresh? {
    if isPoolAsked { return remedyOfPool(refresh, failure, &context) }
    // Only a backend can give another token.
    guard isBackendAsked else { return remedyWithoutBackend(refresh, failure, &context) }
    if let withoutLogins = remedyOfLogins(refresh, failure) { return withoutLogins }
    if let withoutLink = remedyOfLink(refresh, failure) { return withoutLink }
    var refresh = refresh
    switch failure.failureClass {
    case .newTokenOnce:
      // Dropped in any case, so that the next refresh does not begin with it.
      held.token = nil
      guard refresh.remedies.insert(.newToken).inserted else { return nil }
    case .dropIdentityThenNewToken:
      held.token = nil
      guard refresh.remedies.insert(.droppedIdentity).inserted else { return nil }
      setIdentity(nil, &context)
    case .newIdentity:
      held.token = nil
      guard refresh.remedies.insert(.newIdentity).inserted else { return nil }
      setIdentity(nil, &context)
    case .retryWithoutIdentity:
      guard refresh.remedies.insert(.withoutIdentity).inserted else { return nil }
    // The identity may have been deleted: then Cognito refuses the backend's own request.
    case .permanentConfiguration
    where failure.findsRequestWrong && identityForBackend(refresh) != nil:
      refresh.remedies.insert(.withoutIdentity)
    default:
      return nil
    }
    return refresh
  }

  /// Guests and logins get a new identity from Cognito itself.
  private mutating func remedyWithoutBackend(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) -> Refresh? {
    // The client chose the identity: another one is not what it asked for.
    if let signIn, signIn.claimedIdentity != nil, !signIn.isAccepted { return nil }
    var refresh = refresh
    switch (failure.failureClass, tokenSource) {
    case (.newTokenOnce, _) where refresh.openIDToken != nil:
      guard refresh.remedies.insert(.newToken).inserted else { return nil }
      refresh.openIDToken = nil
    // The backend knows this user too. During a sign-in a bad token fails the sign-in instead.
    case (.newTokenOnce, .token) where plan.backend == .host && signIn == nil:
      guard refresh.remedies.insert(.newToken).inserted else { return nil }
      held.token = nil
      refresh.method = .host
    // The login belongs to another identity than the held one: GetId finds it.
    case (.newIdentity, .guest), (.newIdentity, .logins), (.newIdentity, .tokenFile),
      (.dropIdentityThenNewToken, .guest), (.dropIdentityThenNewToken, .logins),
      (.dropIdentityThenNewToken, .tokenFile), (.conflict, .logins), (.conflict, .tokenFile):
      guard refresh.remedies.insert(.newIdentity).inserted else { return nil }
      refresh.openIDToken = nil
      setIdentity(nil, &context)
    default:
      return nil
    }
    return refresh
  }

  // MARK: Failure

  mutating func fail(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) {
    if signInFailed(refresh, failure, &context) {
      return context.actions.append(.announce(.signInFailed(failure)))
    }
    lastFailure = PastFailure(failure: failure, at: context.now)
    let pause = held.backOff.failed(failure.failureClass, jitter: context.jitter)
    held.pause = Pause(failure, now: context.now, pause: pause)
    work = .idle
    if let method = refresh.method, refuses(failure.failureClass, method, refresh) {
      // The next sign-in brings its own tokens.
      if method == .logins || method == .developerToken { removeTokens() }
      setState(.tokensInvalid(method.withoutToken), &context)
    }
    context.actions.append(
      .announce(held.credentials == nil ? .failed(failure) : .degraded(failure)))
  }

  /// Whether a failure means that the user has to sign in again.
  private func refuses(
    _ failureClass: FailureClass, _ method: SignInMethod, _ refresh: Refresh
  ) -> Bool {
    switch (failureClass, method) {
    case (.signInRequired, _), (.newTokenOnce, .developerToken),
      (.dropIdentityThenNewToken, .developerToken):
      true
    // If Cognito accepted the logins and STS refuses Cognito's token, the operator has to act.
    case (.newTokenOnce, .logins): refresh.openIDToken == nil
    default:
      false
    }
  }
}
