extension SignInInput {
  /// The kind of a sign-in, without its secrets.
  enum Kind: Sendable, Equatable {
    case host
    case password(username: String)
    case userPool
    /// A developer token or logins.
    case tokens
  }

  var kind: Kind {
    switch self {
    case .host: .host
    case .username(let name), .password(let name, _): .password(username: name)
    case .developerToken, .logins: .tokens
    case .poolTokens, .browser, .device: .userPool
    }
  }
}

/// A client that waits for what comes of a sign-in of which another one has brought the answer.
public struct SignInOnlooker: Sendable, Equatable {
  public let client: UInt64
  /// When it is answered at the latest.
  public let until: Instant

  public init(client: UInt64, until: Instant) {
    self.client = client
    self.until = until
  }
}

/// A `login` for a session to carry out.
public struct SignInRequest: Sendable, Equatable {
  /// The client to answer; nil where none waits.
  public let id: UInt64?
  /// For the record of its end; the daemon gives it.
  public let number: UInt64
  public let input: SignInInput
  public let customRoleARN: String?
  /// When the developer token expires, on this host's clock; nil where it does not say.
  public let expires: Instant?
  /// The same for logins, by provider.
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
