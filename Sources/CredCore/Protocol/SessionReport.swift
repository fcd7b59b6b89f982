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
