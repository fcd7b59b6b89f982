/// A token of a provider with the claims that credd reads. It comes over TLS from the provider
/// itself, so credd does not verify the signature. That is left to the receivers of the token.
public struct ProviderToken: Sendable, Equatable {
  /// Passed on unchanged.
  public let token: Secret
  /// `exp`. A token that is no JWT has no claims.
  public let expiration: WallTime?
  /// `iat`.
  let issued: WallTime?
  /// `auth_time`: when the user signed in. Renewals do not change it.
  public let signedIn: WallTime?
  /// `cognito:username` or `username`: the immutable user name.
  public let username: String?
  /// `sub`.
  public let subject: String?
  /// `device_key` of an access token.
  public let deviceKey: String?

  static func expiration(of token: Secret) -> WallTime? {
    JWT.claims(of: token)?["exp"]?.plausibleTime
  }

  init(
    token: Secret, expiration: WallTime?, issued: WallTime?, signedIn: WallTime?,
    subject: String?
  ) {
    self.token = token
    self.expiration = expiration
    self.issued = issued
    self.signedIn = signedIn
    username = nil
    self.subject = subject
    deviceKey = nil
  }

  /// The remaining time at arrival, by the provider's clock.
  ///
  /// - Parameter serverTime: the server's time in the reply.
  public func lifetime(at serverTime: WallTime?) -> Duration? {
    guard let expiration, let start = issued ?? serverTime else { return nil }
    return max(.zero, expiration - start)
  }
}

/// The tokens that a sign-in or a renewal brings.
public struct ProviderTokens: Sendable, Equatable {
  public let id: ProviderToken
  public let access: ProviderToken
  /// The refresh token. Nil in most renewals, because the token that was sent stays valid.
  public let refresh: Secret?
  /// How long the access token lasts; nil if the provider does not say it.
  public let accessLifetime: Duration?
  /// A device that the user pool will know after ConfirmDevice has succeeded.
  public let newDevice: NewDevice?

  init(
    id: ProviderToken, access: ProviderToken, refresh: Secret?, accessLifetime: Duration?,
    newDevice: NewDevice? = nil
  ) {
    self.id = id
    self.access = access
    self.refresh = refresh
    self.accessLifetime = accessLifetime
    self.newDevice = newDevice
  }
}
