/// The token with which a refresh starts.
enum TokenSource {
  /// A backend gives a developer token.
  case backend(SignInMethod, BackendSession?)
  /// The developer token that a client brought.
  case token
  /// Logins of other providers.
  case logins
  /// One login, which a file holds.
  case tokenFile
  /// The sign-in at a provider, which renews the tokens.
  case provider(ProviderSession)
  /// No token: an unauthenticated identity.
  case guest
  /// The credentials of the session from which this one is derived.
  case source

  /// How the user is signed in after a success; nil for guests.
  var method: SignInMethod? {
    switch self {
    case .backend(let method, _): method
    case .token: .developerToken
    case .logins: .logins
    case .tokenFile: .tokenFile
    case .provider(let session): .provider(session)
    case .guest: nil
    case .source: .source
    }
  }
}

/// Chooses the next call of a refresh by the tokens that the session holds.
extension Held {
  /// The next call of a refresh; nil if there is none.
  ///
  /// - Parameters:
  ///   - claimed: the IdentityId that a client names in a sign-in under way.
  ///   - link: the linked sign-in, if a callback needs a new ID token of it first.
  func nextCall(
    for refresh: Refresh, _ plan: SessionPlan, claimed: IdentityID?,
    renewing link: @autoclosure () -> ProviderSession?, _ now: Instant
  ) -> UpstreamCall? {
    let identityOfTokens = claimed ?? identityID
    if let call = unreadLoginCall(refresh, plan, identityOfTokens) { return call }
    if identityOfTokens == nil, let known = withoutUnreadLogins(refresh, plan) {
      var refresh = refresh
      refresh.atCognito = .asked
      return known.nextCall(for: refresh, plan, claimed: nil, renewing: link(), now)
    }
    let readsFile = plan.tokenFileProvider != nil && !refresh.done.contains(.readFile)
    switch tokenSource(plan, claimed: claimed) {
    // A derived session chooses its calls by itself.
    case nil, .source: return nil
    case .provider(let session):
      return providerCall(session, for: refresh, plan, identityOfTokens, now)
    case .backend where refresh.isForLink:
      return self.link.map { .renewProviderTokens($0, way: refresh.remedies.renewalWay) }
    case .backend(_, let session):
      if refresh.goal == .credentials,
        refresh.done.contains(.newToken) || refresh.demand == .usable,
        let token, token.isUsable(now), let identityID
      {
        return exchange(token, identityID, plan)
      }
      if readsFile { return .readTokenFile }
      if let link = link() {
        return .renewProviderTokens(link, way: refresh.remedies.renewalWay)
      }
      return .tokenCallback(
        identityID: identityForBackend(refresh), logins: loginsForBackend(refresh, plan, now),
        session: session,
        isForced: refresh.demand == .new || refresh.wasTokenRefused)
    case .token:
      guard let token, let identityID = identityOfTokens else { return nil }
      return exchange(token, identityID, plan)
    case .tokenFile where readsFile: return .readTokenFile
    // A client added logins to the file's own, which another program keeps fresh.
    case .logins where readsFile && plan.tokenFileProvider.flatMap { logins[$0] } != nil:
      return .readTokenFile
    case .logins, .tokenFile: return directCall(logins, refresh, plan, identityOfTokens)
    case .guest: return directCall(LoginsMap(), refresh, plan, identityOfTokens)
    }
  }

  /// The identity that a token callback carries.
  func identityForBackend(_ refresh: Refresh) -> IdentityID? {
    refresh.remedies.contains(.withoutIdentity) ? nil : identityForBackend
  }

  /// Exchanges a developer token for credentials.
  private func exchange(
    _ token: HeldToken, _ identityID: IdentityID, _ plan: SessionPlan
  ) -> UpstreamCall {
    switch plan.flow {
    case .enhanced:
      .getCredentials(
        identityID: identityID,
        logins: LoginsMap(developerToken: token.token, key: plan.developerLoginKey),
        customRoleARN: customRoleARN)
    case .basic, .direct: .assumeRole(identityID: identityID, token: token.token.token)
    }
  }

  /// Without a backend Cognito gives the identity and, in the basic flow, the token. Without a pool STS
  /// takes the login itself.
  ///
  /// - Parameter identityID: the identity with which the tokens are used; nil if none is known.
  private func directCall(
    _ logins: LoginsMap, _ refresh: Refresh, _ plan: SessionPlan, _ identityID: IdentityID?
  ) -> UpstreamCall? {
    if plan.flow == .direct {
      return logins.logins.first.map { .assumeRole(identityID: nil, token: $0.token) }
    }
    guard let identityID else { return .getID(logins: logins) }
    switch (plan.flow, refresh.openIDToken) {
    case (.enhanced, _), (.direct, _):
      return .getCredentials(
        identityID: identityID, logins: logins, customRoleARN: customRoleARN)
    case (.basic, nil): return .getOpenIDToken(identityID: identityID, logins: logins)
    case (.basic, let token?): return .assumeRole(identityID: identityID, token: token)
    }
  }

