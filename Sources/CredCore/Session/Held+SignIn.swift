/// How sign-ins change a session before they are accepted. If one is refused, the former value is
/// restored.
extension Held {
  mutating func signInByHost() {
    switch state {
    // The source of tokens is asked again. Valid credentials stay until it has answered.
    case .signedIn(.host), .tokensInvalid(.host), .signedIn(.tokenFile): return
    // A guest's identity becomes the user's.
    case .signedOut, .guest: break
    case .signedIn, .tokensInvalid: forgetIdentity()
    }
    endTokens()
    credentials = nil
    username = nil
    state = .signedOut(byUser: false)
  }

  /// A backend has accepted a password.
  mutating func signIn(by session: BackendSession, of name: String) {
    // Another user's identity must not become this one's. A guest's identity does.
    let isSameUser = username?.utf8.elementsEqual(name.utf8) ?? false
    if !isSameUser && state != .guest {
      forgetIdentity()
      endedLogins.removeAll()
    }
    let link = isSameUser ? link : nil
    removeTokens()
    self.link = link
    credentials = nil
    username = name
    state = .signedIn(.password(session))
  }

  mutating func signIn(
    by developerToken: DeveloperToken, _ request: SignInRequest, _ plan: SessionPlan, _ now: Instant
  ) {
    endTokens()
    credentials = nil
    username = nil
    forgetIdentity()
    // Cognito decides about a token that seems to have expired: this host's clock may be wrong.
    let lifetime = request.expires.flatMap { $0 > now ? $0 - now : nil }
    token = HeldToken(developerToken, lifetime: lifetime, received: now)
    // A backend that trusts the host gives the next token: the user needs no warning.
    if plan.backend != .host {
      loginExpirations.set(plan.developerLoginKey, end: request.expires, now: now)
    }
    state = .signedIn(.developerToken)
  }

  /// Adds logins, in place of those of the same providers. If the profile has a backend, it gets
  /// them to be linked; else they sign the user in.
  mutating func signIn(
    by added: LoginsMap, isAlone: Bool, _ request: SignInRequest, _ plan: SessionPlan,
    _ now: Instant
  ) {
    let isLinked = makeReady(forLoginsAlone: isAlone, plan)
    token = nil
    add(added, endingAt: request.loginsExpire, now)
    switch state {
    case .signedOut where isLinked, .guest where isLinked:
      credentials = nil
      state = .signedOut(byUser: false)
    case _ where isLinked:
      // The user stays the same: valid credentials stay until the backend has answered.
      break
    default:
      credentials = nil
      state = .signedIn(.logins)
    }
  }

  /// Drops what logins that a client brings do not go out with.
  ///
  /// - Returns: whether they are linked to the user who is signed in. Else they are the sign-in.
  mutating func makeReady(forLoginsAlone isAlone: Bool, _ plan: SessionPlan) -> Bool {
    let isLinked = !isAlone && areLoginsLinked(plan)
    if isAlone { dropAllOfUser() } else if !isLinked { prepareForLogins() }
    // A client's developer token is not the backend's word, nor is its identity.
    if isLinked, state.method == .developerToken { dropAllOfUser() }
    return isLinked
  }

  /// Whether further logins go to the backend, for the user whom it vouches for. Otherwise they are
  /// the sign-in.
  private func areLoginsLinked(_ plan: SessionPlan) -> Bool {
    switch state {
    case .signedIn(.host), .signedIn(.password), .signedIn(.provider), .tokensInvalid(.host): true
    case .signedOut, .guest, .signedIn(.developerToken), .tokensInvalid(.developerToken):
      plan.backend == .host
    case .signedIn, .tokensInvalid: false
    }
  }

  /// Prepares for logins that sign the user in: drops everything that they do not take over.
  private mutating func prepareForLogins() {
    switch state {
    // The logins take over a guest's identity, and the identity of the user's other logins.
    case .guest, .signedOut, .signedIn(.logins), .signedIn(.tokenFile): break
    // One of the held logins was refused, and would be refused again.
    case .tokensInvalid(.logins), .tokensInvalid(.tokenFile): endTokens()
    // Another kind of sign-in. If the logins are linked to its identity, GetId finds it again.
    case .signedIn, .tokensInvalid:
      endTokens()
      forgetIdentity()
    }
    username = nil
  }

  /// A sign-in at a provider that is to be linked. The callback that follows says whether the backend
  /// takes it.
  mutating func link(_ session: ProviderSession) {
    switch state {
    // The user stays the same: valid credentials stay until the backend has answered.
    case .signedIn(.host), .signedIn(.password), .tokensInvalid(.host): break
    case .signedOut, .guest:
      credentials = nil
      state = .signedOut(byUser: false)
    // Another kind of sign-in. A browser's user has agreed to replace it, and a password's user has
    // asked for it.
    case .signedIn, .tokensInvalid: dropAllOfUser()
    }
    link = session
    token = nil
  }

  /// Nothing of the user goes into the next sign-in.
  private mutating func dropAllOfUser() {
    endTokens()
    credentials = nil
    username = nil
    forgetIdentity()
    state = .signedOut(byUser: false)
  }

  /// The next one may be the same: only then what is linked to it counts again.
  mutating func forgetIdentity() {
    identityID = nil
    isIdentityWithheld = false
  }
}
