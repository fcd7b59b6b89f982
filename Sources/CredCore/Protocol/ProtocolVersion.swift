/// What this daemon's protocol offers, for clients that work with several versions of credd.
enum ProtocolVersion {
  /// Grows when a client must know more than names of operations and features.
  static let number = 2

  static var operations: [String] { OperationName.allCases.map(\.rawValue) }

  /// What operations of an earlier version do not have: keys of requests and replies, and events. A name
  /// never changes its meaning.
  static let features = [
    "purpose", "token.refresh", "logout.revoke", "login.alone", "login.logins.identity_id",
    "signed-in", "account.sign-up", "login.username", "login.client_metadata",
    "login.validation_data", "token.kind", "account.user-pool", "login.browser", "login.device",
    "status.limit", "status.after", "status.profiles", "status.listeners", "watch.challenge",
    "error.kind", "error.reason", "login.password.logins",
  ]
}
