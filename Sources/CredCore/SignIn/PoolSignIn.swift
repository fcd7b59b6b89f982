/// A sign-in at a user pool that has succeeded: what goes into the session.
public struct PoolSignIn: Sendable, Equatable {
  public let tokens: PoolTokens
  /// The immutable user name, as the pool itself said it. An alias that somebody typed is another
  /// name.
  public let username: String
  /// The key of the device to which the refresh token is tied; nil where the pool tracks none.
  public let deviceKey: String?
  /// Who gave the tokens. They go to nobody else.
  public let issuer: PoolIssuer
  /// The server's time, of the reply with the tokens.
  public let serverTime: WallTime?
  /// When that reply arrived.
  public let received: Instant

  public init(
    tokens: PoolTokens, username: String, deviceKey: String? = nil, issuer: PoolIssuer,
    serverTime: WallTime?, received: Instant
  ) {
    self.tokens = tokens
    self.username = username
    self.deviceKey = deviceKey
    self.issuer = issuer
    self.serverTime = serverTime
    self.received = received
  }
}

/// One app client of a user pool at one endpoint. A token, a device's secret or a challenge belongs to
/// the one that gave it. It holds no secret.
public struct PoolIssuer: Sendable, Hashable {
  public let pool: UserPoolID
  public let clientID: String
  /// The URL that its requests go to.
  public let endpoint: String

  public init(pool: UserPoolID, clientID: String, endpoint: String) {
    self.pool = pool
    self.clientID = clientID
    self.endpoint = endpoint
  }
}

extension UserPoolClient {
  public var issuer: PoolIssuer {
    PoolIssuer(pool: pool, clientID: id, endpoint: endpoint.url)
  }
}
