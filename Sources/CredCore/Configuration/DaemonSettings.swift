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

  public init() {}
}
