extension RenderedReply {
  /// The answer to `status`.
  public static func status(_ sessions: [SessionReport], of daemon: DaemonReport) -> RenderedReply {
    RenderedReply(capacity: 512 + 512 * sessions.count) { writer in
      writer.key("Sessions")
      writer.beginArray()
      for session in sessions { writer.append(session) }
      writer.endArray()
      writer.field("Daemon") { $0.appendMembers(of: daemon) }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func append(_ session: SessionReport) {
    beginObject()
    field("Profile", session.profile)
    field("User", session.user)
    field("Uid", Int64(session.uid))
    field("State", session.state.rawValue)
    field("IdentityId", session.identityID)
    field("Expiration", session.expiration)
    field("NextRefresh", session.nextRefresh)
    field("NextRefreshReason", session.nextRefreshReason)
    if let error = session.lastError {
      field("LastError") { writer in
        writer.field("Code", error.code.rawValue)
        writer.field("Message", error.message)
        writer.field("At", error.at)
      }
    }
    field("Failures", Int64(session.failures))
    field("LastRefresh", session.lastRefresh)
    field("Waiters", Int64(session.waiters))
    if let caller = session.lastCaller {
      field("LastCaller") { writer in
        writer.field("Pid", Int64(caller.pid))
        writer.field("Unit", caller.unit)
      }
    }
    endObject()
  }

  fileprivate mutating func appendMembers(of daemon: DaemonReport) {
    field("Version", daemon.version)
    field("Pid", Int64(daemon.pid))
    field("Uptime", daemon.uptime.components.seconds)
    field("Sessions", Int64(daemon.sessions))
    field("Connections", Int64(daemon.connections))
    field("Requests", Int64(daemon.requests))
    field("BackendCalls", Int64(daemon.backendCalls))
    field("Exchanges", Int64(daemon.exchanges))
    field("Configured", daemon.configured)
    field("ClockSkew", daemon.clockSkew.map { Int64($0.inSeconds) })
    field("ReloadError", daemon.reloadProblem)
    field("StateDirectory", daemon.stateDirectory)
  }
}

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

/// A session as `status` shows it. Nothing in it is secret.
public struct SessionReport: Sendable, Equatable {
  public var profile: String
  /// Nil for a uid without a name.
  public var user: String?
  public var uid: UInt32
  public var state: ReportedState
  public var identityID: IdentityID?
  /// When the credentials at hand run out.
  public var expiration: WallTime?
  public var nextRefresh: WallTime?
  /// Why then: a few words for a person.
  public var nextRefreshReason: String?
  public var lastError: LastError?
  /// Failed attempts since the last success.
  public var failures: Int
  public var lastRefresh: WallTime?
  /// Callers that wait right now.
  public var waiters: Int
  /// Who was handed credentials last.
  public var lastCaller: LastCaller?

  /// A process that was handed credentials.
  public struct LastCaller: Sendable, Equatable {
    public var pid: Int32
    /// Its systemd unit, where it could be told.
    public var unit: String?

    public init(pid: Int32, unit: String?) {
      self.pid = pid
      self.unit = unit
    }
  }

  /// The last failure, kept after a later success.
  public struct LastError: Sendable, Equatable {
    public var code: ProtocolErrorCode
    public var message: String
    public var at: WallTime

    public init(code: ProtocolErrorCode, message: String, at: WallTime) {
      self.code = code
      self.message = message
      self.at = at
    }
  }

  public init(
    profile: String, user: String?, uid: UInt32, state: ReportedState,
    identityID: IdentityID? = nil, expiration: WallTime? = nil, nextRefresh: WallTime? = nil,
    nextRefreshReason: String? = nil, lastError: LastError? = nil, failures: Int = 0,
    lastRefresh: WallTime? = nil, waiters: Int = 0, lastCaller: LastCaller? = nil
  ) {
    self.profile = profile
    self.user = user
    self.uid = uid
    self.state = state
    self.identityID = identityID
    self.expiration = expiration
    self.nextRefresh = nextRefresh
    self.nextRefreshReason = nextRefreshReason
    self.lastError = lastError
    self.failures = failures
    self.lastRefresh = lastRefresh
    self.waiters = waiters
    self.lastCaller = lastCaller
  }
}
