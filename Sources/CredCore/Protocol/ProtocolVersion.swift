/// The abilities of this daemon's protocol, for clients that work with several versions of credd.
enum ProtocolVersion {
  /// Grows when the names of operations and features are not enough for a client.
  static let number = 2

  static var operations: [String] { OperationName.allCases.map(\.rawValue) }

  /// - Parameter chosen: nil for all.
  static func operations(among chosen: Set<String>?) -> [String] {
    operations.filter { chosen?.contains($0) ?? true }
  }

  /// The features over a socket with a cap: without features of operations that are not chosen.
  ///
  /// - Parameter chosen: nil for all.
  static func features(of chosen: Set<String>?) -> [String] {
    guard let chosen else { return features }
    return features.filter { feature in
      let word = String(feature.prefix { $0 != "." })
      return OperationName(rawValue: word) == nil || chosen.contains(word)
    }
  }

  /// Additions to the operations of earlier versions: keys of requests and replies, and events. A
  /// name never changes its meaning.
  static let features = [
    "purpose", "token.refresh", "logout.revoke", "login.alone", "login.logins.identity_id",
    "signed-in", "account.sign-up", "login.username", "login.client_metadata",
    "login.validation_data", "token.kind", "account.user-pool", "login.browser", "login.device",
    "status.limit", "status.after", "status.profiles", "status.listeners", "watch.challenge",
    "error.kind", "error.reason", "login.password.logins", "logout.sso", "account.sessions",
  ]
}
