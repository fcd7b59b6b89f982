extension RenderedReply {
  /// The reply to `status`.
  ///
  /// - Parameters:
  ///   - profiles: the profiles that are open to the caller; nil if the request does not ask for
  ///     them.
  ///   - next: the last of these sessions; nil if no more sessions follow.
  public static func status(
    _ sessions: [SessionReport], profiles: [ProfileReport]? = nil, of daemon: DaemonReport,
    next: SessionCursor? = nil
  ) -> RenderedReply {
    RenderedReply(capacity: 512 + 512 * sessions.count) { writer in
      writer.key("Sessions")
      writer.beginArray()
      for session in sessions { writer.append(session) }
      writer.endArray()
      if let profiles {
        writer.key("Profiles")
        writer.beginArray()
        for profile in profiles { writer.append(profile) }
        writer.endArray()
      }
      writer.field("Daemon") { $0.appendMembers(of: daemon) }
      writer.field("Next", next?.text)
    }
  }
}

extension JSONWriter {
  /// Appends the members that say who is signed in.
  mutating func append(_ signedIn: SignedIn?) {
    guard let signedIn else { return }
    field("Username", signedIn.username)
    field("Subject", signedIn.subject)
    field("SignedInBy", signedIn.by.rawValue)
    field("SignedInUntil", signedIn.until)
  }

  fileprivate mutating func append(_ session: SessionReport) {
    beginObject()
    field("Profile", session.profile)
    field("User", session.user)
    field("Uid", Int64(session.uid))
    field("State", session.state.rawValue)
    field("IdentityId", session.identityID)
    append(session.signedIn)
    append(session.derived)
    field("Region", session.region)
    field("Expiration", session.expiration)
    field("NextRefresh", session.nextRefresh)
    field("NextRefreshReason", session.nextRefreshReason)
    if let error = session.lastError {
      field("LastError") { writer in
        writer.field("Code", error.code.rawValue)
        writer.field("Message", error.message)
        writer.field("At", error.at)
        writer.field("Reason", error.reason)
        writer.field("Detail", error.detail)
      }
    }
    field("Failures", Int64(session.failures))
    field("LastRefresh", session.lastRefresh)
    field("Waiters", Int64(session.waiters))
    if let caller = session.lastCaller, caller.pid != nil || caller.unit != nil {
      field("LastCaller") { writer in
        writer.field("Pid", caller.pid.map(Int64.init))
        writer.field("Unit", caller.unit)
      }
    }
    endObject()
  }

  fileprivate mutating func append(_ profile: ProfileReport) {
    beginObject()
    field("Profile", profile.name)
    append(profile.derived)
    if !profile.givesCredentials {
      key("Credentials")
      bool(false)
    }
    field("SignIn") { writer in
      writer.key("Means")
      writer.beginArray()
      for means in profile.means { writer.string(means.rawValue) }
      writer.endArray()
      if !profile.redirectURIs.isEmpty { writer.field("RedirectUris", profile.redirectURIs) }
      if !profile.identityProviders.isEmpty {
        writer.field("IdentityProviders", profile.identityProviders)
      }
    }
    if let actions = profile.accountActions {
      key("AccountActions")
      beginArray()
      for action in actions { string(action.rawValue) }
      endArray()
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
    key("Listeners")
    beginArray()
    for listener in daemon.listeners {
      beginObject()
      field("Kind", listener.kind.rawValue)
      field("Address", listener.address)
      field("Problem", listener.problem)
      endObject()
    }
    endArray()
    field("Configured", daemon.configured)
    field("ClockSkew", daemon.clockSkew.map { Int64($0.inSeconds) })
    field("ReloadNeeded", daemon.reloadAdvice)
    field("ReloadError", daemon.reloadProblem)
    field("StateDirectory", daemon.stateDirectory)
  }
}

/// A profile's part of `status`.
public struct ProfileReport: Sendable, Equatable {
  public var name: String
  public var means: [SignInMeans]
  /// The addresses to which a browser may come back; without a port, any port is allowed.
  public var redirectURIs: [String]
  /// The providers among which a sign-in by browser may choose.
  public var identityProviders: [String]
  /// Nil unless the profile is derived from another profile.
  public var derived: DerivedReport?
  /// Whether programs get credentials of the profile. If not, only derived profiles use it.
  public var givesCredentials = true
  /// The actions of `account`; nil where nothing is said of them.
  public var accountActions: [AccountAction]?

  public init(
    name: String, means: [SignInMeans], redirectURIs: [String] = [],
    identityProviders: [String] = []
  ) {
    self.name = name
    self.means = means
    self.redirectURIs = redirectURIs
    self.identityProviders = identityProviders
  }
}

/// A socket on which the daemon listens.
public struct ListenerReport: Sendable, Equatable {
  /// The raw values are those of the protocol.
  public enum Kind: String, Sendable {
    /// For requests of this protocol.
    case socket
    /// For HTTP clients.
    case endpoint
    /// For units that name the socket in `LoadCredential=`.
    case tokens
    /// For requests of this protocol, over a socket with a cap.
    case capped
  }

