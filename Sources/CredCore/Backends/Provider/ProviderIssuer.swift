/// One client of a user pool or of an OpenID Connect provider, at one URL. A token, a device's
/// secret or a challenge belongs to the one that gave it. It holds no secret.
public struct ProviderIssuer: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case cognito(UserPoolID)
    case oidc(OIDCIssuer, loginsKey: String)
  }

  public let kind: Kind
  public let clientID: String
  /// The URL that its requests go to; of a provider, the one that the configuration sets over discovery,
  /// or an empty text.
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

  /// In what the provider differs from others.
  public var traits: ProviderTraits {
    switch kind {
    case .cognito: .userPool
    case .oidc: .oidc
    }
  }

  /// Nil for another provider than a user pool. Ask ``traits`` for anything but the id.
  public var pool: UserPoolID? { if case .cognito(let pool) = kind { pool } else { nil } }

  /// The issuers of its user pool, also where the provider is one; nil for another provider.
  public var poolIssuers: PoolIssuers? {
    switch kind {
    case .cognito(let pool): PoolIssuers(pool)
    case .oidc(let issuer, _): PoolIssuers(issuer.description)
    }
  }

  /// Its key in the logins map of an identity pool; of a user pool, the documented one.
  public var loginsKey: String {
    switch kind {
    case .cognito(let pool): pool.loginsKey
    case .oidc(let issuer, let key) where key == issuer.loginsKey:
      poolIssuers?.loginsKey(.original) ?? key
    case .oidc(_, let key): key
    }
  }

  /// `iss` of its tokens; of a user pool, one of the two.
  public var issuer: String {
    switch kind {
    case .cognito(let pool): pool.issuer
    case .oidc(let issuer, _): issuer.description
    }
  }
}
