import FoundationEssentials

/// DescribeIdentity, LookupDeveloperIdentity, MergeDeveloperIdentities and UnlinkDeveloperIdentity.
extension SandboxState {
  /// The providers to which an identity is linked. The sandbox keeps no dates, so the answer does
  /// not have those of the real one.
  func describeIdentity(
    _ input: CognitoInput, signed developer: SignatureV4.Signer
  ) throws(ServiceError) -> JSON {
    var input = input
    let identityID = try input.text("IdentityId", .id)
    try input.finish()
    let poolID = try pool(holding: identityID)
    try developer.require(regionOf: poolID)
    guard let identity = try pool(poolID).survivor(of: identityID) else {
      throw IdentityPool.notFound(identityID)
    }
    let providers = Set(identity.logins.map(\.provider)).sorted()
    return .object([
      "IdentityId": .string(identity.id), "Logins": .array(providers.map { .string($0) }),
    ])
  }

  func lookupDeveloperIdentity(
    _ input: CognitoInput, signed developer: SignatureV4.Signer
  ) throws(ServiceError) -> JSON {
    var input = input
    let poolID = try input.text("IdentityPoolId", .id)
    let identityID = try input.optionalText("IdentityId", .id)
    let user = try input.optionalText("DeveloperUserIdentifier", .developerUser)
    let limit = try input.optionalInteger("MaxResults", in: 1...60) ?? 60
    let page = try input.optionalText("NextToken", .pageToken)
    try input.check()
    try developer.require(regionOf: poolID)
    let pool = try pool(poolID)
    let owner = try owner(identityID, user: user, in: pool)
    let users =
      pool.identity(owner)?.logins.filter { $0.provider == pool.developerProvider }
      .map(\.subject).sorted() ?? []
    let start = page.map { Int($0) ?? -1 } ?? 0
    guard (0...users.count).contains(start) else {
      throw ServiceError("InvalidParameterException", "Invalid NextToken")
    }
    let listed = users[start...].prefix(limit)
    var output: [String: JSON] = [
      "IdentityId": .string(owner),
      "DeveloperUserIdentifierList": .array(listed.map { .string($0) }),
    ]
    if start + limit < users.count { output["NextToken"] = "\(start + limit)" }
    return .object(output)
  }

  private func owner(
    _ identityID: String?, user: String?, in pool: IdentityPool
  ) throws(ServiceError) -> String {
    var found: String?
    if let identityID {
      guard let identity = pool.survivor(of: identityID) else {
        throw IdentityPool.notFound(identityID)
      }
      found = identity.id
    }
    if let user {
      let owner = try owner(ofUser: user, in: pool)
      guard found == nil || found == owner else {
        throw ServiceError(
          "ResourceConflictException",
          "The developer user identifier belongs to another identity.")
      }
      found = owner
    }
    guard let found else {
      throw ServiceError(
        "InvalidParameterException", "Either IdentityId or DeveloperUserIdentifier is required.")
    }
    return found
  }

  private func owner(ofUser user: String, in pool: IdentityPool) throws(ServiceError) -> String {
    guard let provider = pool.developerProvider,
      let owner = pool.owner(of: Login(provider: provider, subject: user))
    else { throw ServiceError("ResourceNotFoundException", "Developer user '\(user)' not found.") }
    return owner
  }

  mutating func mergeDeveloperIdentities(
    _ input: CognitoInput, signed developer: SignatureV4.Signer
  ) throws(ServiceError) -> JSON {
    var input = input
    let source = try input.text("SourceUserIdentifier", .developerUser)
    let destination = try input.text("DestinationUserIdentifier", .developerUser)
    let provider = try input.text("DeveloperProviderName", .developerProvider)
    let poolID = try input.text("IdentityPoolId", .id)
    try input.check()
    try developer.require(regionOf: poolID)
    try require(provider, of: pool(poolID))
    let survivor = try owner(ofUser: destination, in: pool(poolID))
    let merged = try owner(ofUser: source, in: pool(poolID))
    try withPool(poolID) { (pool, _) throws(ServiceError) in
      try pool.merge(merged, into: survivor)
    }
    return ["IdentityId": .string(survivor)]
  }

