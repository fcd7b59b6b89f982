/// Credentials as a session keeps them: with what is known of their life on this host's clock.
public struct HeldCredentials: Sendable, Equatable {
  public let credentials: Credentials
  public let received: Instant
  /// How long they last, counted by the server's clock.
  public let lifetime: Duration
  /// When they are renewed.
  public let refreshAt: Instant

  init(_ credentials: Credentials, lifetime: Duration, received: Instant, chance: Double) {
    self.credentials = credentials
    self.received = received
    self.lifetime = lifetime
    self.refreshAt = RefreshPolicy.refreshTime(
      received: received, lifetime: lifetime, chance: chance)
  }

  /// As they were before a restart.
  init(_ credentials: Credentials, lifetime: Duration, received: Instant, refreshAt: Instant) {
    self.credentials = credentials
    self.received = received
    self.lifetime = lifetime
    self.refreshAt = refreshAt
  }

  public var expires: Instant { received + lifetime }
  public var freshUntil: Instant { RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime) }
  public var servableUntil: Instant {
    RefreshPolicy.servableUntil(expires: expires, lifetime: lifetime)
  }
}
