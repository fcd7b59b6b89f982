/// What a client asks for (the `op` of a line).
public enum Operation: Sendable, Equatable {
  /// Credentials, in the credential_process format.
  case get(GetRequest)
  /// The developer token itself.
  case token(TokenRequest)
  /// State and IdentityId, without any upstream call.
  case identity(profile: String)
  case login(LoginRequest)
  /// - Parameter global: tell the backend too.
  case logout(profile: String, global: Bool)
  case clear(profile: String, ClearScope)
  /// Callers that wait for a sign-in get an error now.
  case release(profile: String)
  /// - Parameter all: every user's sessions, for root and the admin group.
  case status(all: Bool)
  /// - Parameter profile: nil for all of the caller's.
  case watch(profile: String?)
  case ping

  /// Whether the line that said this held no secret and may therefore be remembered.
  public var isFreeOfSecrets: Bool {
    if case .login = self { false } else { true }
  }
}

/// `get`.
public struct GetRequest: Sendable, Equatable {
  public var profile: String
  /// Refresh first where the credentials have less than this left.
  public var minTTL: Duration?
  /// Refresh first in any case.
  public var refresh: Bool
  /// How long the caller will wait for a refresh or a sign-in.
  public var wait: Duration
  /// In whose name, by name or uid; nil for the caller's own. The profile must allow it.
  public var user: String?

  public init(
    profile: String = ProfileName.default, minTTL: Duration? = nil, refresh: Bool = false,
    wait: Duration = Limits.defaultWait, user: String? = nil
  ) {
    self.user = user
    self.profile = profile
    self.minTTL = minTTL
    self.refresh = refresh
    self.wait = wait
  }
}

/// `token`.
public struct TokenRequest: Sendable, Equatable {
  public var profile: String
  /// Fetch a new token first where the one at hand has less than this left.
  public var minTTL: Duration?
  /// How long the caller will wait for a new token or a sign-in.
  public var wait: Duration

  public init(
    profile: String = ProfileName.default, minTTL: Duration? = nil,
    wait: Duration = Limits.defaultWait
  ) {
    self.profile = profile
    self.minTTL = minTTL
    self.wait = wait
  }
}

/// What `clear` forgets.
public enum ClearScope: String, Sendable, CaseIterable {
  /// The credentials; the identity stays.
  case credentials
  /// The identity too.
  case identity
}