  /// The next call of a refresh: new tokens if the ID token is of no use any more, then Cognito.
  private func providerCall(
    _ session: ProviderSession, for refresh: Refresh, _ plan: SessionPlan,
    _ identityID: IdentityID?,
    _ now: Instant
  ) -> UpstreamCall? {
    let isForced = refresh.demand == .new && !session.servesToItsEnd
    // A new token is tried however short it lasts: no refresh renews twice for that.
    if let token = session.idToken,
      refresh.done.contains(.newToken) || !isForced && token.isUsable(now)
    {
      // The tokens are all that the profile gives.
      if plan.givesTokensAlone { return nil }
      return directCall(
        loginsWith(token, of: session, refresh, plan), refresh, plan, identityID)
    }
    return .renewProviderTokens(session, way: refresh.remedies.renewalWay)
  }

  // MARK: What a callback brings

  /// The logins that a callback brings to the backend, to be linked.
  private func loginsForBackend(
    _ refresh: Refresh, _ plan: SessionPlan, _ now: Instant
  ) -> LoginsMap {
    guard !refresh.remedies.contains(.withoutLink), let link, let token = link.idToken,
      token.isUsable(now)
    else { return logins }
    return loginsWith(token, of: link, refresh, plan)
  }

  /// The login of a sign-in at a provider, and those that a client added.
  private func loginsWith(
    _ token: HeldProviderToken, of session: ProviderSession, _ refresh: Refresh, _ plan: SessionPlan
  ) -> LoginsMap {
    var map = LoginsMap()
    try? map.set(refresh.loginsKey(of: session, plan), token: token.token)
    for login in logins.logins { try? map.set(login.provider, token: login.token) }
    return map
  }

  /// What a call brings to the backend beside the user.
  func brought(by call: UpstreamCall, _ plan: SessionPlan) -> Refresh.Brought {
    guard case .tokenCallback(_, let sent, _, _) = call else { return [] }
    var brought: Refresh.Brought = []
    if let token = link?.idToken, sent.logins.contains(where: { $0.token == token.token }) {
      brought.insert(.link)
    }
    // Another program keeps the token file's logins fresh.
    if logins.logins.contains(where: { $0.provider != plan.tokenFileProvider }) {
      brought.insert(.logins)
    }
    return brought
  }

  /// What a call of a refresh is for.
  func step(of call: UpstreamCall, _ refresh: Refresh, _ plan: SessionPlan) -> Refresh.Step {
    switch call {
    case .signIn: .checkPassword
    case .readTokenFile: .readFile
    case .renewProviderTokens(let session, _):
      session.issuer == plan.link ? .renewLink : .renewTokens
    case .tokenCallback: .callback(bringing: brought(by: call, plan))
    case .getID, .getOpenIDToken, .getCredentials, .assumeRole:
      refresh.loginProved(by: call).map { .proveLogin(of: $0.provider) } ?? .exchange
    case .renewSource: .askSource
    case .derive: .derive
    }
  }

  // MARK: Where the tokens come from

  /// The token with which a refresh would start; nil if the user must sign in first.
  ///
  /// - Parameter claimed: the IdentityId that a client names in a sign-in under way.
  func tokenSource(_ plan: SessionPlan, claimed: IdentityID?) -> TokenSource? {
    switch state {
    case .signedIn(.host), .tokensInvalid(.host): .backend(.host, nil)
    case .signedIn(.password(let session)): .backend(.password(session), session)
    case .signedIn(.developerToken):
      if token != nil, claimed ?? identityID != nil {
        .token
      } else {
        plan.sourceOfNextToken
      }
    case .signedIn(.logins): .logins
    case .signedIn(.provider(let session)): .provider(session)
    case .signedIn(.tokenFile), .tokensInvalid(.tokenFile): .tokenFile
    case .signedIn(.source): nil
    case .tokensInvalid(.developerToken): plan.sourceOfNextToken
    case .tokensInvalid: nil
    case .signedOut(byUser: false): plan.unattendedSource
    case .signedOut(byUser: true), .guest: plan.allowsGuests ? .guest : nil
    }
  }
}

extension SessionPlan {
  /// The source of the next token after the developer token of a client has expired.
  fileprivate var sourceOfNextToken: TokenSource? {
    backend == .host ? .backend(.host, nil) : nil
  }

  /// A source that needs no `login`. Not used after a logout.
  fileprivate var unattendedSource: TokenSource? {
    if backend == .host { return .backend(.host, nil) }
    if tokenFileProvider != nil { return .tokenFile }
    return allowsGuests ? .guest : nil
  }
}

extension HeldToken {
  /// A token of unknown lifetime is used in the refresh that received it, and never again.
  fileprivate func isUsable(_ now: Instant) -> Bool {
    usableUntil > now || (received == now && usableUntil == received)
  }
}
