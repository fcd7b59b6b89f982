/// The answer of a backend to a password. Callbacks of the session carry it.
public struct BackendSession: Sendable, Equatable {
  /// Sent as `Authorization: Bearer`; empty after the backend refused it.
  public let token: Secret
  /// The backend's name for the user; if nil, `user_identifier` makes the name.
  public let developerUserIdentifier: String?

  public init(token: Secret, developerUserIdentifier: String?) {
    self.token = token
    self.developerUserIdentifier = developerUserIdentifier
  }
}
