import FoundationEssentials

/// REFRESH_TOKEN_AUTH, GetTokensFromRefreshToken, RevokeToken and GlobalSignOut.
extension UserPool {
  /// InitiateAuth with REFRESH_TOKEN_AUTH.
  mutating func refresh(
    byFlow parameters: [String: String], _ client: AppClient
  ) throws(ServiceError) -> JSON {
    guard client.flows.contains(.refresh) else {
      throw .poolInvalid("REFRESH_TOKEN_AUTH flow not enabled for this client")
    }
    let known: Set = ["REFRESH_TOKEN", "SECRET_HASH", "DEVICE_KEY", "USERNAME"]
    if let unknown = parameters.keys.filter({ !known.contains($0) }).min() {
      throw .poolInvalid("The flow has no parameter \(unknown).")
    }
    guard let token = parameters["REFRESH_TOKEN"] else { throw .missing("REFRESH_TOKEN") }
    let (session, user) = try holder(
      ofRefreshToken: token, client, deviceKey: parameters["DEVICE_KEY"])
    do {
      // The hash is made from the immutable name.
      try client.checkHash(parameters["SECRET_HASH"], of: user.username)
    } catch {
      guard parameters["SECRET_HASH"] != nil, !client.secrets.isEmpty else { throw error }
      throw .poolRefused("SecretHash does not match for the client: \(client.id)")
    }
    return [
      "AuthenticationResult": .object(try tokens(of: session, user, client)),
      "ChallengeParameters": [:],
    ]
  }

  mutating func getTokens(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    var input = input
    let token = try input.text("RefreshToken", .poolToken)
    let secret = try input.optionalText("ClientSecret", .clientSecret)
    let key = try input.optionalText("DeviceKey", .deviceKey)
    try input.takeCommonMembers()
    try input.finish()
    guard client.hasSecret(secret) else {
      throw .poolRefused("Unable to verify the secret of client \(client.id)")
    }
    let (session, user) = try holder(ofRefreshToken: token, client, deviceKey: key)
    var result = try tokens(of: session, user, client)
    if client.rotatesTokens {
      sessions.supersede(token, until: now.addingTimeInterval(Double(client.graceSeconds)))
      result["RefreshToken"] = .string(sessions.newToken(for: session.id, random: &random))
    }
    return ["AuthenticationResult": .object(result)]
  }

  private mutating func holder(
    ofRefreshToken token: String, _ client: AppClient, deviceKey: String?
  ) throws(ServiceError) -> (session: PoolSession, user: PoolUser) {
    guard let found = sessions.session(of: token, at: now), found.session.client == client.id
    else { throw .invalidRefreshToken }
    let session = found.session
    guard !session.isRevoked else { throw .revokedRefreshToken }
    guard !found.isReused else { throw .reusedRefreshToken }
    guard now < session.expiration else { throw .expiredRefreshToken }
    guard let user = user(session.username) else { throw .unknownUser }
    guard !user.isDisabled else { throw .disabledUser }
    // Tokens are tied to the device, which must be confirmed.
    if let own = session.deviceKey {
      guard deviceKey == own, user.devices[own]?.isConfirmed == true else {
        throw .invalidRefreshToken
      }
    } else if deviceKey != nil {
      throw .invalidRefreshToken
    }
    sessions.touch(session.id, at: now, by: agent)
    return (session, user)
  }

  mutating func revokeToken(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    var input = input
    let token = try input.text("Token", .poolToken)
    let secret = try input.optionalText("ClientSecret", .clientSecret)
    let isLinked = try input.associatedSessions()
    try input.finish()
    guard client.hasSecret(secret) else {
      throw ServiceError("UnauthorizedException", "Invalid client secret.")
    }
    guard client.allowsRevocation else {
      throw ServiceError(
        "UnsupportedOperationException", "Revocation is not enabled for this client.")
    }
    guard token.split(separator: ".").count != 3 else {
      throw ServiceError(
        "UnsupportedTokenTypeException", "The token is not a refresh token.")
    }
    // An unknown token is no error (RFC 7009 §2.2).
    guard let found = sessions.session(of: token, at: now) else { return [:] }
    guard found.session.client == client.id else {
      throw ServiceError("UnauthorizedException", "The token is of another client.")
    }
    sessions.revoke(found.session.id)
    if isLinked { endOrigin(of: found.session.record) }
    return [:]
  }

  mutating func globalSignOut(_ holder: PoolUser) -> JSON {
    sessions.end(of: holder.username)
    return [:]
  }
}
