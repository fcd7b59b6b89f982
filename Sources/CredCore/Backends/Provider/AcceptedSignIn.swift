/// A successful sign-in at a user pool or a provider: the data for the session.
public struct AcceptedSignIn: Sendable, Equatable {
  public let tokens: ProviderTokens
  /// The immutable user name that the pool gave. It may differ from the alias that the user typed.
  public let username: String
  /// The key of the device to which the refresh token is tied; nil if the pool tracks no devices.
  public let deviceKey: String?
  /// The provider that gave the tokens. credd sends them to no other.
  public let issuer: ProviderIssuer
  /// The server's time in the reply with the tokens.
  public let serverTime: WallTime?
  /// When that reply arrived.
  public let received: Instant
  /// The token endpoint that gave the tokens; nil for a user pool.
  public let tokenEndpoint: String?
  /// Of the ID token, where renewed ones are compared with it.
  let nonce: Fingerprint?

  public init(
    tokens: ProviderTokens, username: String, deviceKey: String? = nil, issuer: ProviderIssuer,
    serverTime: WallTime?, received: Instant, tokenEndpoint: String? = nil,
    nonce: Fingerprint? = nil
  ) {
    self.tokenEndpoint = tokenEndpoint
    self.nonce = nonce
    self.tokens = tokens
    self.username = username
    self.deviceKey = deviceKey
    self.issuer = issuer
    self.serverTime = serverTime
    self.received = received
  }
}
