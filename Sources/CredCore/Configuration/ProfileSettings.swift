/// A `[profile NAME]` section: an identity pool, who may use it and how.
///
/// Equality decides on reload whether sessions of the profile can go on as they are.
public struct ProfileSettings: Sendable, Equatable {
  /// How a token becomes credentials.
  public enum Flow: String, Sendable, CaseIterable {
    /// GetCredentialsForIdentity.
    case enhanced
    /// AssumeRoleWithWebIdentity.
    case basic
  }

  public let name: String
  /// `REGION:UUID`.
  public var identityPoolID: String
  /// Never nil where `backend` is set.
  public var developerProvider: String?
  /// The name of a backend that exists; nil where users sign in with tokens of their own.
  public var backend: String?
  /// At most ``ConfigurationLimits/userIdentifierLength`` characters once expanded.
  public var userIdentifier = Template.user
  public var flow = Flow.enhanced
  /// Never nil in the basic flow; a custom role in the enhanced one.
  public var roleARN: String?
  /// Basic flow: `[\w+=,.@-]{2,64}` once expanded.
  public var roleSessionName = Template.user
  /// Basic flow: lifetime asked for, 15 min to 12 h.
  public var duration: Duration = .seconds(3600)
  /// Basic flow: file with a session policy.
  public var policyFile: String?
  /// Basic flow: managed session policies.
  public var policyARNs: [String] = []
  /// Whether unauthenticated identities are handed out.
  public var guest = false
  /// The pool's AWS account, for GetId.
  public var accountID: String?
  /// A file whose token is a login; set together with `webIdentityProvider`.
  public var webIdentityTokenFile: String?
  /// The key of that login in the logins map.
  public var webIdentityProvider: String?
  /// Nobody is excluded where this list and the three behind it are empty.
  public var allowUsers: [String] = []
  public var allowGroups: [String] = []
  /// systemd units; `*`, `?` and `[…]` as in file names.
  public var allowUnits: [String] = []
  /// Absolute paths with `*`, `?` and `[…]`, each followed by its `sha256:` digests.
  public var allowExecutables: [String] = []
  /// Names or uids of those who may ask in the name of others.
  public var impersonate: [String] = []
  /// Instead of AWS's own; without a slash at its end.
  public var cognitoEndpoint: ConfiguredURL?
  /// Instead of AWS's own; without a slash at its end.
  public var stsEndpoint: ConfiguredURL?
  /// Whether http to an endpoint may leave this host.
  public var allowPlainHTTP = false
  public var fips = false
  public var dualstack = false
  /// PEM file of the authorities trusted for the endpoints instead of the system's.
  public var caFile: String?
  /// The developer token's key in the logins map; nil for that of the region's partition.
  public var loginsKey: String?

  public init(name: String, identityPoolID: String) {
    self.name = name
    self.identityPoolID = identityPoolID
  }

  /// The AWS region, which the pool's id names.
  public var region: String { String(identityPoolID.prefix { $0 != ":" }) }
}
