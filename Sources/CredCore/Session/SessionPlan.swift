/// What a profile's configuration means for its sessions.
public struct SessionPlan: Sendable, Equatable {
  /// How the profile's backend authenticates a user. The names of the cases are part of stored
  /// fingerprints.
  public enum BackendTrust: Sendable, Equatable {
    /// There is no backend.
    case none
    /// The backend trusts the host: the first `get` signs in by itself.
    case host
    /// The backend requires a password.
    case password
    /// The backend is a provider: users sign in there, and its tokens go to Cognito.
    indirect case provider(ProviderIssuer)

    /// The provider's issuer; nil for another kind of backend.
    public var issuer: ProviderIssuer? {
      if case .provider(let issuer) = self { issuer } else { nil }
    }
  }

  public var backend: BackendTrust
  public internal(set) var way: PlannedWay
  @Boxed private var ownKeys: OwnKeys?
  // Small fields come last: a session's other small values fill the rest of their word.
  /// Whether a provider's access token is kept, so that programs can have it.
  public var keepsAccessToken: Bool

  /// Whether a session signs in without a `login`.
  public var worksUnattended: Bool { backend == .host || tokenFileProvider != nil }

  public init(
    backend: BackendTrust, way: PlannedWay, tokenFileProvider: String? = nil,
    keepsAccessToken: Bool = false
  ) {
    _ownKeys = Boxed(wrappedValue: nil)
    self.backend = backend
    self.way = way
    self.keepsAccessToken = keepsAccessToken
    self.tokenFileProvider = tokenFileProvider
  }

  /// Of an identity pool.
  public init(
    backend: BackendTrust, flow: PoolPlan.Flow = .enhanced, allowsGuests: Bool = false,
    tokenFileProvider: String? = nil, keepsAccessToken: Bool = false
  ) {
    self.init(
      backend: backend, way: .pool(PoolPlan(flow, allowsGuests: allowsGuests)),
      tokenFileProvider: tokenFileProvider, keepsAccessToken: keepsAccessToken)
  }
}

/// The keys of a logins map that the configuration names. Few profiles have one, so both share one
/// word of memory.
extension SessionPlan {
  private struct OwnKeys: Sendable, Equatable {
    var tokenFileProvider: String?
    var providerName: String?
  }

  /// The provider of the token in the profile's token file, which signs in unattended.
  public var tokenFileProvider: String? {
    get { ownKeys?.tokenFileProvider }
    set { change { $0.tokenFileProvider = newValue } }
  }

  /// The only key under which tokens of the profile's provider, whether backend or linked, go into
  /// a logins map; nil for the documented key.
  public internal(set) var providerName: String? {
    get { ownKeys?.providerName }
    set { change { $0.providerName = newValue } }
  }

  private mutating func change(_ body: (inout OwnKeys) -> Void) {
    var keys = ownKeys ?? OwnKeys()
    body(&keys)
    ownKeys = keys == OwnKeys() ? nil : keys
  }
}
