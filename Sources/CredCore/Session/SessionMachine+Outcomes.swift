extension SessionMachine {
  /// Takes the outcome of a call. An outcome that is no longer awaited is dropped: a logout, a
  /// sign-in or a `clear` came in between.
  mutating func outcomeReceived(
    _ call: CallID, _ outcome: UpstreamOutcome, _ context: inout EventContext
  ) {
    if let ended = renewal, ended.call == call {
      renewal = nil
      guard case .refreshing(let refresh) = work, refresh.call == call,
        refresh.step != .awaitRenewal || refresh.takes(outcome, of: ended)
          || refresh.isForLink && held.link?.refreshToken == ended.token
      else { return renewalEnded(ended, outcome, &context) }
    }
    guard case .refreshing(let refresh) = work, refresh.call == call else { return }
    if refresh.step == .renewLink || refresh.isForLink {
      return linkRenewalEnded(outcome, refresh, &context)
    }
    let outcome = judged(outcome, context.now)
    if case .proveLogin(let provider) = refresh.step {
      return loginProved(of: provider, outcome, refresh, &context)
    }
    take(outcome, refresh, &context)
  }

  private mutating func take(
    _ outcome: UpstreamOutcome, _ refresh: Refresh, _ context: inout EventContext
  ) {
    switch outcome {
    case .signedIn(let session): passwordAccepted(session, refresh, &context)
    case .providerTokens(let tokens, let serverTime):
      providerTokensReceived(tokens, serverTime, refresh, &context)
    case .refreshTokenReplaced(let token, let failure):
      refreshTokenReplaced(token, failure, refresh, &context)
    case .fileToken(let token): tokenFileRead(token, refresh, &context)
    case .token(let identityID, let token, let lifetime) where isBackendAsked:
      backendGave(token, of: identityID, lifetime, refresh, &context)
    case .token(let identityID, let token, _):
      cognitoGave(identityID, token, refresh, &context)
    case .identity(let identityID): cognitoGave(identityID, nil, refresh, &context)
    case .credentials(_, _, let lifetime) where lifetime <= .zero,
      .derived(_, let lifetime) where lifetime <= .zero:
      failed(.credentialsExpired, refresh, &context)
    case .credentials(let credentials, let identityID, let lifetime):
      credentialsReceived(credentials, of: identityID, lifetime, refresh, &context)
    case .sourceRenewed where derivedSource?.servable(context.now) == nil:
      fail(refresh, .sourceHasNothing, &context)
    case .sourceRenewed: startNextCall(refresh, &context)
    case .derived(let credentials, let lifetime):
      derivedReceived(credentials, lifetime, refresh, &context)
    case .failed(let failure): failed(failure, refresh, &context)
    }
  }

  /// The outcome of a call. A repeated web page with status 401 counts as the backend's own answer.
  private mutating func judged(_ outcome: UpstreamOutcome, _ now: Instant) -> UpstreamOutcome {
    var pages = unauthorizedPages ?? UnauthorizedPages()
    defer { unauthorizedPages = pages == UnauthorizedPages() ? nil : pages }
    return pages.judge(outcome, awaitsPassword ? \.signIn : \.session, now)
  }

  private mutating func backendGave(
    _ token: DeveloperToken, of identityID: IdentityID, _ lifetime: Duration?, _ refresh: Refresh,
    _ context: inout EventContext
  ) {
    var refresh = refresh
    backendTook(identityID, &refresh, &context)
    if let lifetime, lifetime <= .zero { return failed(.tokenExpired, refresh, &context) }
    setIdentity(identityID, &context)
    held.token = HeldToken(
      token, lifetime: lifetime, received: context.now, isAnew: refresh.demand == .new)
    refresh.done.insert(.newToken)
    keepTriedKey(&refresh, &context)
    endRefusedLink(refresh, &context)
    if let method = refresh.method { setState(.signedIn(method), &context) }
    if refresh.goal == .token { succeed(&context) } else { startNextCall(refresh, &context) }
  }

  /// - Parameter token: of GetOpenIdToken; nil after GetId.
  private mutating func cognitoGave(
    _ identityID: IdentityID, _ token: DeveloperToken?, _ refresh: Refresh,
    _ context: inout EventContext
  ) {
    if refusesIdentity(identityID, refresh, &context) { return }
    var refresh = refresh
    keepTriedKey(&refresh, &context)
    setIdentity(identityID, &context)
    if let token { refresh.atCognito = .gaveToken(token.token) }
    startNextCall(refresh, &context)
  }

  private mutating func credentialsReceived(
    _ credentials: Credentials, of identityID: IdentityID?, _ lifetime: Duration,
    _ refresh: Refresh, _ context: inout EventContext
  ) {
    if let identityID, refusesIdentity(identityID, refresh, &context) { return }
    var refresh = refresh
    keepTriedKey(&refresh, &context)
    // If a client brought the token, the identity comes from that token, not from the backend.
    let isClients = refresh.method == .developerToken || signIn?.claimedIdentity != nil
    // A renewal does not change the origin of the identity.
    let wasWithheld = held.isIdentityWithheld && held.identityID == identityID
    setIdentity(identityID, isWithheld: isClients || wasWithheld, &context)
    setState(refresh.method.map { .signedIn($0) } ?? .guest, &context)
    acceptSignIn(&context)
    held.credentials = HeldCredentials(
      credentials, lifetime: lifetime, received: context.now, jitter: context.jitter,
      isAnew: refresh.demand == .new || !(isBackendAsked || isProviderAsked))
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
    refresh.done.insert(.readFile)
    let former = held.user(plan)
    do {
      try held.logins.set(plan.tokenFileProvider ?? "", token: token)
      // Without an identity, its subject says whose the file is now.
      if former != held.user(plan) { forgetCredentials(&context) }
      announceChanges(&context)
      startNextCall(refresh, &context)
    } catch {
      fail(refresh, .notSent(error, to: .cognitoIdentity), &context)
    }
  }

  // MARK: Remedies

  /// Whether the refresh asks a backend for its token. Without a backend, GetOpenIdToken gives the
  /// token.
  var isBackendAsked: Bool {
    if case .backend = tokenSource { true } else { false }
  }

  private var isProviderAsked: Bool { if case .provider = tokenSource { true } else { false } }

  /// Prepares another call that may mend a failure; nil if none is left.
  private mutating func remedy(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) -> Refresh? {
    let remedy = refresh.remedy(after: failure, facts(of: refresh, context.now))
    if remedy.drops.contains(.token) { held.token = nil }
    if remedy.drops.contains(.loginsOfClients) { held.dropLoginsOfClients(plan) }
    if remedy.drops.contains(.idToken), let method = remedy.next?.method {
      held.state = .signedIn(method)
    }
    if remedy.drops.contains(.identity) { setIdentity(nil, &context) }
    return remedy.next
  }

  // MARK: Failure

  /// A call has failed. The refresh goes on if something is left to try.
  private mutating func failed(
    _ failure: UpstreamFailure, _ refresh: Refresh, _ context: inout EventContext
  ) {
    if derivedSource?.takesOlder(refresh, context.now) ?? false {
      return startNextCall(refresh, &context)
    }
    if !awaitsPassword, let next = remedy(refresh, failure, &context) {
      return startNextCall(next, &context)
    }
    failWithKey(refresh, failure, &context)
  }

  mutating func fail(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) {
    let failure = judged(failure)
    if signInFailed(refresh, failure, &context) {
      return context.actions.append(.announce(.signInFailed(failure)))
    }
    let hasRenewedSource = plan.followsSource && refresh.remedies.contains(.newToken)
    lastFailure = PastFailure(
      failure: failure, at: context.now,
      hasRenewedSource: hasRenewedSource || lastFailure?.hasRenewedSource ?? false)
    let pause = held.backOff.failed(failure.failureClass, jitter: context.jitter)
    held.pause = Pause(failure, now: context.now, pause: pause)
    work = .idle
    if let method = refresh.method, refuses(failure.failureClass, method, refresh) {
      // The next sign-in brings its own tokens.
      if method == .logins || method == .developerToken { held.endTokens() }
      setState(.tokensInvalid(method.withoutToken), &context)
    }
    context.actions.append(
      .announce(expiration == nil ? .failed(failure) : .degraded(failure)))
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
