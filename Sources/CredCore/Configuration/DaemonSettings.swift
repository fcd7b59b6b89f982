/// The `[daemon]` section.
public struct DaemonSettings: Sendable, Equatable {
  /// Clients connected at once.
  public var maxConnections = 4096
  /// Clients connected at once that one Unix user may have.
  public var maxConnectionsPerUser = 64
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
