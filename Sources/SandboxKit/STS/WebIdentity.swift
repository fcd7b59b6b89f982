import FoundationEssentials

extension SandboxState {
  /// The members of AssumeRoleWithWebIdentityResult, for a token of Cognito.
  mutating func assumeRole(
    _ call: WebIdentityCall, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    let token = try webIdentity(call.token, at: now)
    // The role's trust policy does not say why it refuses.
    guard let role = roles[call.roleARN], role.pool == token.pool,
      role.trustsAuthenticated == token.isAuthenticated,
      let identity = pools[token.pool]?.survivor(of: token.identity), !identity.isClosed
    else { throw SandboxState.denied }
    let session = try call.session(of: role, identity: token.identity)
    let credentials = mint.credentials(
      for: CredentialMint.Grant(
        pool: token.pool, identity: token.identity, logins: identity.logins, session: session,
        isOfSTS: true, expiration: call.expiration(at: now)),
      tokenLength: max(mint.sessionTokenLength, call.minimumTokenSize), random: &random)
    return [
      XMLElement("Audience", token.pool), session.assumedRoleUser,
      XMLElement("Provider", LoginCheck.cognito), credentials.element,
      XMLElement("SubjectFromWebIdentityToken", token.identity),
    ] + SandboxState.facts(of: session, credentials)
  }

  /// What STS says of each session besides.
  static func facts(of session: RoleSession, _ credentials: TemporaryCredentials) -> [XMLElement] {
    [
      XMLElement("PackedPolicySize", String(session.utilization)),
      XMLElement("SessionTokenUtilization", String(session.utilization)),
      XMLElement("SessionTokenSize", String(credentials.sessionToken.utf8.count)),
      propagationContext,
    ]
  }

  /// What STS says of the end user where a context provider is set up. Nobody may log it.
  private static let propagationContext = XMLElement(
    "TrustedIdentityPropagationContext",
    [
      XMLElement(
        "OriginIdentity",
        [XMLElement("Subject", "sandbox-end-user"), XMLElement("SubjectType", "user")]),
      XMLElement(
        "TransactionContext",
        [
          XMLElement(
            "IdentityProvider",
            [
              XMLElement(
                "entry", [XMLElement("key", "unit"), XMLElement("value", "sandbox-unit")])
            ])
        ]),
    ])

  /// A developer token, with STS's words for what is wrong with it.
  private func webIdentity(
    _ text: String, at now: Date
  ) throws(ServiceError) -> DeveloperToken {
    do {
      return try verified(text, at: now)
    } catch {
      throw switch error {
      case .malformed, .wrongIssuer: SandboxState.malformedToken
      case .unverified: SandboxState.unverifiedToken
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

/// The parameters of AssumeRoleWithWebIdentity, checked as the STS API reference gives them.
struct WebIdentityCall {
  let roleARN: String
  let sessionName: String
  let token: String
  /// Seconds.
  let duration: Int
  let providerID: String?
  let policies: SessionPolicies
  /// Characters of the session token, at least.
  let minimumTokenSize: Int

  init(_ form: FormParameters) throws(ServiceError) {
    var input = STSInput(form)
    roleARN = input.text("RoleArn", .arn)
    sessionName = input.text("RoleSessionName", .roleSessionName)
    token = input.text("WebIdentityToken", InputRule(4...20_000, isSensitive: true))
    providerID = input.optionalText("ProviderId", InputRule(4...2048))
    duration = try input.optionalInteger("DurationSeconds", in: 900...43_200) ?? 3600
    policies = try SessionPolicies(&input)
    minimumTokenSize = try input.optionalInteger("MinimumSessionTokenSize", in: 0...4096) ?? 0
    try input.finish()
    guard providerID == nil else {
      throw ServiceError("ValidationError", "ProviderId is for OAuth 2.0 access tokens only")
    }
  }

  /// The session that the call begins.
  func session(
    of role: Role, identity: String? = nil, openID: ProviderIdentity? = nil
  ) throws(ServiceError) -> RoleSession {
    guard duration <= role.maximumSessionDuration else {
      throw ServiceError(
        "ValidationError",
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
    }
    var session = RoleSession(role: role.arn, name: sessionName, identity: identity)
    session.openID = openID
    session.sessionPolicies = policies.documents
    try session.pack(policies.size)
    return session
  }

  func expiration(at now: Date) -> Date {
    Date(timeIntervalSince1970: Double(now.epochSeconds + duration))
  }
}

extension RoleSession {
  /// `AssumedRoleUser` of a reply.
  var assumedRoleUser: XMLElement {
    XMLElement("AssumedRoleUser", [XMLElement("AssumedRoleId", userID), XMLElement("Arn", arn)])
  }
}

extension TemporaryCredentials {
  /// `Credentials` of a reply.
  var element: XMLElement {
    XMLElement(
      "Credentials",
      [
        XMLElement("AccessKeyId", accessKeyID), XMLElement("SecretAccessKey", secretAccessKey),
        XMLElement("SessionToken", sessionToken),
        XMLElement("Expiration", expiration.iso8601Text),
      ])
  }
}
