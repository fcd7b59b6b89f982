import FoundationEssentials

/// GetId, GetCredentialsForIdentity, GetOpenIdToken and UnlinkIdentity: the public operations.
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
    let linked = pools[access.pool]?.identity(access.identity)?.logins ?? []
    var session = RoleSession(
      role: role, name: "CognitoIdentityCredentials", identity: access.identity)
    if !access.isAuthenticated { session.sessionPolicies = [ManagedPolicy.guests] }
    let credentials = mint.credentials(
      for: CredentialMint.Grant(
        pool: access.pool, identity: access.identity, logins: linked, session: session,
        expiration: expiration), random: &random)
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

  /// The tokens of GetOpenIdToken last 10 minutes (Cognito API reference).
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

/// The right to act as an identity, after the logins were checked.
struct IdentityAccess {
  /// The identity. If identities were merged, it is not the requested one.
  var identity: String
  var pool: String
  var isAuthenticated: Bool
  /// Roles that the tokens themselves allow.
  var roles: Set<String> = []
  /// The provider of the token with those roles.
  var roleProvider: String?
}

extension SandboxState {
  /// Decides whether these logins may act as this identity, and links the new ones among them.
  mutating func access(
    to id: String, logins: [String: String], at now: Date
  ) throws(ServiceError) -> IdentityAccess {
    let poolID = try pool(holding: id)
    guard let identity = try pool(poolID).survivor(of: id), !identity.isClosed else {
      throw LoginCheck.forbidden(id)
    }
    if logins.isEmpty {
      guard identity.isGuest else { throw LoginCheck.forbidden(id) }
      guard try pool(poolID).allowsGuests else { throw LoginCheck.noGuests }
      return IdentityAccess(identity: identity.id, pool: poolID, isAuthenticated: false)
    }
    let proven = try prove(logins, in: poolID, at: now)
    var access = IdentityAccess(
      identity: identity.id, pool: poolID, isAuthenticated: true, roles: proven.roles,
      roleProvider: proven.roleProvider)
    if let token = proven.developerToken {
      try check(token, for: identity, askedAs: id)
      access.isAuthenticated = token.isAuthenticated || !proven.logins.isEmpty
    }
    access.identity = try withPool(poolID) { (pool, _) throws(ServiceError) in
      if proven.developerToken == nil {
        return try pool.signIn(with: proven.logins, as: identity)
      }
      try pool.link(proven.logins, to: identity.id)
      return identity.id
    }
    return access
  }

  /// A developer token is valid only for its own identity, and a guest's token only for a guest.
  private func check(
    _ token: DeveloperToken, for identity: Identity, askedAs id: String
  ) throws(ServiceError) {
    let subject = try pool(token.pool).survivor(of: token.identity)
    guard subject?.id == identity.id, token.isAuthenticated || identity.isGuest else {
      throw LoginCheck.forbidden(id)
    }
  }

  /// The role whose credentials are handed out in the enhanced flow.
  func role(for access: IdentityAccess, custom: String?) throws(ServiceError) -> String {
    let pool = try pool(access.pool)
    if let custom {
      let known = roles[custom].map { $0.pool == pool.id && $0.isCustom } ?? false
      guard access.isAuthenticated, known || access.roles.contains(custom) else {
        throw LoginCheck.notAuthorized("Access to Role '\(custom)' is forbidden.")
      }
      return custom
    }
    if access.roles.count > 1, let provider = access.roleProvider {
      throw LoginCheck.notAuthorized(
        "The ambiguous role mapping rules for: \(provider) denied this request.")
    }
    // The role must exist and trust this pool and this kind of user; otherwise Cognito reports an
    // error of the pool.
    guard let arn = access.isAuthenticated ? pool.authenticatedRole : pool.guestRole,
      let role = roles[arn], role.pool == pool.id,
      role.trustsAuthenticated == access.isAuthenticated
    else {
      throw ServiceError(
        "InvalidIdentityPoolConfigurationException",
        "Invalid identity pool configuration. Check assigned IAM roles for this pool.")
    }
    return arn
  }
}
