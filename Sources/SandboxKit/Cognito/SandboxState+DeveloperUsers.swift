/// LookupDeveloperIdentity, MergeDeveloperIdentities and UnlinkDeveloperIdentity.
extension SandboxState {
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
