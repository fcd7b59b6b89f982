/// The values of `op`, and the keys each takes besides `op` and `id`.
enum OperationName: String, CaseIterable {
  case get, token, identity, login, logout, clear, release, status, watch, ping

  var keys: [String] {
    switch self {
    case .get: ["profile", "min_ttl", "refresh", "wait", "user"]
    case .token: ["profile", "min_ttl", "wait"]
    case .identity, .release, .watch: ["profile"]
    case .login:
      ["profile", "username", "password", "identity_id", "token", "logins", "custom_role_arn"]
    case .logout: ["profile", "global"]
    case .clear: ["profile", "what"]
    case .status: ["all"]
    case .ping: []
    }
  }

  static let keysOfEvery = ["op", "id"]
}
