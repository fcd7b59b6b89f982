/// A sign-in at a user pool or a provider that has succeeded: what goes into the session.
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
  /// Where a provider gave them; nil for a user pool.
  public let tokenEndpoint: String?

  public init(
    tokens: PoolTokens, username: String, deviceKey: String? = nil, issuer: PoolIssuer,
    serverTime: WallTime?, received: Instant, tokenEndpoint: String? = nil
  ) {
    self.tokenEndpoint = tokenEndpoint
    self.tokens = tokens
    self.username = username
    self.deviceKey = deviceKey
    self.issuer = issuer
    self.serverTime = serverTime
    self.received = received
  }
}

/// One client of a user pool or of an OpenID Connect provider, at one endpoint. A token, a device's
/// secret or a challenge belongs to the one that gave it. It holds no secret.
public struct PoolIssuer: Sendable, Hashable {
  public enum Source: Sendable, Hashable {
    case userPool(UserPoolID)
    case provider(OIDCIssuer, loginsKey: String)
  }

  public let source: Source
  public let clientID: String
  /// The URL that its requests go to; of a provider, the one that the configuration sets over discovery,
  /// or an empty text.
  public let endpoint: String

  public init(pool: UserPoolID, clientID: String, endpoint: String) {
    source = .userPool(pool)
    self.clientID = clientID
    self.endpoint = endpoint
  }

  public init(provider: OIDCIssuer, loginsKey: String, clientID: String, endpoint: String) {
    source = .provider(provider, loginsKey: loginsKey)
    self.clientID = clientID
    self.endpoint = endpoint
  }

  /// Nil for a provider.
  public var pool: UserPoolID? { if case .userPool(let pool) = source { pool } else { nil } }

  /// The issuers of its user pool, also where the provider is one; nil for another provider.
  public var poolIssuers: PoolIssuers? {
    switch source {
    case .userPool(let pool): PoolIssuers(pool)
    case .provider(let issuer, _): PoolIssuers(issuer.description)
    }
  }

  /// Its key in the logins map of an identity pool; of a user pool, the documented one.
  public var loginsKey: String {
    switch source {
    case .userPool(let pool): pool.loginsKey
    case .provider(let issuer, let key) where key == issuer.loginsKey:
      poolIssuers?.loginsKey(.original) ?? key
    case .provider(_, let key): key
    }
  }

  /// `iss` of its tokens; of a user pool, one of the two.
  public var issuer: String {
    switch source {
    case .userPool(let pool): pool.issuer
    case .provider(let issuer, _): issuer.description
    }
  }
}

extension UserPoolClient {
  public var issuer: PoolIssuer {
    PoolIssuer(pool: pool, clientID: id, endpoint: endpoint.url)
  }
}
