/// The checked content of the configuration files.
public struct Configuration: Sendable, Equatable {
  public var daemon = DaemonSettings()
  /// By name.
  public var backends: [String: BackendSettings] = [:]
  /// By name. A request that names no profile means `default`.
  public var profiles: [String: ProfileSettings] = [:]

  public init() {}

  /// The backend of a profile; nil if it has none.
  public func backend(of profile: ProfileSettings) -> BackendSettings? {
    profile.backend.flatMap { backends[$0] }
  }

  /// Whether the profile needs the user's name, which a uid may not have.
  public func needsUserName(_ profile: ProfileSettings) -> Bool {
    if profile.flow == .basic, profile.roleSessionName.needsUserName { return true }
    return backend(of: profile)?.needsUserName(userIdentifier: profile.userIdentifier) ?? false
  }

  /// Reads files in the given order and reports all problems at once.
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
      understood: reader.configuration,
      diagnostics: reader.diagnostics.inOrder(), positions: reader.positions)
  }
}

/// The `[daemon]` section.
public struct DaemonSettings: Sendable, Equatable {
  /// Open connections.
  public var maxConnections = Limits.Client.connections
  /// Open connections of one user.
  public var maxConnectionsPerUser = Limits.Client.connectionsPerUser
  /// Its members, like root, may see the status of all sessions. Nil: only root.
  public var adminGroup: String?
  /// Users, by name or number, that may read the metrics.
  public var metricsUsers: [String] = []
  public var logLevel = LogLevel.info
  /// Open connections to backends and AWS.
  public var upstreamConnections = 64
  /// The daemon ends after this time without a connection; nil: it stays.
  public var exitOnIdle: Duration?
  /// Sessions in memory.
  public var maxSessions = 10_000
  /// The highest rates of calls to AWS. AWS's quotas are for an account, which other hosts share.
  public var getIDRate = Rate.perSecond(25)
  public var getCredentialsRate = Rate.perSecond(200)
  public var getOpenIDTokenRate = Rate.perSecond(200)
  public var assumeRoleRate = Rate.perSecond(100)

  public init() {}
}

/// A `[profile NAME]` section: an identity pool, its users and its flow.
///
/// On reload, sessions of a profile with equal settings continue unchanged.
public struct ProfileSettings: Sendable, Equatable {
  /// How a token is exchanged for credentials.
  public enum Flow: String, Sendable, CaseIterable {
    /// GetCredentialsForIdentity.
    case enhanced
    /// AssumeRoleWithWebIdentity.
    case basic
  }

  public let name: String
  /// `REGION:UUID`.
  public var identityPoolID: String
  /// Never nil where `backend` is set, user pools excepted.
  public var developerProvider: String?
  /// The name of an existing backend; nil if users sign in with tokens of their own.
  public var backend: String?
  /// The name of a backend whose sign-ins are linked to the user of ``backend``, which is set then.
  public var linkBackend: String?
  /// Expanded, at most ``Limits/Upstream/userIdentifierLength`` characters.
  public var userIdentifier = Template.user
  public var flow = Flow.enhanced
  /// Never nil in the basic flow; a custom role in the enhanced one.
  public var roleARN: String?
  /// Basic flow: expanded, `[\w+=,.@-]{2,64}`.
  public var roleSessionName = Template.user
  /// Basic flow: the requested lifetime, 15 min to 12 h.
  public var duration: Duration = .seconds(3600)
  /// Basic flow: file with a session policy.
  public var policyFile: String?
  /// Basic flow: managed session policies.
  public var policyARNs: [String] = []
  /// Whether users without a sign-in get an unauthenticated identity.
  public var guest = false
  /// The pool's AWS account, for GetId.
  public var accountID: String?
  /// A file with a token that is a login; set together with `webIdentityProvider`.
  public var webIdentityTokenFile: String?
  /// The key of that login in the logins map.
  public var webIdentityProvider: String?
  /// Every user may use the profile if this list and the next three are empty.
  public var allowUsers: [String] = []
  public var allowGroups: [String] = []
  /// systemd units, with `*`, `?` and `[…]` as in file names.
  public var allowUnits: [String] = []
  /// Absolute paths with `*`, `?` and `[…]`, each followed by its `sha256:` digests.
  public var allowExecutables: [String] = []
  /// A session that nobody used for this time is forgotten.
  public var forgetAfter = ProfileSettings.standardForgetAfter
  public static let standardForgetAfter = Duration.seconds(30 * 86_400)
  /// Whose sessions are renewed though nobody asks.
  public var keepWarm = KeepWarm.nobody
  /// What `token` may hand out of a user pool's tokens; the first is what it gives by itself.
  public var vendTokens: [VendedToken] = []
  /// Names or uids of the users that may ask in the name of others.
  public var impersonate: [String] = []
  /// Whether they also get sessions that a person signed in to.
  public var impersonateSignedIn = false
  /// In place of AWS's own; without a slash at its end.
  public var cognitoEndpoint: HTTPURL?
  /// In place of AWS's own; without a slash at its end.
  public var stsEndpoint: HTTPURL?
  /// Whether an http:// endpoint may be on another host.
  public var allowPlainHTTP = false
  public var fips = false
  public var dualstack = false
  /// PEM file of certificate authorities for the endpoints, in place of the system's.
  public var caFile: String?
  /// The developer token's key in the logins map; nil for the key of the region's partition.
  public var loginsKey: String?

  public init(name: String, identityPoolID: String) {
    self.name = name
    self.identityPoolID = identityPoolID
  }

  /// The AWS region in the pool's id.
  public var region: String { String(identityPoolID.prefix { $0 != ":" }) }
}

/// How much the daemon logs: this level and those before it.
public enum LogLevel: String, Sendable, CaseIterable {
  case error, warning, notice, info, debug
}
