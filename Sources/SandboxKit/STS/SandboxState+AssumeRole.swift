import FoundationEssentials

extension SandboxState {
  /// The members of AssumeRoleWithWebIdentityResult.
  mutating func assumeRole(
    _ call: RoleAssumption, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    let token = try webIdentity(call.token, at: now)
    guard call.providerID == nil else {
      throw ServiceError("ValidationError", "ProviderId is for OAuth 2.0 access tokens only")
    }
    // The role's trust policy, which does not tell why it refuses.
    guard let role = roles[call.roleARN], role.pool == token.pool,
      role.trustsAuthenticated == token.isAuthenticated,
      let identity = pools[token.pool]?.survivor(of: token.identity), !identity.isClosed
    else { throw SandboxState.denied }
    guard call.duration <= role.maximumSessionDuration else {
      throw ServiceError(
        "ValidationError",
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
    }
    let expiration = Date(timeIntervalSince1970: Double(now.epochSeconds + call.duration))
    let credentials = mint.credentials(
      for: token.identity, role: role.arn, until: expiration, random: &random)
    let roleID = "AROASANDBOX" + role.name.uppercased().filter { $0.isASCII && $0.isLetter }
    let session = "arn:aws:sts::\(role.account):assumed-role/\(role.name)/\(call.sessionName)"
    return [
      XMLElement("Audience", token.pool),
      XMLElement(
        "AssumedRoleUser",
        [XMLElement("AssumedRoleId", "\(roleID):\(call.sessionName)"), XMLElement("Arn", session)]),
      XMLElement("Provider", LoginCheck.cognito),
      XMLElement(
        "Credentials",
        [
          XMLElement("AccessKeyId", credentials.accessKeyID),
          XMLElement("SecretAccessKey", credentials.secretAccessKey),
          XMLElement("SessionToken", credentials.sessionToken),
          XMLElement("Expiration", expiration.iso8601Text),
        ]), XMLElement("SubjectFromWebIdentityToken", token.identity),
    ]
  }

  /// A developer token, with STS's words for what is wrong with it.
  private func webIdentity(
    _ text: String, at now: Date
  ) throws(ServiceError) -> DeveloperToken {
    do {
      return try verified(text, at: now)
    } catch {
      throw switch error {
      case .malformed:
        ServiceError("InvalidIdentityToken", "The ID Token provided is not a valid JWT.")
      case .wrongIssuer:
        ServiceError(
          "InvalidIdentityToken", "No OpenIDConnect provider found in your account for the issuer")
      case .unverified:
        ServiceError("InvalidIdentityToken", "Couldn't verify signed token.")
      case .expired(let now, let expiry): SandboxState.expired(now: now, expiry: expiry)
      }
    }
  }

  static let denied = ServiceError(
    status: 403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")

  static func expired(now: Int, expiry: Int) -> ServiceError {
    ServiceError(
      "ExpiredTokenException",
      "Token expired: current date/time \(now) must be before the expiration date/time \(expiry)")
  }
}
