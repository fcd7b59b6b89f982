import FoundationEssentials

/// GetId, GetCredentialsForIdentity, GetOpenIdToken and UnlinkIdentity: what anybody may call.
extension SandboxState {
  mutating func getID(_ input: CognitoInput, at now: Date) throws(ServiceError) -> JSON {
    var input = input
    _ = try input.optionalText("AccountId", .accountID)
    let poolID = try input.text("IdentityPoolId", .id)
    let logins = try input.logins()
    try input.check()
    let allowsGuests = try pool(poolID).allowsGuests
    guard logins[LoginCheck.cognito] == nil else {
      throw LoginCheck.invalid("Can't pass in a Cognito token.")
    }
    guard !logins.isEmpty || allowsGuests else { throw LoginCheck.noGuests }
    let proven = try prove(logins, in: poolID, at: now).logins
    let id = try withPool(poolID) { (pool, random) throws(ServiceError) in
      try pool.identity(with: proven, random: &random)
    }
    return ["IdentityId": .string(id)]
  }

  mutating func getCredentials(_ input: CognitoInput, at now: Date) throws(ServiceError) -> JSON {
    var input = input
    let identityID = try input.text("IdentityId", .id)
    let logins = try input.logins()
    let customRole = try input.optionalText("CustomRoleArn", .arn)
    try input.check()
    let access = try access(to: identityID, logins: logins, at: now)
    let role = try role(for: access, custom: customRole)
    let expiration = Date(
      timeIntervalSince1970: Double(now.epochSeconds + lifetimes.credentials))
    let credentials = mint.credentials(
      for: access.identity, role: role, until: expiration, random: &random)
    return [
      "IdentityId": .string(access.identity),
      "Credentials": [
        "AccessKeyId": .string(credentials.accessKeyID),
        "SecretKey": .string(credentials.secretAccessKey),
        "SessionToken": .string(credentials.sessionToken),
        "Expiration": .timestamp(expiration.timeIntervalSince1970),
      ],
    ]
  }

  /// GetOpenIdToken's tokens last 10 minutes (Cognito API reference).
  static let openIDTokenLifetime = 600

  mutating func getOpenIDToken(_ input: CognitoInput, at now: Date) throws(ServiceError) -> JSON {
    var input = input
    let identityID = try input.text("IdentityId", .id)
    let logins = try input.logins()
    try input.check()
    let access = try access(to: identityID, logins: logins, at: now)
    let pool = try pool(access.pool)
    guard pool.allowsClassicFlow else {
      throw ServiceError(
        "InvalidParameterException",
        "Basic (classic) flow is not enabled, please use enhanced flow.")
    }
    let login =
      access.isAuthenticated
      ? pool.identity(access.identity)?.logins.min { $0.provider < $1.provider } : nil
    let token = try developerToken(
      for: access.identity, pool: pool, login: login,
      lifetime: min(SandboxState.openIDTokenLifetime, lifetimes.tokens), at: now)
    return ["IdentityId": .string(access.identity), "Token": .string(token)]
  }

  mutating func unlinkIdentity(_ input: CognitoInput, at now: Date) throws(ServiceError) -> JSON {
    var input = input
    let identityID = try input.text("IdentityId", .id)
    let logins = try input.logins(required: true)
    let names = try input.texts("LoginsToRemove", .providerName)
    try input.check()
    let access = try access(to: identityID, logins: logins, at: now)
    let linked = try pool(access.pool).identity(access.identity)?.logins ?? []
    let removed = linked.filter { names.contains($0.provider) }
    guard Set(removed.map(\.provider)) == Set(names) else { throw LoginCheck.mismatch }
    pools[access.pool]?.unlink(removed, from: access.identity)
    return [:]
  }
}
