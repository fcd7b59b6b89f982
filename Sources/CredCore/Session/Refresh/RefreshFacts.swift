/// What the next call of a refresh and its remedies depend on, beside the refresh.
struct RefreshFacts {
  let plan: SessionPlan
  var held: Held
  /// Nil if only a sign-in helps.
  let tokens: TokenSource?
  let signIn: SignInUnderWay?
  /// The linked sign-in, if a callback needs a new ID token of it first.
  let linkToRenew: ProviderSession?
  /// Nil unless the session is derived from another one.
  let source: DerivedSource?
  let now: Instant

  /// The identity with which the tokens are used; nil if none is known.
  var identity: IdentityID? { signIn?.claimedIdentity ?? held.identityID }
}

/// Each source of tokens has its own calls and remedies, in a file of its own. Here alone one is chosen.
extension Refresh {
  /// The call after this one, chosen by the tokens that the session holds; nil if there is none.
  func nextCall(_ facts: RefreshFacts) -> UpstreamCall? {
    if let call = unreadLoginCall(facts) { return call }
    if facts.identity == nil, let known = facts.held.withoutUnreadLogins(self) {
      var (refresh, facts) = (self, facts)
      refresh.atCognito = .asked
      facts.held = known
      return refresh.nextCall(facts)
    }
    switch facts.tokens {
    case .backend(_, let session): return callAtBackend(session, facts)
    case .token: return callWithDeveloperToken(facts)
    case .logins: return callWithLogins(facts)
    case .tokenFile: return callWithTokenFile(facts)
    case .provider(let session): return callAtProvider(session, facts)
    case .guest: return exchange(LoginsMap(), facts)
    // A source that only a sign-in renews may still have credentials.
    case .source, nil: return facts.source?.nextCall(for: self, facts.now)
    }
  }

  /// The first remedy that fits.
  func remedy(after failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    switch facts.tokens {
    case .backend: remedyAtBackend(failure, facts)
    case .token: remedyForDeveloperToken(failure, facts)
    case .logins, .tokenFile: remedyForLogins(failure, facts)
    case .provider: remedyAtProvider(failure, facts)
    case .guest: remedyForGuest(failure, facts)
    case .source: remedyForSource(failure, facts)
    case nil: .none
    }
  }

  /// What a call of this refresh is for.
  func step(of call: UpstreamCall, _ held: Held, _ plan: SessionPlan) -> Step {
    switch call {
    case .signIn: .checkPassword
    case .readTokenFile: .readFile
    case .renewProviderTokens(let session, _):
      session.issuer == plan.link ? .renewLink : .renewTokens
    case .tokenCallback(_, let logins, _, _):
      .callback(bringing: held.brought(in: logins, plan))
    case .getID, .getOpenIDToken, .getCredentials, .assumeRole:
      loginProved(by: call).map { .proveLogin(of: $0.provider) } ?? .exchange
    case .renewSource: .askSource
    case .derive: .derive
    }
  }
}
