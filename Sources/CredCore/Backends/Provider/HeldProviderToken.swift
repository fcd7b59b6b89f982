/// A token of a provider with its lifetime on this host's clock.
public struct HeldProviderToken: Sendable, Equatable {
  public let token: Secret
  public let received: Instant
  /// The remaining time at arrival. If it is unknown, it is nil and the token is used once.
  public let lifetime: Duration?
  /// When it is renewed at the earliest, if its renewal was overdue at a restart. It is not stored: another
  /// restart says it anew.
  private(set) var renewedFrom: Instant?

  init(_ token: Secret, lifetime: Duration?, received: Instant) {
    self.token = token
    self.received = received
    self.lifetime = lifetime
  }

  /// This token, which is not renewed before a time.
  func renewing(from start: Instant) -> HeldProviderToken {
    var token = self
    token.renewedFrom = start
    return token
  }

  /// Until when the token may be used again.
  public var usableUntil: Instant {
    lifetime.map { RefreshPolicy.tokenUsableUntil(expires: received + $0, lifetime: $0) }
      ?? received
  }

  /// When the token expires, on this host's clock; nil if that is unknown.
  public var expires: Instant? { lifetime.map { received + $0 } }

  /// `exp`; nil for a token that is no JWT.
  public var expiration: WallTime? { ProviderToken.expiration(of: token) }

  /// Whether the token may change the account. Only programs that the operator allows get such a
  /// token.
  public var mayChangeAccount: Bool { ProviderToken.mayChangeAccount(token) }

  /// Whether the token may go into a request now. If its lifetime is unknown, it is used only when
  /// it arrives.
  func isUsable(_ now: Instant) -> Bool {
    usableUntil > now || (lifetime == nil && received == now)
  }
}
