/// A refresh with a sign-in at a provider: new tokens if the ID token is of no use any more, then
/// Cognito.
extension Refresh {
  func callAtProvider(_ session: ProviderSession, _ facts: RefreshFacts) -> UpstreamCall? {
    let mustBeNew = demand == .new && !session.servesToItsEnd
    // A new token is tried however short it lasts: no refresh renews twice for that.
    guard let token = session.idToken,
      done.contains(.newToken) || !mustBeNew && token.isUsable(facts.now)
    else { return .renewProviderTokens(session, way: remedies.renewalWay) }
    return exchange(loginsWith(token, of: session, facts), facts)
  }

  /// The login of a sign-in at a provider, and those that a client added.
  func loginsWith(
    _ token: HeldProviderToken, of session: ProviderSession, _ facts: RefreshFacts
  ) -> LoginsMap {
    var map = LoginsMap()
    try? map.set(loginsKey(of: session, facts.plan), token: token.token)
    for login in facts.held.logins.logins { try? map.set(login.provider, token: login.token) }
    return map
  }

  // MARK: Remedies

  func remedyAtProvider(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    if case .backend = failure.upstream {
      // The pool, or an emulator, does not know the new operation.
      return failure.namesUnknownOperation ? with(.olderRenewal) : .none
    }
    if case .provider(let session) = method,
      let next = underOtherKey(of: session, facts.plan, after: failure)
    {
      return Remedy(next: next)
    }
    if isUnknownUnderTriedKey(failure) { return .none }
    switch failure.failureClass {
    // STS refuses Cognito's token.
    case .newTokenOnce where openIDToken != nil: return with(.newToken) { $0.dropOpenIDToken() }
    case .newTokenOnce: return withoutIDToken
    // The pool's user belongs to another identity than the held one: GetId finds that identity.
    case .newIdentity, .dropIdentityThenNewToken, .conflict:
      if facts.mustKeepIdentity { return .none }
      return with(.newIdentity, dropping: .identity) {
        $0.dropOpenIDToken()
        // Cognito does not have the identity any more.
        if failure.failureClass == .newIdentity { $0.key.knownIdentity = nil }
      }
    default: return .none
    }
  }

  /// Cognito does not accept the ID token: a renewal gives the next one.
  private var withoutIDToken: Remedy {
    guard case .provider(let session) = method else { return with(.newToken) }
    return with(.newToken, dropping: .idToken) {
      $0.method = .provider(session.keeping(id: false, access: true))
      $0.done.remove(.newToken)
    }
  }
}

extension Refresh.Remedies {
  var renewalWay: PoolRenewalWay {
    contains(.olderRenewal) ? .refreshTokenAuth : .getTokensFromRefreshToken
  }
}
