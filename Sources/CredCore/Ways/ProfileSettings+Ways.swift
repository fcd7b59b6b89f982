/// What other code asks of the keys of a profile's way. A key that the way does not have has its default.
extension ProfileSettings {
  /// The keys of an identity pool; nil in other ways.
  public var pool: PoolSettings? { if case .pool(let pool) = way { pool } else { nil } }

  /// `REGION:UUID`; empty in other ways.
  public var identityPoolID: String { pool?.id ?? "" }
  public var developerProvider: String? { pool?.developerProvider }
  public var userIdentifier: Template { pool?.userIdentifier ?? .user }
  public var accountID: String? { pool?.accountID }
  public var cognitoEndpoint: HTTPURL? { pool?.cognitoEndpoint }

  public var flow: PoolPlan.Flow { pool?.flow ?? .enhanced }

  private var session: RoleSessionSettings { way.session ?? RoleSessionSettings() }
  public var roleARN: String? { session.roleARN }
  public var roleSessionName: Template { session.name }
  public var roleDuration: Duration { session.lifetime }
  public var policyFile: String? { session.policyFile }
  public var policyARNs: [String] { session.policyARNs }
  public var webIdentityTokenFile: String? { way.tokenFile }
}
