extension SessionMachine {
  // MARK: Start

  mutating func beginSignIn(_ request: SignInRequest, _ context: inout EventContext) {
    // The later of two sign-ins wins. The outcome of the earlier one's call is dropped.
    cancelSignIn(
      ProtocolError(.signInFailed, "another sign-in to the same profile took its place"), &context)
    signIn = SignInUnderWay(
      before: held, kind: request.input.kind, deadline: request.deadline, number: request.number,
      client: request.id, onlookers: request.onlookers)
    held.customRoleARN = request.customRoleARN
    endRefresh()
    switch request.input {
    case .password(let name, let password):
      return startCall(
        .signIn(username: name, password: password),
        for: Refresh(goal: .credentials, method: nil), &context)
    case .host: signInByHost(&context)
    case .poolTokens(let poolSignIn):
      let isLinked = plan.link == poolSignIn.issuer
      let error = isLinked ? useLink(poolSignIn, &context) : usePoolTokens(poolSignIn, &context)
      if let error {
        if let refused = PoolSession(poolSignIn, keepsAccessToken: false) {
          abandon([refused], &context)
        }
        return cancelSignIn(error, &context)
      }
    case .username, .browser, .device:
      preconditionFailure("the profile refuses it, or a conversation takes it")
    case .developerToken(let identityID, let token):
      useDeveloperToken(token, of: identityID, request, &context)
    case .logins(let added, let identityID, let isAlone):
      useLogins(added, isAlone: isAlone, request, &context)
      guard let identityID else { break }
      setIdentity(nil, &context)
      signIn?.claimedIdentity = identityID
    }
    startRefresh(&context)
    if case .refreshing = work { return }
    // A sign-in by the host in a profile that has no source of tokens: no outcome would end it.
    cancelSignIn(signInRequired, &context)
  }

  private mutating func signInByHost(_ context: inout EventContext) {
    switch held.state {
    // The source of tokens is asked again. What is valid stays until it has answered.
    case .signedIn(.host), .tokensInvalid(.host), .signedIn(.tokenFile): return
    // A guest's identity becomes the user's.
    case .signedOut, .guest: break
    case .signedIn, .tokensInvalid: setIdentity(nil, &context)
    }
    held.removeTokens()
    forgetCredentials(&context)
    held.username = nil
    held.state = .signedOut(byUser: false)
  }

  private mutating func useDeveloperToken(
    _ developerToken: DeveloperToken, of identityID: IdentityID, _ request: SignInRequest,
    _ context: inout EventContext
  ) {
    held.removeTokens()
    forgetCredentials(&context)
    held.username = nil
    setIdentity(nil, &context)
    signIn?.claimedIdentity = identityID
    // Cognito decides about a token that seems to have expired: this host's clock may be wrong.
    let lifetime = request.expires.flatMap { $0 > context.now ? $0 - context.now : nil }
    held.token = HeldToken(developerToken, lifetime: lifetime, received: context.now)
    // A backend that trusts the host gives the next token: no warning is needed.
    if plan.backend != .host {
      held.loginExpirations.set(plan.developerLoginKey, end: request.expires, now: context.now)
    }
    held.state = .signedIn(.developerToken)
  }

  /// Adds logins; those of the same providers are replaced. With a backend they are sent to it to be
  /// linked, without one they sign the user in.
  private mutating func useLogins(
    _ added: LoginsMap, isAlone: Bool, _ request: SignInRequest, _ context: inout EventContext
  ) {
    let isLinked = !isAlone && areLoginsLinked
    if isAlone { dropAllOfUser(&context) } else if !isLinked { prepareForLogins(&context) }
    // A client's developer token is not the backend's word, nor is its identity.
    if isLinked, held.state.method == .developerToken { dropAllOfUser(&context) }
    held.token = nil
    held.add(added, request, context.now)
    switch held.state {
    case .signedOut where isLinked, .guest where isLinked:
      forgetCredentials(&context)
      held.state = .signedOut(byUser: false)
    case _ where isLinked:
      // The user stays the same: what is valid stays until the backend has answered.
      break
    default:
      forgetCredentials(&context)
      held.state = .signedIn(.logins)
    }
  }

  /// Whether further logins go to the backend, for the user whom it vouches for. Otherwise they are
  /// the sign-in.
  private var areLoginsLinked: Bool {
    switch held.state {
    case .signedIn(.host), .signedIn(.password), .signedIn(.userPool), .tokensInvalid(.host): true
    case .signedOut, .guest, .signedIn(.developerToken), .tokensInvalid(.developerToken):
      plan.backend == .host
    case .signedIn, .tokensInvalid: false
    }
  }

  /// Nothing of the user goes into the next sign-in.
  mutating func dropAllOfUser(_ context: inout EventContext) {
    held.removeTokens()
    forgetCredentials(&context)
    held.username = nil
    setIdentity(nil, &context)
    held.state = .signedOut(byUser: false)
  }

  /// Drops what logins that sign the user in do not take over.
  private mutating func prepareForLogins(_ context: inout EventContext) {
    switch held.state {
    // They take over a guest's identity, and the identity of the user's other logins.
    case .guest, .signedOut, .signedIn(.logins), .signedIn(.tokenFile): break
    // One of the held logins was refused, and would be again.
    case .tokensInvalid(.logins), .tokensInvalid(.tokenFile): held.removeTokens()
    // Another kind of sign-in. If the logins are linked to its identity, GetId finds it again.
    case .signedIn, .tokensInvalid:
      held.removeTokens()
      setIdentity(nil, &context)
    }
    held.username = nil
  }

