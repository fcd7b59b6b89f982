extension Configuration {
  /// The profile `default` at the sandbox's user pool.
  ///
  /// - Parameters:
  ///   - backend: more lines for the backend.
  ///   - profile: more lines for the profile.
  static func userPool(_ sandbox: Sandbox, backend: String = "", profile: String = "") -> String {
    """
    [backend staff]
    type = user-pool
    user_pool_id = us-east-1_Sandbox
    client_id = \(UserPoolHost.client)
    user_pool_endpoint = \(sandbox.url)
    timeout = 30s
    \(backend)
    [profile default]
    identity_pool_id = \(Sandbox.pool)
    backend = staff
    cognito_endpoint = \(sandbox.url)
    \(profile)

    """
  }
}

extension Sandbox {
  /// The present code of an authenticator app.
  func totp(_ secret: String) throws -> String {
    try control("GET", "user-pool/totp?Secret=\(secret)")["Code"]?.text ?? ""
  }

  /// The latest code that was sent to a user of the pool.
  func code(of username: String) throws -> String {
    try control("GET", "user-pool/messages?Username=\(username)")["Messages"]?[0]?["Code"]?.text
      ?? ""
  }
}
