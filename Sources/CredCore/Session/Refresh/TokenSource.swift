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

extension Held {
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
