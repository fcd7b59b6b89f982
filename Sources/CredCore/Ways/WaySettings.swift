/// The keys of a profile's way.
public enum WaySettings: Sendable, Equatable {
  case pool(PoolSettings)
  case role(RoleSettings)
  case tokens
  case derived(DerivedSettings)
}

/// What other code asks of these keys.
extension WaySettings {
  /// The keys of the role's session; nil where STS gives none.
  public var session: RoleSessionSettings? {
    switch self {
    case .pool(let pool): pool.session
    case .role(let role): role.session
    case .derived(let derived): derived.session
    case .tokens: nil
    }
  }

  /// A file whose token signs users in.
  public var tokenFile: String? {
    switch self {
    case .pool(let pool): pool.tokenFile
    case .role(let role): role.tokenFile
    case .tokens, .derived: nil
    }
  }

  /// The key of that token among a session's logins. Without an identity pool no logins map goes out, and
  /// any key will do.
  var tokenFileProvider: String? {
    switch self {
    case .pool(let pool): pool.tokenFileProvider
    case .role(let role): role.tokenFile.map { _ in "web_identity_token_file" }
    case .tokens, .derived: nil
    }
  }

  /// Whether the policy is read with the configuration, and not before each call.
  public var readsPolicyFirst: Bool {
    switch self {
    case .role: true
    case .derived(let derived): !derived.source.isEmpty
    case .pool, .tokens: false
    }
  }

  /// Whether a policy of these keys is sent. In the enhanced flow one is an error.
  var appliesPolicies: Bool {
    switch self {
    case .pool(let pool): pool.flow == .basic
    case .role, .derived: true
    case .tokens: false
    }
  }

  /// Whether the profile admits whom another one admits, unless it has lists of its own.
  public var inheritsAccess: Bool { if case .derived = self { true } else { false } }

  /// The region of the profile's AWS services; empty where the configuration names none.
  var region: String {
    switch self {
    case .pool(let pool): pool.region
    case .role(let role): role.region ?? ""
    case .tokens, .derived: ""
    }
  }

  /// How credentials are renewed that are not another profile's; nil where there are none.
  var exchange: (limit: String, rate: KeyPath<DaemonSettings, Rate>, lifetime: Duration)? {
    switch self {
    case .pool(let pool) where pool.id.isEmpty: nil
    // Credentials of the enhanced flow last an hour (Cognito API reference, GetCredentialsForIdentity).
    case .pool(let pool) where pool.flow == .enhanced:
      ("get_credentials_rate_limit", \.getCredentialsRate, .seconds(3600))
    case .pool(let pool): ("assume_role_rate_limit", \.assumeRoleRate, pool.session.lifetime)
    case .role(let role): ("assume_role_rate_limit", \.assumeRoleRate, role.session.lifetime)
    case .tokens, .derived: nil
    }
  }

  /// Whether it gives credentials, and not those of another profile.
  var hasCredentialsOfItsOwn: Bool { exchange != nil }
}
