/// Sections of configurations for the flows of an identity's life.
extension Configuration {
  static let account = "123456789012"

  static func role(_ name: String) -> String { "arn:aws:iam::\(account):role/credd-\(name)" }

  /// A backend that wants a password.
  static func passwordBackend(_ sandbox: Sandbox, _ keys: String = "") -> String {
    """
    [backend corp]
    type = http
    url = \(sandbox.url)/token
    login_url = \(sandbox.url)/login
    logout_url = \(sandbox.url)/logout
    \(keys)

    """
  }

  /// A profile without a backend: guests, other providers' logins, tokens at hand.
  static func direct(_ sandbox: Sandbox, _ name: String = "default", _ keys: String = "") -> String
  {
    """
    [profile \(name)]
    identity_pool_id = \(Sandbox.pool)
    cognito_endpoint = \(sandbox.url)
    \(keys)

    """
  }

  /// A profile with a backend that wants a password, and perhaps more keys.
  static func password(
    _ sandbox: Sandbox, _ keys: String = "", backend: String = ""
  ) -> String {
    passwordBackend(sandbox, backend) + profile("default", endpoint: sandbox.url, keys)
  }
}
