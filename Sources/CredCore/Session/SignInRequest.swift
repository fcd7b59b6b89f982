extension SignInInput {
  /// The kind of a sign-in, without its secrets.
  enum Kind: Sendable, Equatable {
    case host
    case password(username: String)
    case provider
    /// A developer token or logins.
    case tokens
  }

  var kind: Kind {
    switch self {
    case .host: .host
    case .username(let name), .password(let name, _, _): .password(username: name)
    case .developerToken, .logins: .tokens
    case .providerTokens, .browser, .device: .provider
    }
  }
}

/// A client that waits for the result of a sign-in which another client answered.
public struct SignInOnlooker: Sendable, Equatable {
  public let client: UInt64
  /// When the client is answered at the latest.
  public let until: Instant

  public init(client: UInt64, until: Instant) {
    self.client = client
    self.until = until
  }
}

/// A `login` for a session to carry out.
public struct SignInRequest: Sendable, Equatable {
  /// The client to answer; nil if none waits.
  public let id: UInt64?
  /// The number that the daemon gave the sign-in, to record its end.
  public let number: UInt64
  public let input: SignInInput
  public let customRoleARN: String?
  /// When the developer token expires, on this host's clock; nil if the token does not say.
  public let expires: Instant?
  /// When logins expire, by provider.
  public let loginsExpire: [String: Instant]
  /// When the client is answered at the latest.
  public let deadline: Instant
  /// Other clients that get the same answer.
  public let onlookers: [SignInOnlooker]

  public init(
    id: UInt64?, number: UInt64 = 0, input: SignInInput, customRoleARN: String? = nil,
    expires: Instant? = nil, loginsExpire: [String: Instant] = [:], deadline: Instant,
    onlookers: [SignInOnlooker] = []
  ) {
    self.onlookers = onlookers
    self.id = id
    self.number = number
    self.input = input
    self.customRoleARN = customRoleARN
    self.expires = expires
    self.loginsExpire = loginsExpire
    self.deadline = deadline
  }
}

/// Values of `Reason` in errors that are credd's own. Scripts depend on the spelling.
public enum SignInReason {
  /// The password was right, and something after it failed: it is not to be typed again.
  public static let passwordAccepted = "PasswordAccepted"
  /// Another profile is meant: the source of this one, or one that is derived from it. The message says
  /// which.
  public static let derivedProfile = "DerivedProfile"
}

/// Logins that a client brings, and when they end.
struct LoginsToLink: Sendable {
  let map: LoginsMap
  /// By provider, on this host's clock; without those that do not say.
  let ends: [String: Instant]

  /// Nil for no logins.
  init?(_ map: LoginsMap, _ request: SignInRequest) {
    guard !map.isEmpty else { return nil }
    self.map = map
    ends = request.loginsExpire
  }
}

/// A `login` that is being carried out.
///
/// Until it is accepted, the session has the state that success would lead to, but announces
/// nothing.
struct SignInUnderWay: Sendable {
  enum State: Sendable, Equatable {
    /// A call is under way. Goes to `linking` or `accepted`, or the sign-in is rolled back.
    case calling
    /// The backend has accepted the password, and is to link the logins beside it. Goes to `accepted`,
    /// or the sign-in is rolled back.
    case linking
    /// The user is signed in; a failure from here on is the session's own.
    case accepted
  }

  /// The state before the sign-in, restored if it is refused.
  var before: Held
  var state = State.calling
  let kind: SignInInput.Kind
  let deadline: Instant
  let number: UInt64
  /// The client to answer; nil once the client is answered or gone.
  var client: UInt64?
  /// The logins beside a password. No server gets them before it has accepted the password.
  var loginsToLink: LoginsToLink?
  /// Those that get the same answer.
  var onlookers: [SignInOnlooker] = []
  /// The providers of logins that `before` remembers because of this sign-in.
  var notedLogins: [String] = []
  /// Logins that Cognito must first have accepted one by one.
  var unreadLogins: [LoginsMap.Login] = []
  /// The IdentityId that the client names. Until Cognito accepts it with the client's own tokens it
  /// is used with them alone, and the session does not have it.
  var claimedIdentity: IdentityID?

  var isAccepted: Bool { state == .accepted }
  /// Whether the backend has taken the user's password: a failure from here on is not about it.
  var hasTakenPassword: Bool {
    if case .password = kind { state != .calling } else { false }
  }
  /// Whether it waits for the backend's word about the logins that it brought.
  var isLinkingLogins: Bool { state == .linking || state == .calling && kind == .tokens }
  /// Everybody who waits for the outcome.
  var clients: [UInt64] { [client].compactMap(\.self) + onlookers.map(\.client) }

  /// When the next waiting client has waited long enough; nil if no client waits.
  var nextTimeout: Instant? {
    let own = client == nil ? nil : deadline
    return (onlookers.map(\.until) + [own].compactMap(\.self)).min()
  }

  mutating func left(_ leaving: UInt64) {
    if client == leaving { client = nil }
    onlookers.removeAll { $0.client == leaving }
  }
}
