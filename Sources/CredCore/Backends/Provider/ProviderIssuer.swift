/// One client of a user pool or of an OpenID Connect provider, at one URL. A token, a device's
/// secret or a challenge belongs to the client that got it. This value contains no secret.
public struct ProviderIssuer: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case cognito(UserPoolID)
    case oidc(OIDCIssuer, loginsKey: String)
  }

  public let kind: Kind
  public let clientID: String
  /// The URL for requests to a user pool. For a provider: the URL that the configuration sets in
  /// place of discovery, or an empty text.
  public let url: String

  public init(pool: UserPoolID, clientID: String, url: String) {
    kind = .cognito(pool)
    self.clientID = clientID
    self.url = url
  }

  public init(provider: OIDCIssuer, loginsKey: String, clientID: String, url: String) {
    kind = .oidc(provider, loginsKey: loginsKey)
    self.clientID = clientID
    self.url = url
  }

  /// The traits in which the provider differs from others.
  public var traits: ProviderTraits {
    switch kind {
    case .cognito: .userPool
    case .oidc: .oidc
    }
  }

  /// The user pool's id; nil for another provider. For anything but the id, ask ``traits``.
  public var pool: UserPoolID? { if case .cognito(let pool) = kind { pool } else { nil } }

  /// The issuers of the user pool, even if it is configured as a provider; nil for another
  /// provider.
  public var poolIssuers: PoolIssuers? {
    switch kind {
    case .cognito(let pool): PoolIssuers(pool)
    case .oidc(let issuer, _): PoolIssuers(issuer.description)
    }
  }

  /// The key in the logins map of an identity pool; for a user pool, the documented one.
  public var loginsKey: String {
    switch kind {
    case .cognito(let pool): pool.loginsKey
    case .oidc(let issuer, let key) where key == issuer.loginsKey:
      poolIssuers?.loginsKey(.original) ?? key
    case .oidc(_, let key): key
    }
  }

  /// `iss` of the tokens; for a user pool, one of its two issuers.
  public var issuer: String {
    switch kind {
    case .cognito(let pool): pool.issuer
    case .oidc(let issuer, _): issuer.description
    }
  }
}
