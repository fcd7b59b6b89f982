/// What a profile's configuration means for its sessions.
public struct SessionPlan: Sendable, Equatable {
  /// How the profile's backend knows a user.
  public enum BackendTrust: Sendable, Equatable {
    /// There is no backend.
    case none
    /// It believes credd: the first `get` signs in by itself.
    case host
    /// It wants a password first.
    case password
  }

  /// How a token becomes credentials.
  public enum Flow: Sendable, Equatable {
    /// GetCredentialsForIdentity.
    case enhanced
    /// AssumeRoleWithWebIdentity.
    case basic
  }

  public var backend: BackendTrust
  public var flow: Flow
  /// Unauthenticated identities are allowed.
  public var allowsGuests: Bool
  /// The provider whose token a file holds: a login that needs nobody.
  public var tokenFileProvider: String?
  /// The key under which a developer token stands in `Logins`; it depends on the partition.
  public var developerLoginKey: String

  /// Something vouches for the user without anybody's doing.
  public var worksUnattended: Bool { backend == .host || tokenFileProvider != nil }

  public init(
    backend: BackendTrust, flow: Flow = .enhanced, allowsGuests: Bool = false,
    tokenFileProvider: String? = nil,
    developerLoginKey: String = "cognito-identity.amazonaws.com"
  ) {
    self.backend = backend
    self.flow = flow
    self.allowsGuests = allowsGuests
    self.tokenFileProvider = tokenFileProvider
    self.developerLoginKey = developerLoginKey
  }
}
