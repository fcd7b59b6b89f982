/// Where a session stands: the states that users of the mobile SDKs know.
///
/// `signedOut → signedIn → (tokensInvalid → signedIn) → signedOut`; `guest` where the profile
/// allows it. Being offline changes none of them.
public enum Standing: Sendable, Equatable {
  /// Nobody is signed in; by the user's own wish, where `byUser`. Goes to `guest` or `signedIn`.
  case signedOut(byUser: Bool)
  /// An unauthenticated identity. Goes to `signedIn` or `signedOut`.
  case guest
  /// Goes to `tokensInvalid` where the sign-in is refused, to `signedOut` by a logout.
  case signedIn(Voucher)
  /// What vouched for the user no longer does: it takes a `login`, or a backend that changes its
  /// mind. Goes to `signedIn` or `signedOut`.
  case tokensInvalid(Voucher)

  /// The contract's word for it.
  public var name: String {
    switch self {
    case .signedOut: "signedOut"
    case .guest: "guest"
    case .signedIn: "signedIn"
    case .tokensInvalid: "tokensInvalid"
    }
  }
}

/// What vouches for a user.
public enum Voucher: Sendable, Equatable {
  /// The backend trusts this host to say who its users are.
  case host
  /// A password was given to the backend, which answered with a session of its own.
  case password(BackendSession)
  /// A developer token that a client brought, with the IdentityId it belongs to.
  case developerToken
  /// Logins of social, OIDC or SAML providers that a client brought.
  case logins
  /// The same from a file, which somebody else keeps fresh.
  case tokenFile

  /// The name of the kind, for status and events.
  public var name: String {
    switch self {
    case .host: "host"
    case .password: "password"
    case .developerToken: "developerToken"
    case .logins: "logins"
    case .tokenFile: "tokenFile"
    }
  }
}

extension Voucher {
  /// What is kept of it once it was refused: nobody takes the backend's session any more.
  var refused: Voucher {
    guard case .password(let session) = self else { return self }
    return .password(
      BackendSession(
        token: Secret([]), developerUserIdentifier: session.developerUserIdentifier))
  }
}

/// What a backend gave for a password, and wants to see with each callback.
public struct BackendSession: Sendable, Equatable {
  /// Sent as `Authorization: Bearer`; empty once the backend refused it.
  public let token: Secret
  /// The backend's own name for the user, where it differs from the configured one.
  public let developerUserIdentifier: String?

  public init(token: Secret, developerUserIdentifier: String?) {
    self.token = token
    self.developerUserIdentifier = developerUserIdentifier
  }
}

/// A session's state in the words of the contract.
public enum ReportedState: String, Sendable, Hashable, CaseIterable {
  case signedOut
  case guest
  case signedIn
  /// Signed in, but upstream no longer takes the tokens: a new `login` is needed.
  case tokensInvalid
}
