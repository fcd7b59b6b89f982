/// Everything the configuration files say, checked.
public struct Configuration: Sendable, Equatable {
  public var daemon = DaemonSettings()
  /// By name.
  public var backends: [String: BackendSettings] = [:]
  /// By name; `default` is the one a request means that names none.
  public var profiles: [String: ProfileSettings] = [:]

  public init() {}

  /// The backend that a profile names.
  public func backend(of profile: ProfileSettings) -> BackendSettings? {
    profile.backend.flatMap { backends[$0] }
  }

  /// Whether a uid without a name cannot use the profile.
  public func needsUserName(_ profile: ProfileSettings) -> Bool {
    if profile.flow == .basic, profile.roleSessionName.needsUserName { return true }
    return backend(of: profile)?.needsUserName(userIdentifier: profile.userIdentifier) ?? false
  }

  /// Reads files in the order given. All problems are found at once.
  ///
  /// - Parameter environment: the value of a variable, for `${NAME}` in paths.
  public static func read(
    _ sources: [ConfigurationSource], environment: @escaping (String) -> String?
  ) -> ConfigurationReading {
    var lines = INIReader()
    lines.read(sources)
    var reader = ConfigurationReader(environment: environment, diagnostics: lines.diagnostics)
    reader.read(lines.document)
    return ConfigurationReading(
      configuration: reader.diagnostics.hasErrors ? nil : reader.configuration,
      diagnostics: reader.diagnostics.inOrder())
  }
}

/// The `[daemon]` section.
public struct DaemonSettings: Sendable, Equatable {
  /// Clients connected at once.
  public var maxConnections = Limits.Client.connections
  /// Clients connected at once that one Unix user may have.
  public var maxConnectionsPerUser = Limits.Client.connectionsPerUser
  /// Its members, like root, may see every session's status. Nil: root alone.
  public var adminGroup: String?
  public var logLevel = LogLevel.info
  /// Connections to backends and AWS at once.
  public var upstreamConnections = 64
  /// How long nobody may be connected before the daemon ends; nil: it stays.
  public var exitOnIdle: Duration?
  /// Sessions held at once.
  public var maxSessions = 10_000
  /// How often AWS is called at most. Its quotas are an account's, which other hosts share.
  public var getIDRate = Rate.perSecond(25)
  public var getCredentialsRate = Rate.perSecond(200)
  public var getOpenIDTokenRate = Rate.perSecond(200)
  public var assumeRoleRate = Rate.perSecond(100)

  public init() {}
}

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
  /// At most ``Limits/Upstream/userIdentifierLength`` characters once expanded.
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
  public var cognitoEndpoint: HTTPURL?
  /// Instead of AWS's own; without a slash at its end.
  public var stsEndpoint: HTTPURL?
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

/// How much the daemon logs: what is at the level and above it.
public enum LogLevel: String, Sendable, CaseIterable {
  case error, warning, notice, info, debug
}