  mutating func unlinkDeveloperIdentity(
    _ input: CognitoInput, signed developer: SignatureV4.Signer
  ) throws(ServiceError) -> JSON {
    var input = input
    let identityID = try input.text("IdentityId", .id)
    let poolID = try input.text("IdentityPoolId", .id)
    let provider = try input.text("DeveloperProviderName", .developerProvider)
    let user = try input.text("DeveloperUserIdentifier", .developerUser)
    try input.check()
    try developer.require(regionOf: poolID)
    try require(provider, of: pool(poolID))
    guard let identity = try pool(poolID).survivor(of: identityID) else {
      throw IdentityPool.notFound(identityID)
    }
    guard try owner(ofUser: user, in: pool(poolID)) == identity.id else {
      throw ServiceError(
        "ResourceConflictException", "The developer user identifier belongs to another identity.")
    }
    pools[poolID]?.unlink([Login(provider: provider, subject: user)], from: identity.id)
    return [:]
  }

  private func require(_ provider: String, of pool: IdentityPool) throws(ServiceError) {
    guard provider == pool.developerProvider else {
      throw ServiceError(
        "InvalidParameterException", "'\(provider)' is not the pool's developer provider.")
    }
  }
}

/// The four operations that require developer credentials.
extension SandboxState {
  mutating func getDeveloperToken(
    _ input: CognitoInput, signed developer: SignatureV4.Signer, at now: Date
  ) throws(ServiceError) -> JSON {
    var input = input
    let poolID = try input.text("IdentityPoolId", .id)
    let identityID = try input.optionalText("IdentityId", .id)
    let logins = try input.logins(required: true)
    let tags = try input.map(
      "PrincipalTags", keys: .tagName, values: .tagValue, limit: 50)
    let duration = try input.optionalInteger("TokenDuration", in: 1...86_400)
    try input.check()
    try developer.require(regionOf: poolID)
    return try developerToken(
      DeveloperTokenRequest(
        pool: poolID, identity: identityID, logins: logins, tags: tags, duration: duration),
      at: now)
  }

  /// GetOpenIdTokenForDeveloperIdentity without its signature, which a backend calls for its users.
  mutating func developerToken(
    _ request: DeveloperTokenRequest, at now: Date
  ) throws(ServiceError) -> JSON {
    let (login, others) = try developerLogins(request, at: now)
    let identity = try withPool(request.pool) { (pool, random) throws(ServiceError) in
      try pool.register(login, others: others, as: request.identity, random: &random)
    }
    let token = try developerToken(
      for: identity, pool: pool(request.pool), login: login,
      lifetime: request.duration ?? lifetimes.tokens, tags: request.tags, at: now)
    return ["IdentityId": .string(identity), "Token": .string(token)]
  }

  /// Checks that there is exactly one login of the pool's developer provider. The others are public
  /// logins with tokens.
  private func developerLogins(
    _ request: DeveloperTokenRequest, at now: Date
  ) throws(ServiceError) -> (Login, Set<Login>) {
    guard let provider = try pool(request.pool).developerProvider,
      let user = request.logins[provider]
    else {
      throw ServiceError(
        "InvalidParameterException", "Please provide a valid developer provider login")
    }
    guard user.unicodeScalars.count <= InputRule.developerUser.length.upperBound else {
      throw ServiceError("InvalidParameterException", "Developer user identifier is too long")
    }
    var others = request.logins
    others[provider] = nil
    guard others[LoginCheck.cognito] == nil else {
      throw LoginCheck.invalid("Can't pass in a Cognito token.")
    }
    let proven = try prove(others, in: request.pool, at: now).logins
    return (Login(provider: provider, subject: user), proven)
  }
}

/// The input of GetOpenIdTokenForDeveloperIdentity.
struct DeveloperTokenRequest {
  var pool: String
  var identity: String?
  var logins: [String: String]
  var tags: [String: String] = [:]
  /// In seconds.
  var duration: Int?
}
