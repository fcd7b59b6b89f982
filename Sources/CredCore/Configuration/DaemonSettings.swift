/// The `[daemon]` section.
public struct DaemonSettings: Sendable, Equatable {
  /// The most open connections.
  public var maxConnections = Limits.Client.connections
  /// The most open connections of one user.
  public var maxConnectionsPerUser = Limits.Client.connectionsPerUser
  /// The group whose members, like root, may see the status of all sessions. Nil: only root.
  public var adminGroup: String?
  /// Users, by name or number, that may read the metrics.
  public var metricsUsers: [String] = []
  public var logLevel = LogLevel.info
  /// The most open connections to backends and AWS.
  public var upstreamConnections = 64
  /// The daemon ends after this time without a connection; nil: it stays.
  public var exitOnIdle: Duration?
  /// The most sessions in memory.
  public var maxSessions = 10_000
  /// The highest rates of calls to AWS. AWS's quotas apply to an account, which several hosts may
  /// share.
  public var getIDRate = Rate.perSecond(25)
  public var getCredentialsRate = Rate.perSecond(200)
  public var getOpenIDTokenRate = Rate.perSecond(200)
  public var assumeRoleRate = Rate.perSecond(100)

  public init() {}
}

extension ConfigurationSchema {
  static let daemon: [ConfigurationKey<DaemonSettings>] = [
    .init(
      "max_connections", \.maxConnections, .integer(1...65_536),
      standard: "\(Limits.Client.connections)"),
    .init(
      "max_connections_per_user", \.maxConnectionsPerUser, .integer(1...65_536),
      standard: "\(Limits.Client.connectionsPerUser)"),
    .init("admin_group", \.adminGroup, .accountName),
    .init("metrics_users", \.metricsUsers, .list(of: "a user's name", where: \.isAccountName)),
    .init("log_level", \.logLevel, .choice, standard: "info"),
    .init("upstream_connections", \.upstreamConnections, .integer(1...1024), standard: "64"),
    .init("exit_on_idle", \.exitOnIdle, .duration(.seconds(1) ... .seconds(7 * 86_400))),
    .init("max_sessions", \.maxSessions, .integer(1...Limits.Session.most), standard: "10000"),
    .init("get_id_rate_limit", \.getIDRate, .rate, standard: "25/s"),
    .init("get_credentials_rate_limit", \.getCredentialsRate, .rate, standard: "200/s"),
    .init("get_openid_token_rate_limit", \.getOpenIDTokenRate, .rate, standard: "200/s"),
    .init("assume_role_rate_limit", \.assumeRoleRate, .rate, standard: "100/s"),
  ]
}
