import FoundationEssentials

/// AssumeRoleWithWebIdentity with an ID token of a provider that IAM knows, without an identity pool.
extension SandboxState {
  /// Whether a token says that it is Cognito's own.
  static func isOfCognito(_ token: String) -> Bool {
    (try? TokenIssuer.claims(in: token))?["iss"]?.text == cognitoIssuer
  }

  /// The members of AssumeRoleWithWebIdentityResult.
  mutating func assumeDirectRole(
    _ call: WebIdentityCall, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    let account = Role.part(4, of: call.roleARN)
    let token = try providerIdentity(call.token, in: account, at: now)
    // The role's trust policy does not say why it refuses.
    guard let role = roles[call.roleARN], role.trust.openID.contains(where: { $0.names(token) })
    else { throw SandboxState.denied }
    let session = try call.session(of: role, openID: token)
    let credentials = mint.credentials(
      for: CredentialMint.Grant(
        pool: "", identity: "", logins: [Login(provider: token.provider, subject: token.subject)],
        session: session, isOfSTS: true, expiration: call.expiration(at: now)),
      tokenLength: max(mint.sessionTokenLength, call.minimumTokenSize), random: &random)
    return [
      XMLElement("Audience", token.audience), session.assumedRoleUser,
      XMLElement("Provider", Role.providerARN(token.provider, in: account)), credentials.element,
      XMLElement("SubjectFromWebIdentityToken", token.subject),
    ] + SandboxState.facts(of: session, credentials)
  }

  /// An ID token, with STS's words for what is wrong with it.
  private func providerIdentity(
    _ text: String, in account: String, at now: Date
  ) throws(ServiceError) -> ProviderIdentity {
    guard let issuer = (try? TokenIssuer.claims(in: text))?["iss"]?.text else {
      throw SandboxState.malformedToken
    }
    // The issuer comes first, because the signature is checked with its keys.
    guard let provider = openIDProviders.provider(ofIssuer: issuer, in: account) else {
      throw ServiceError(
        "InvalidIdentityToken", "No OpenIDConnect provider found in your account for \(issuer)")
    }
    let claims: JSON
    do {
      claims = try verifiedClaims(in: text, of: provider)
    } catch TokenIssuer.Fault.malformed {
      throw SandboxState.malformedToken
    } catch {
      throw SandboxState.unverifiedToken
    }
    guard let audience = (claims["azp"] ?? claims["aud"])?.text else {
      throw ServiceError("InvalidIdentityToken", "Missing a required claim: aud")
    }
    guard provider.accepts(audience) else {
      throw ServiceError("InvalidIdentityToken", "Incorrect token audience")
    }
    guard let subject = claims["sub"]?.text, let expiry = claims["exp"]?.integer,
      claims["iat"]?.integer != nil
    else { throw SandboxState.malformedToken }
    guard now.epochSeconds < expiry else {
      throw SandboxState.expired(now: now.epochSeconds, expiry: expiry)
    }
    return ProviderIdentity(provider: provider.name, audience: audience, subject: subject)
  }

  static let malformedToken = ServiceError(
    "InvalidIdentityToken", "The ID Token provided is not a valid JWT.")
  static let unverifiedToken = ServiceError(
    "InvalidIdentityToken", "Couldn't verify signed token.")
}
