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
    case .password(let name, let password, let logins):
      signIn?.loginsToLink = LoginsToLink(logins, request)
      return startCall(
        .signIn(username: name, password: password),
        for: Refresh(goal: .credentials, method: nil), &context)
    case .host: change(&context) { $0.signInByHost() }
    case .providerTokens(let acceptedSignIn):
      let isLinked = plan.link == acceptedSignIn.issuer
      let error =
        isLinked ? useLink(acceptedSignIn, &context) : useProviderTokens(acceptedSignIn, &context)
      if let error {
        if let refused = ProviderSession(acceptedSignIn, keepsAccessToken: false) {
          abandon([refused], &context)
        }
        return cancelSignIn(error, &context)
      }
    case .username, .browser, .device:
      preconditionFailure("the profile refuses it, or a conversation takes it")
    case .developerToken(let identityID, let token):
      let (plan, now) = (plan, context.now)
      change(&context) { $0.signIn(by: token, request, plan, now) }
      signIn?.claimedIdentity = identityID
    case .logins(let added, let identityID, let isAlone):
      let (plan, now) = (plan, context.now)
      let outgoing = isAlone ? nil : OutgoingLogins(added, beside: held, plan)
      signIn?.unreadLogins = outgoing?.unread(of: added) ?? []
      if outgoing?.areOfOthers ?? false { held.forgetIdentity() }
      change(&context) { $0.signIn(by: added, isAlone: isAlone, request, plan, now) }
      guard let identityID else {
        let held = held
        if !isAlone { signIn?.noteSent(added, by: held) }
        break
      }
      held.forgetIdentity()
      signIn?.claimedIdentity = identityID
    }
    startRefresh(&context)
    if case .refreshing = work { return }
    // A sign-in by the host in a profile without a source of tokens: no outcome would end the
    // sign-in.
    cancelSignIn(signInRequired, &context)
  }

  /// Changes the held state as part of a sign-in that is not accepted yet, so that nothing is
  /// announced.
  mutating func change(_ context: inout EventContext, _ body: (inout Held) -> Void) {
    let hadCredentials = held.credentials != nil
    body(&held)
    if hadCredentials, held.credentials == nil { context.actions.append(.credentialsChanged) }
  }

  // MARK: Acceptance

  /// Whether the backend is checking a password. If it refuses the password, no other call helps:
  /// that call would succeed only for the user who was signed in before.
  var awaitsPassword: Bool {
    guard let signIn, case .password = signIn.kind else { return false }
    return signIn.state == .calling
  }

  mutating func passwordAccepted(
    _ session: BackendSession, _ refresh: Refresh, _ context: inout EventContext
  ) {
    guard case .password(let name) = signIn?.kind else {
      preconditionFailure("only a sign-in sends a password to a backend")
    }
    change(&context) { $0.signIn(by: session, of: name) }
    if let logins = signIn?.loginsToLink {
      held.add(logins.map, endingAt: logins.ends, context.now)
      signIn?.state = .linking
    } else {
      acceptSignIn(&context)
    }
    var refresh = refresh
    refresh.method = .password(session)
    startNextCall(refresh, &context)
  }

  mutating func acceptSignIn(_ context: inout EventContext) {
    let former = formerHeld?.providerSessions ?? []
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
    // An unavailable upstream did not refuse the user's own tokens: they are tried again. But
    // tokens of a client, or a link that the backend has not seen, are not accepted without an
    // answer.
    if failure.failureClass.isTransient, case .signedIn = held.state,
      ended.isAccepted || !isUndecided(refresh)
    {
      signInSucceeded(&context)
      return false
    }
    signIn = nil
    refuse(ended, Self.refusal(of: failure), &context)
    if ended.isAccepted { return false }
    rollBack(to: ended.before(failure), &context)
    // If the session's own next refresh would try the same, the failure counts for the session.
    return ended.kind != .host || tokenSource?.method != refresh.method
  }

  /// Whether the call that has failed is the one that decides the sign-in.
  private func isUndecided(_ refresh: Refresh) -> Bool {
    awaitsPassword || signIn?.kind == .provider
      || signIn?.isLinkingLogins ?? false && refresh.brought.contains(.logins)
      || signIn?.state == .linking
      || refresh.method.map(isProvenByCognito) ?? false
  }

  /// Whether only Cognito can say that a sign-in is good: the client brought its tokens.
  private func isProvenByCognito(_ method: SignInMethod) -> Bool {
    switch method {
    case .developerToken, .logins, .provider: signIn?.kind == .tokens
    case .host, .password, .tokenFile, .source: false
    }
  }

  /// Refuses a sign-in because the user wants something else now. It is rolled back, although the
  /// backend may still accept the password.
  ///
  /// - Parameter abandons: whether the tokens of the sign-in are to be revoked.
  mutating func cancelSignIn(
    _ error: ProtocolError, abandons: Bool = true, _ context: inout EventContext
  ) {
    guard let ended = signIn else { return }
    signIn = nil
    refuse(ended, error, &context)
    if ended.isAccepted { return }
    rollBack(to: ended.before, abandons: abandons, &context)
  }

  private func refuse(
    _ ended: SignInUnderWay, _ error: ProtocolError, _ context: inout EventContext
  ) {
    var error = error
    if ended.hasTakenPassword { error.reason = SignInReason.passwordAccepted }
    // An accepted user stays signed in: the failure is the session's own.
    context.actions.append(.signInEnded(ended.number, ended.isAccepted ? nil : error))
    for client in ended.clients { context.actions.append(.refuse(client, error)) }
  }

  /// Restores the state before the sign-in. Watchers were not told of the sign-in, so nothing is
  /// announced. No session has the tokens of the sign-in any more.
  private mutating func rollBack(
    to before: Held, abandons: Bool = true, _ context: inout EventContext
  ) {
    let brought = held.providerSessions
    held = before
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
