/// A developer token with its lifetime on this host's clock. A class for the same reason as
/// ``HeldCredentials``.
public final class HeldToken: Sendable, Equatable {
  public let token: DeveloperToken
  public let received: Instant
  /// The remaining time at arrival, by the server's clock; nil if `exp` is unknown.
  public let lifetime: Duration?
  /// Whether the backend was told to make a new one. Not stored.
  let isAnew: Bool
  /// Until when the token may be used again. A token without `exp` is used once.
  public let usableUntil: Instant

  init(_ token: DeveloperToken, lifetime: Duration?, received: Instant, isAnew: Bool = false) {
    self.isAnew = isAnew
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

  /// When the token expires, on this host's clock; nil if that is unknown.
  public var expires: Instant? { lifetime.map { received + $0 } }
}
