/// Sessions of providers: a refresh token renews an ID token, which goes into the logins map.
extension SessionMachine {
  // MARK: Sign-in

  /// Takes the tokens of a sign-in that a provider has accepted.
  ///
  /// - Returns: why the tokens cannot be used; nil if they were taken.
  mutating func useProviderTokens(
    _ acceptedSignIn: AcceptedSignIn, _ context: inout EventContext
  ) -> ProtocolError? {
    guard plan.backend.issuer == acceptedSignIn.issuer else {
      return .configurationChanged
    }
    guard
      let new = ProviderSession(acceptedSignIn, keepsAccessToken: plan.keepsAccessToken)
    else {
      return .noRefreshToken
    }
    let session = new.usingKey(of: held.state.providerSession)
    // Another user's identity and logins must not become this one's. A guest's identity does.
    if !(held.state.providerSession?.isOfSameUser(as: session) ?? false) {
      if held.state != .guest {
        setIdentity(nil, &context)
        held.endedLogins.removeAll()
      }
      held.removeTokens()
      refuseAccountWaiters(&context)
    }
    forgetCredentials(&context)
    if held.state == .guest, held.identityID != nil { held.isIdentityOfGuest = true }
    held.username = session.username
    held.state = .signedIn(.provider(session))
    acceptSignIn(&context)
    return nil
  }

  /// Refuses the waiters that ask about the account of the former user.
  private mutating func refuseAccountWaiters(_ context: inout EventContext) {
    for waiter in waiters where waiter.want == .accountToken {
      context.actions.append(.refuse(waiter.id, .anotherUserSignedIn))
    }
    waiters.removeAll { $0.want == .accountToken }
  }

  // MARK: Refresh

  /// Takes renewed tokens. The snapshot has them before the next call starts: if the provider
  /// rotates refresh tokens, the former one is dead.
  mutating func providerTokensReceived(
    _ tokens: ProviderTokens, _ serverTime: WallTime?, _ refresh: Refresh,
    _ context: inout EventContext
  ) {
    guard case .provider(let session) = refresh.method, session.isUser(of: tokens) else {
      return fail(refresh, .tokensOfAnotherUser, &context)
    }
    let renewed = session.renewed(
      tokens, serverTime: serverTime, received: context.now,
      keepsAccessToken: plan.keepsAccessToken)
    var refresh = refresh
    refresh.done.insert(.newToken)
    replace(session, by: renewed, in: &refresh, &context)
    guard renewed.idToken?.lifetime.map({ $0 > .zero }) ?? true else {
      return fail(refresh, .tokenExpired, &context)
    }
    lend(tokens.access.token, &context)
    announceTokens(renewed, &context)
    if refresh.goal == .token { succeed(&context) } else { startNextCall(refresh, &context) }
  }

  /// Gives a new access token to the requests that act on the account. The session does not always
  /// keep the token.
  private mutating func lend(_ token: Secret, _ context: inout EventContext) {
    for waiter in waiters where waiter.want == .accountToken {
      context.actions.append(.lendToken(waiter.id, token, isNew: true))
    }
    waiters.removeAll { $0.want == .accountToken }
  }

  /// Takes a refresh token that came without usable tokens. The former one may be dead, so the new
  /// one is kept, unless the provider named another person.
  mutating func refreshTokenReplaced(
    _ token: Secret, _ failure: UpstreamFailure, _ refresh: Refresh,
    _ context: inout EventContext
  ) {
    guard case .provider(let session) = refresh.method else {
      return fail(refresh, .tokensOfAnotherUser, &context)
    }
    var refresh = refresh
    replace(session, by: session.replacing(refreshToken: token), in: &refresh, &context)
    fail(refresh, failure, &context)
  }

  /// Replaces the sign-in of a refresh. If a sign-in under way is refused, the former sign-in comes
  /// back with the present refresh token.
  private mutating func replace(
    _ session: ProviderSession, by next: ProviderSession, in refresh: inout Refresh,
    _ context: inout EventContext
  ) {
    if let before = signIn?.before.state.providerSession, before.isOfSameUser(as: session),
      before.refreshToken == session.refreshToken
    {
      signIn?.before.state = .signedIn(.provider(next))
    }
    refresh.method = .provider(next)
    setState(.signedIn(.provider(next)), &context)
  }
}

extension Held {
  /// Drops tokens of providers that have ended. Refresh tokens stay.
  mutating func dropEndedProviderTokens(_ now: Instant) {
    if let kept = link?.dropEnded(now) { link = kept }
    guard case .signedIn(.provider(let session)) = state, let kept = session.dropEnded(now)
    else { return }
    state = .signedIn(.provider(kept))
  }

  /// When the next provider's token ends.
  var providerTokenEnd: Instant? {
    guard case .signedIn(.provider(let session)) = state else { return link?.tokenEnd }
    return [session.tokenEnd, link?.tokenEnd].compactMap(\.self).min()
  }
}

extension SignInState {
  /// The sign-in at a provider; nil for another kind of sign-in.
  public var providerSession: ProviderSession? {
    if case .provider(let session) = method { session } else { nil }
  }
}

extension ProtocolError {
  static let noRefreshToken = ProtocolError(
    .signInFailed, "the user pool gave no refresh token: check the app client's settings")

  /// The answer to a request about the account of a user who is not signed in any more.
  public static let anotherUserSignedIn = ProtocolError(
    .signInRequired, "another user has signed in meanwhile; nothing was done")
}

extension UpstreamFailure {
  /// Whether the upstream does not have the operation at all.
  public var namesUnknownOperation: Bool {
    ["UnsupportedOperationException", "UnknownOperationException", "InvalidAction"]
      .contains(reason)
  }

  /// Whether a user pool refuses a new password for what it is, and has judged nothing else.
  public var refusesNewPassword: Bool {
    ["InvalidPasswordException", "PasswordHistoryPolicyViolationException"].contains(reason)
  }

  /// Renewed tokens name another user than the session's.
  static let tokensOfAnotherUser = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .signInRequired, code: .signInRequired,
    message: "the user pool gave tokens of another user; sign in again",
    severity: .operatorMustAct)
}
