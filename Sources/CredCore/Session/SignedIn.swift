/// Who is signed in to a session, and how. It holds no secret.
public struct SignedIn: Sendable, Equatable {
  /// How a user signed in. Scripts depend on the spelling.
  public enum Means: String, Sendable, CaseIterable {
    /// The backend trusts this host.
    case host
    case password
    /// A developer token of a client.
    case token
    /// Tokens of social, OpenID Connect or SAML providers, or a token file.
    case logins
    /// A user pool accepted the user.
    case userPool
    /// An OpenID Connect provider accepted the user.
    case oidc
    /// An unauthenticated identity.
    case guest
  }

  public var by: Means
  /// The name under which the user is known: at the backend, or on this host.
  public var username: String?
  /// The provider's name for the user: `sub` of a login that is a JWT, or of a linked sign-in.
  public var subject: String?
  /// When the sign-in ends; nil if it does not end by itself, or if that is unknown.
  public var until: WallTime?

  public init(
    by means: Means, username: String? = nil, subject: String? = nil, until: WallTime? = nil
  ) {
    by = means
    self.username = username
    self.subject = subject
    self.until = until
  }
}
