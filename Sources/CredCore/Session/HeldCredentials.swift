/// Credentials with their lifetime on this host's clock.
///
/// A class because it never changes: a session and its snapshot share one.
public final class HeldCredentials: Sendable, Equatable {
  public let credentials: Credentials
  public let received: Instant
  /// The lifetime by the server's clock.
  public let lifetime: Duration
  /// When the credentials are renewed.
  public let refreshAt: Instant
  /// Whether they were made from nothing that was kept, here or at the backend. A caller that
  /// forces a refresh wants such credentials. Not stored.
  let isAnew: Bool

  init(
    _ credentials: Credentials, lifetime: Duration, received: Instant, jitter: Double,
    isAnew: Bool = false
  ) {
    self.credentials = credentials
    self.received = received
    self.lifetime = lifetime
    self.isAnew = isAnew
    self.refreshAt = RefreshPolicy.refreshTime(
      received: received, lifetime: lifetime, jitter: jitter)
  }

  /// Credentials with a known time of renewal.
  init(_ credentials: Credentials, lifetime: Duration, received: Instant, refreshAt: Instant) {
    self.credentials = credentials
    self.received = received
    self.lifetime = lifetime
    self.isAnew = false
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
