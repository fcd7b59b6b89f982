/// Whether the rate limits can renew what the other limits allow.
extension ConfigurationReader {
  /// Credentials of the enhanced flow last an hour (Cognito API reference, GetCredentialsForIdentity).
  private static let enhancedLifetime: Duration = .seconds(3600)

  mutating func checkCapacity() {
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) {
      let lifetime = profile.flow == .basic ? profile.duration : Self.enhancedLifetime
      let exchange =
        profile.flow == .basic
        ? ("assume_role_rate_limit", configuration.daemon.assumeRoleRate)
        : ("get_credentials_rate_limit", configuration.daemon.getCredentialsRate)
      check(name, exchange, lifetime, "")
      if let backend = configuration.backend(of: profile) {
        check(name, ("rate_limit", backend.rateLimit), lifetime, " of [backend \(backend.name)]")
      }
    }
  }

  /// Everyone's credentials are renewed once in half of their lifetime.
  private mutating func check(
    _ profile: String, _ limit: (key: String, rate: Rate), _ lifetime: Duration, _ place: String
  ) {
    let renewed = Int(limit.rate.calls(in: lifetime * RefreshPolicy.share))
    guard renewed < configuration.daemon.maxSessions else { return }
    diagnostics.warning(
      at: profileHeaders[profile],
      "\(limit.key)\(place): \(limit.rate.written) renews \(renewed) sessions of "
        + "\(lifetime.written), and max_sessions allows \(configuration.daemon.maxSessions)")
  }
}
