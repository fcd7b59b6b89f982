/// The daemon as `status` shows it. Counters run from its start.
public struct DaemonReport: Sendable, Equatable {
  public var version: String
  public var pid: Int32
  public var uptime: Duration
  /// Held right now.
  public var sessions: Int
  /// Open right now.
  public var connections: Int
  /// Lines answered.
  public var requests: Int
  /// Calls of a token callback.
  public var backendCalls: Int
  /// Tokens exchanged for credentials.
  public var exchanges: Int
  /// Since when the configuration is in force.
  public var configured: WallTime
  /// AWS's time less this host's, where they are more than a minute apart.
  public var clockSkew: Duration?
  /// Why a newer one is not; nil where there is none, and for whoever is no administrator.
  public var reloadProblem: String?
  /// Why IdentityIds are not on disk; nil where they are, or where there is no state directory, and
  /// for whoever is no administrator.
  public var stateDirectory: String?

  public init(
    version: String, pid: Int32, uptime: Duration, sessions: Int, connections: Int,
    requests: Int, backendCalls: Int, exchanges: Int,
    configured: WallTime, clockSkew: Duration? = nil, reloadProblem: String? = nil,
    stateDirectory: String? = nil
  ) {
    self.version = version
    self.pid = pid
    self.uptime = uptime
    self.sessions = sessions
    self.connections = connections
    self.requests = requests
    self.backendCalls = backendCalls
    self.exchanges = exchanges
    self.configured = configured
    self.clockSkew = clockSkew
    self.reloadProblem = reloadProblem
    self.stateDirectory = stateDirectory
  }
}
