/// Credentials as a session keeps them: with what is known of their life on this host's clock.
///
/// A class because it never changes: the session and what was last stored of it share one.
public final class HeldCredentials: Sendable, Equatable {
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

  public static func == (one: HeldCredentials, other: HeldCredentials) -> Bool {
    if one === other { return true }
    return one.credentials == other.credentials && one.received == other.received
      && one.lifetime == other.lifetime && one.refreshAt == other.refreshAt
  }

  public var expires: Instant { received + lifetime }
  public var freshUntil: Instant { RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime) }
  public var servableUntil: Instant {
    RefreshPolicy.servableUntil(expires: expires, lifetime: lifetime)
  }
}
