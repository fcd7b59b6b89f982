/// A `login` that a session is to carry out.
public struct SignInRequest: Sendable, Equatable {
  /// Whom to answer; given by the daemon.
  public let id: UInt64
  public let signIn: SignIn
  public let customRoleARN: String?
  /// When a developer token runs out, on this host's clock; nil where it does not say.
  public let expires: Instant?
  /// The same for logins, by provider.
  public let loginsExpire: [String: Instant]
  /// When whoever asked is answered one way or the other.
  public let deadline: Instant

  public init(
    id: UInt64, signIn: SignIn, customRoleARN: String? = nil, expires: Instant? = nil,
    loginsExpire: [String: Instant] = [:], deadline: Instant
  ) {
    self.id = id
    self.signIn = signIn
    self.customRoleARN = customRoleARN
    self.expires = expires
    self.loginsExpire = loginsExpire
    self.deadline = deadline
  }
}
