/// The keys of a profile with an identity pool.
public struct PoolSettings: Sendable, Equatable {
  /// `REGION:UUID`; empty where the key is missing or wrong.
  public var id: String
  /// Never nil if the profile has a backend, unless the backend is a provider.
  public var developerProvider: String?
  /// The name of a backend whose sign-ins are linked to the user of the profile's backend.
  public var linkBackend: String?
  /// The template of the user identifier. Expanded, it has at most
  /// ``Limits/Upstream/userIdentifierLength`` characters.
  public var userIdentifier = Template.user
  public var flow = PoolPlan.Flow.enhanced
  public var session = RoleSessionSettings()
  /// Whether users without a sign-in get an unauthenticated identity.
  public var guest = false
  /// The pool's AWS account, for GetId.
  public var accountID: String?
  /// A file with a token that is a login; set together with ``tokenFileProvider``.
  public var tokenFile: String?
  /// The key of that login in the logins map.
  public var tokenFileProvider: String?
  /// The endpoint that replaces AWS's own; without a slash at its end.
  public var cognitoEndpoint: HTTPURL?
  /// The developer token's key in the logins map; nil for the key of the region's partition.
  public var loginsKey: String?

  public init(id: String = "") {
    self.id = id
  }

  /// The AWS region in the pool's id.
  public var region: String { String(id.prefix { $0 != ":" }) }
}
