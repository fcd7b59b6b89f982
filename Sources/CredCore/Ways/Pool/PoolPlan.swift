/// What a session must know of the identity pool whose credentials it gets.
public struct PoolPlan: Sendable, Equatable {
  /// How a token is exchanged for credentials.
  public enum Flow: Sendable {
    /// GetCredentialsForIdentity.
    case enhanced
    /// AssumeRoleWithWebIdentity.
    case basic
  }

  public var flow: Flow
  /// Unauthenticated identities are allowed.
  public var allowsGuests: Bool
  /// The key of a developer token in `Logins`; it depends on the partition.
  public var developerLoginKey: String
  /// The provider whose sign-ins are linked to the user of the backend; nil without such a provider.
  public var link: ProviderIssuer?

  public init(
    _ flow: Flow = .enhanced, allowsGuests: Bool = false,
    developerLoginKey: String = "cognito-identity.amazonaws.com", link: ProviderIssuer? = nil
  ) {
    self.flow = flow
    self.allowsGuests = allowsGuests
    self.developerLoginKey = developerLoginKey
    self.link = link
  }
}