  public var kind: Kind
  /// A path, or a loopback address with its port.
  public var address: String
  /// Why nobody is served there, and what to do; nil if clients are served.
  public var problem: String?

  public init(_ kind: Kind, address: String, problem: String? = nil) {
    self.kind = kind
    self.address = address
    self.problem = problem
  }

  /// The problem with its place.
  public var trouble: String? { problem.map { "\(address): \($0)" } }
}

/// The daemon's part of `status`. Counters start at zero with the daemon.
public struct DaemonReport: Sendable, Equatable {
  public var version: String
  public var pid: Int32
  public var uptime: Duration
  /// Sessions in memory.
  public var sessions: Int
  /// Open connections.
  public var connections: Int
  /// Answered lines.
  public var requests: Int
  /// Token callbacks.
  public var backendCalls: Int
  /// Exchanges of a token for credentials.
  public var exchanges: Int
  /// Where clients connect.
  public var listeners: [ListenerReport]
  /// When the daemon applied its configuration.
  public var configured: WallTime
  /// AWS's time minus this host's, if they differ by more than a minute.
  public var clockSkew: Duration?
  /// The advice to reload. Nil while the configuration's files are as they were read.
  public var reloadAdvice: String?
  /// The problem because of which a newer configuration was not applied; nil if there is none. Only
  /// for administrators.
  public var reloadProblem: String?
  /// The problem because of which IdentityIds are not saved on disk; nil if they are, or if there
  /// is no state directory. Only for administrators.
  public var stateDirectory: String?

  public init(
    version: String, pid: Int32, uptime: Duration, sessions: Int, connections: Int,
    requests: Int, backendCalls: Int, exchanges: Int, listeners: [ListenerReport] = [],
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
    self.listeners = listeners
    self.configured = configured
    self.clockSkew = clockSkew
    self.reloadProblem = reloadProblem
    self.stateDirectory = stateDirectory
  }
}

extension SessionReport {
  /// The rough number of bytes in a reply.
  public var roughByteCount: Int {
    let texts = [
      profile, user, identityID?.description, nextRefreshReason, lastError?.message,
      lastCaller?.unit, lastError?.reason, lastError?.detail,
    ]
    return 448 + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
  }
}

/// A session's part of `status`. It holds no secret.
public struct SessionReport: Sendable, Equatable {
  public var profile: String
  /// The user's name; nil for a uid without a name.
  public var user: String?
  public var uid: UInt32
  public var state: ReportedState
  public var identityID: IdentityID?
  public var signedIn: SignedIn?
  /// Nil for a session of an identity pool.
  public var derived: DerivedReport?
  /// The region of the replica that serves the session's user pool; nil while the primary does.
  public var region: String?
  /// The expiration of the held credentials.
  public var expiration: WallTime?
  public var nextRefresh: WallTime?
  /// The reason for that time, in a few words.
  public var nextRefreshReason: String?
  public var lastError: LastError?
  /// Failed refreshes since the last success.
  public var failures: Int
  public var lastRefresh: WallTime?
  /// Waiting requests.
  public var waiters: Int
  /// The process that got credentials last.
  public var lastCaller: LastCaller?

  /// A process that got credentials.
  public struct LastCaller: Sendable, Equatable {
    /// Nil if the kernel names no process: for a TCP connection, or one from another pid namespace.
    public var pid: Int32?
    /// The process's systemd unit; nil if it is unknown.
    public var unit: String?

    public init(pid: Int32?, unit: String?) {
      self.pid = pid
      self.unit = unit
    }
  }

  /// The last failure since the last success.
  public struct LastError: Sendable, Equatable {
    public var code: ProtocolErrorCode
    public var message: String
    public var at: WallTime
    /// The upstream's name for the error.
    public var reason: String?
    /// The request, its server, the reply and its time. Only for administrators.
    public var detail: String?

    public init(
      code: ProtocolErrorCode, message: String, at: WallTime, reason: String? = nil,
      detail: String? = nil
    ) {
      self.code = code
      self.message = message
      self.at = at
      self.reason = reason
      self.detail = detail
    }
  }

  public init(
    profile: String, user: String?, uid: UInt32, state: ReportedState,
    identityID: IdentityID? = nil, signedIn: SignedIn? = nil, expiration: WallTime? = nil,
    nextRefresh: WallTime? = nil,
    nextRefreshReason: String? = nil, lastError: LastError? = nil, failures: Int = 0,
    lastRefresh: WallTime? = nil, waiters: Int = 0, lastCaller: LastCaller? = nil
  ) {
    self.profile = profile
    self.user = user
    self.uid = uid
    self.state = state
    self.identityID = identityID
    self.signedIn = signedIn
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
