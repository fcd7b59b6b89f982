import FoundationEssentials

/// The four operations that want developer credentials.
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

  /// GetOpenIdTokenForDeveloperIdentity without its signature: what a backend calls for its users.
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

  /// Exactly one login of the pool's developer provider; the others are public ones with tokens.
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
  /// Seconds.
  var duration: Int?
}
