/// Whether a user is signed in: the states that users of the mobile SDKs know.
///
/// `signedOut → signedIn → (tokensInvalid → signedIn) → signedOut`; `guest` where the profile
/// allows it. An unavailable upstream changes none of them.
public enum SignInState: Sendable, Equatable {
  /// Nobody is signed in; `byUser` after a logout. Goes to `guest` or `signedIn`.
  case signedOut(byUser: Bool)
  /// An unauthenticated identity. Goes to `signedIn` or `signedOut`.
  case guest
  /// Goes to `tokensInvalid` when upstream refuses the tokens, or when they end and nothing renews them;
  /// to `signedOut` by a logout.
  case signedIn(SignInMethod)
  /// Upstream refused the tokens, or they have ended: the user must sign in, or the backend must accept the
  /// user again.
  /// Goes to `signedIn` or `signedOut`.
  case tokensInvalid(SignInMethod)

  /// How the user was authenticated; nil if no user is signed in.
  public var method: SignInMethod? {
    switch self {
    case .signedIn(let method), .tokensInvalid(let method): method
    case .signedOut, .guest: nil
    }
  }

  /// The state as clients see it.
  public var reported: ReportedState {
    switch self {
    case .signedOut: .signedOut
    case .guest: .guest
    case .signedIn: .signedIn
    case .tokensInvalid: .tokensInvalid
    }
  }
}

extension SignInState {
  /// Whether a person signed in: by a password, a token or logins. This host vouches for all other
  /// users.
  public var isPersonal: Bool {
    switch method {
    case .password, .developerToken, .logins, .provider: true
    // A derived session's source says how its user signed in.
    case .host, .tokenFile, .source, nil: false
    }
  }
}

/// How a user was authenticated.
public enum SignInMethod: Sendable, Equatable {
  /// The backend trusts this host to name its users.
  case host
  /// The backend accepted a password and gave a session.
  case password(BackendSession)
  /// A client brought a developer token and its IdentityId.
  case developerToken
  /// A client brought logins of social, OIDC or SAML providers.
  case logins
  /// A file holds a login. Another program keeps it fresh.
  case tokenFile
  /// A provider accepted the user.
  case provider(ProviderSession)
  /// The user is that of the session from which this one is derived.
  case source

  /// The method after a refusal, without the backend's session token, which the backend does not
  /// accept any more.
  var withoutToken: SignInMethod {
    switch self {
    case .password(let session):
      .password(
        BackendSession(
          token: Secret([]), developerUserIdentifier: session.developerUserIdentifier))
    case .provider(let session): .provider(session.withoutTokens)
    case .host, .developerToken, .logins, .tokenFile, .source: self
    }
  }
}
