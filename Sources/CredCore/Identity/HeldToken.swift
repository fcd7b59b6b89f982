/// A developer token as a session keeps it. A class for the same reason as ``HeldCredentials``.
public final class HeldToken: Sendable, Equatable {
  public let token: DeveloperToken
  public let received: Instant
  /// What was left of it when it came, by the server's clock; nil where its `exp` is unknown.
  public let lifetime: Duration?
  /// Until when it is used again. A token that does not say when it expires is used once.
  public let usableUntil: Instant

  init(_ token: DeveloperToken, lifetime: Duration?, received: Instant) {
    self.token = token
    self.received = received
    self.lifetime = lifetime
    self.usableUntil =
      lifetime.map {
        RefreshPolicy.tokenUsableUntil(expires: received + $0, lifetime: $0)
      } ?? received
  }

  public static func == (one: HeldToken, other: HeldToken) -> Bool {
    if one === other { return true }
    return one.token == other.token && one.received == other.received
      && one.lifetime == other.lifetime && one.usableUntil == other.usableUntil
  }

  /// When it ends, on this host's clock; nil where that is unknown.
  public var expires: Instant? { lifetime.map { received + $0 } }
}
