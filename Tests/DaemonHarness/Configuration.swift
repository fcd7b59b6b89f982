/// Configurations for credd against a sandbox.
enum Configuration {
  /// One profile, whose user is always alice, with a backend that has a minute to answer.
  static func usual(
    _ sandbox: Sandbox, timeout: String = "60s", backend: String = "", profile: String = "",
    daemon: String = ""
  ) -> String {
    http(url: sandbox.url + "/token", timeout: timeout, backend: backend, daemon: daemon)
      + self.profile("default", endpoint: sandbox.url, profile)
  }

  static func http(
    url: String, timeout: String = "60s", backend: String = "", daemon: String = ""
  ) -> String {
    """
    [daemon]
    \(daemon)
    [backend corp]
    type = http
    url = \(url)
    timeout = \(timeout)
    \(backend)

    """
  }

  static func profile(
    _ name: String, endpoint: String, identifier: String = "alice", _ keys: String = ""
  ) -> String {
    """
    [profile \(name)]
    identity_pool_id = \(Sandbox.pool)
    developer_provider = login.example.app
    backend = corp
    user_identifier = \(identifier)
    cognito_endpoint = \(endpoint)
    \(keys)

    """
  }
}