  // MARK: Acceptance

  /// Whether the backend is checking a password. No other call can make up for its refusal: it could
  /// only succeed for the user who was signed in before.
  var awaitsPassword: Bool {
    guard let signIn, case .password = signIn.kind else { return false }
    return !signIn.isAccepted
  }

  mutating func passwordAccepted(
    _ session: BackendSession, _ refresh: Refresh, _ context: inout EventContext
  ) {
    guard case .password(let name) = signIn?.kind else {
      preconditionFailure("only a sign-in sends a password to a backend")
    }
    // Another user's identity must not become this one's. A guest's identity does.
    let isSameUser = held.username?.utf8.elementsEqual(name.utf8) ?? false
    if !isSameUser && held.state != .guest { setIdentity(nil, &context) }
    let link = isSameUser ? held.link : nil
    held.removeTokens()
    held.link = link
    forgetCredentials(&context)
    held.username = name
    held.state = .signedIn(.password(session))
    acceptSignIn(&context)
    var refresh = refresh
    refresh.method = .password(session)
    startNextCall(refresh, &context)
  }

  mutating func acceptSignIn(_ context: inout EventContext) {
    let former = formerHeld?.poolSessions ?? []
    signIn?.state = .accepted
    abandon(former, &context)
    announceChanges(&context)
  }

  // MARK: End

  mutating func signInSucceeded(_ context: inout EventContext) {
    acceptSignIn(&context)
    guard let ended = signIn.take() else { return }
    context.actions.append(.signInEnded(ended.number, nil))
    for client in ended.clients { context.actions.append(.giveState(client)) }
  }

  /// Ends a sign-in whose refresh failed.
  ///
  /// - Returns: whether the failure ended there; false if it counts as the session's own.
  mutating func signInFailed(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) -> Bool {
    guard let ended = signIn else { return false }
    // An unavailable upstream did not refuse the user's own tokens: they are tried again. What a
    // client brought is not accepted on trust, nor is a link that the backend has not seen.
    if failure.failureClass.isTransient, case .signedIn = held.state,
      ended.isAccepted || !isUndecided(refresh)
    {
      signInSucceeded(&context)
      return false
    }
    signIn = nil
    refuse(ended, Self.refusal(of: failure), &context)
    if ended.isAccepted { return false }
    rollBack(ended, &context)
    // The session's own next refresh would try the same: the failure counts for it.
    return ended.kind != .host || tokenSource?.method != refresh.method
  }

  /// Whether the call that has failed is the one that decides the sign-in.
  private func isUndecided(_ refresh: Refresh) -> Bool {
    awaitsPassword || signIn?.kind == .userPool || isLinkingLogins && refresh.bringsLogins
      || refresh.method.map(isProvenByCognito) ?? false
  }

  /// Whether only Cognito can say that a sign-in is good: the client brought its tokens.
  private func isProvenByCognito(_ method: SignInMethod) -> Bool {
    switch method {
    case .developerToken, .logins, .userPool: signIn?.kind == .tokens
    case .host, .password, .tokenFile: false
    }
  }

  /// Refuses a sign-in because of another wish of the user. It is rolled back although the backend
  /// may still accept the password.
  ///
  /// - Parameter abandons: whether the tokens that it brought are to be revoked.
  mutating func cancelSignIn(
    _ error: ProtocolError, abandons: Bool = true, _ context: inout EventContext
  ) {
    guard let ended = signIn else { return }
    signIn = nil
    refuse(ended, error, &context)
    if ended.isAccepted { return }
    rollBack(ended, abandons: abandons, &context)
  }

  private func refuse(
    _ ended: SignInUnderWay, _ error: ProtocolError, _ context: inout EventContext
  ) {
    // Who was accepted stays signed in: the failure is the session's own.
    context.actions.append(.signInEnded(ended.number, ended.isAccepted ? nil : error))
    for client in ended.clients { context.actions.append(.refuse(client, error)) }
  }

  /// Restores the state before the sign-in. Watchers were not told of the sign-in, so nothing is
  /// announced. The tokens that it brought are nobody's.
  private mutating func rollBack(
    _ refused: SignInUnderWay, abandons: Bool = true, _ context: inout EventContext
  ) {
    let brought = held.poolSessions
    held = refused.before
    if abandons { abandon(brought, &context) }
    work = .idle
    context.actions.append(.credentialsChanged)
    dropExpired(&context)
  }

  /// The error for a `login`. `SignInRequired` would be wrong: to clients it means that a password is
  /// needed.
  private static func refusal(of failure: UpstreamFailure) -> ProtocolError {
    var error = failure.protocolError
    if error.code == .signInRequired { error.code = .signInFailed }
    return error
  }

  /// Answers the clients that a sign-in keeps waiting for too long. The sign-in goes on.
  mutating func timeOutSignIn(_ context: inout EventContext) {
    guard let current = signIn, let next = current.nextTimeout, next <= context.now else { return }
    var late = current.onlookers.filter { $0.until <= context.now }.map(\.client)
    if let client = current.client, current.deadline <= context.now { late.append(client) }
    for client in late {
      signIn?.left(client)
      let error = ProtocolError(.timeout, "no answer from upstream yet; the sign-in goes on")
      context.actions.append(.refuse(client, error))
    }
  }
}
