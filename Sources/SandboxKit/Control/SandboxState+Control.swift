/// What the control path may change.
extension SandboxState {
  /// `POST /control/user`: makes or changes a user.
  mutating func setUser(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let name = try fields.text("Name")
    let isDisabled = try fields.bool("Disabled")
    let password = try fields.optionalText("Password")
    let requiresSession = try fields.bool("RequireSession")
    try fields.finish()
    var user =
      users.existing(name)
      ?? User(name: name, password: UserDirectory.defaultPassword(of: name))
    user.isDisabled = isDisabled ?? user.isDisabled
    user.requiresSession = requiresSession ?? user.requiresSession
    if let password {
      user.password = password
      user.saltedPassword = nil
    }
    guard users.store(user) else { throw ServiceError("LimitExceeded", "too many users") }
    return [
      "Name": .string(name), "Disabled": .bool(user.isDisabled),
      "RequireSession": .bool(user.requiresSession),
    ]
  }

  /// `POST /control/lifetimes`: seconds, for what is made from now on.
  mutating func setLifetimes(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let credentials = try fields.integer("Credentials", in: 0...43_200)
    let tokens = try fields.integer("Tokens", in: 0...86_400)
    try fields.finish()
    lifetimes.credentials = credentials ?? lifetimes.credentials
    lifetimes.tokens = tokens ?? lifetimes.tokens
    return [
      "Credentials": .number(Double(lifetimes.credentials)),
      "Tokens": .number(Double(lifetimes.tokens)),
    ]
  }

  /// `POST /control/pool`: the settings of a pool.
  mutating func setPool(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    guard let id = try fields.optionalText("Pool") ?? defaultPool, pools[id] != nil else {
      throw fields.fault("Pool", "is not a pool of this sandbox")
    }
    let allowsGuests = try fields.bool("Unauthenticated")
    let allowsClassicFlow = try fields.bool("ClassicFlow")
    let provider = try fields.optionalText("DeveloperProvider")
    let authenticatedRole = try fields.optionalText("AuthenticatedRole")
    let guestRole = try fields.optionalText("UnauthenticatedRole")
    let removesRoles = try fields.bool("RemoveRoles") ?? false
    try fields.finish()
    return try withPool(id) { (pool, _) throws(ServiceError) in
      if removesRoles { (pool.authenticatedRole, pool.guestRole) = (nil, nil) }
      pool.allowsGuests = allowsGuests ?? pool.allowsGuests
      pool.allowsClassicFlow = allowsClassicFlow ?? pool.allowsClassicFlow
      pool.developerProvider = provider ?? pool.developerProvider
      pool.authenticatedRole = authenticatedRole ?? pool.authenticatedRole
      pool.guestRole = guestRole ?? pool.guestRole
      return [
        "Pool": .string(id), "Unauthenticated": .bool(pool.allowsGuests),
        "ClassicFlow": .bool(pool.allowsClassicFlow),
        "AuthenticatedRole": pool.authenticatedRole.map { .string($0) } ?? .null,
        "UnauthenticatedRole": pool.guestRole.map { .string($0) } ?? .null,
        "Identities": .number(Double(pool.identityCount)),
      ]
    }
  }

  /// `POST /control/revoke`: exactly one of IdentityId, User, Session, Token, All.
  mutating func revoke(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let identity = try fields.optionalText("IdentityId")
    let user = try fields.optionalText("User")
    let session = try fields.optionalText("Session")
    let token = try fields.optionalText("Token")
    let all = try fields.bool("All")
    try fields.finish()
    switch (identity, user, session, token, all) {
    case (let identity?, nil, nil, nil, nil): revocations.revoke(identity: identity)
    case (nil, let user?, nil, nil, nil): return revoke(user: user)
    case (nil, nil, let session?, nil, nil):
      guard users.closeSession(session) else { throw fields.fault("Session", "is not known") }
    case (nil, nil, nil, let token?, nil): try revoke(token: token, fields)
    case (nil, nil, nil, nil, true?):
      revocations.revokeAll()
      return ["Sessions": .number(Double(users.closeAllSessions()))]
    default:
      throw fields.fault("body", "must name one of IdentityId, User, Session, Token, All")
    }
    return [:]
  }

  /// Voids a user's tokens and closes the user's sessions.
  private mutating func revoke(user name: String) -> JSON {
    for pool in pools.values {
      let login = Login(provider: pool.developerProvider ?? "", subject: name)
      if let identity = pool.owner(of: login) { revocations.revoke(identity: identity) }
    }
    let sessions = users.closeSessions(of: name)
    let devices = devices.revoke(user: name)
    return ["Sessions": .number(Double(sessions)), "Devices": .number(Double(devices))]
  }

  private mutating func revoke(token: String, _ fields: FieldReader) throws(ServiceError) {
    if providerTokens.revoke(token) { return }
    guard let claims = try? issuer.verifiedClaims(in: token), let subject = claims["sub"]?.text
    else { throw fields.fault("Token", "is not a token of this sandbox") }
    revocations.revoke(identity: subject)
  }
}
