import FoundationEssentials

/// Passes operations to the pool that their client or token names.
extension SandboxState {
  /// Answers one operation in the pool that its client or its token names.
  ///
  /// - Parameter pool: receives the pool.
  mutating func userPoolCall(
    _ operation: String, _ input: CognitoInput, pool: inout String?, at now: Date
  ) throws(ServiceError) -> JSON? {
    var input = input
    let isSetup = UserPoolService.setupOperations.contains(operation)
    let isInSignIn = isSetup && input.value("Session") != nil
    if isInSignIn { return try setupCall(operation, input, pool: &pool, at: now) }
    if isSetup || UserPoolService.accountOperations.contains(operation) {
      let token = try input.text("AccessToken", .poolToken)
      try input.check()
      let id = try userPool(ofToken: token)
      pool = id
      return try withUserPool(id, at: now) { pool throws(ServiceError) in
        try pool.checkOffers(operation)
        let (user, session) = try pool.holder(of: token)
        return try pool.account(operation, input, holder: user, session)
      }
    }
    let client = try input.text("ClientId", .clientID)
    try input.check()
    guard let id = userPools.values.first(where: { $0.clients[client] != nil })?.id else {
      throw .unknownClient(client)
    }
    pool = id
    return try withUserPool(id, at: now) { pool throws(ServiceError) in
      try pool.checkOffers(operation)
      return try pool.clientCall(operation, input, client: pool.client(client))
    }
  }

  /// The setup of an authenticator app within a sign-in.
  private mutating func setupCall(
    _ operation: String, _ input: CognitoInput, pool: inout String?, at now: Date
  ) throws(ServiceError) -> JSON? {
    var input = input
    guard input.value("AccessToken") == nil else {
      throw .poolInvalid("Either an access token or a session is needed, not both.")
    }
    let session = try input.text("Session", .session)
    let code = operation == "VerifySoftwareToken" ? try SetupCode(&input) : nil
    try input.finish()
    // A session does not name a client, so every pool is searched for it.
    for id in userPools.keys.sorted() {
      guard let client = userPools[id]?.signIns.client(of: session) else { continue }
      pool = id
      return try withUserPool(id, at: now) { pool throws(ServiceError) in
        try pool.checkOffers(operation)
        let client = try pool.client(client)
        guard let code else { return try pool.associate(session: session, client: client) }
        return try pool.verify(code, session: session, client: client)
      }
    }
    throw .foreignSession
  }

  /// The pool that an access token names.
  private func userPool(ofToken token: String) throws(ServiceError) -> String {
    guard let claims = try? TokenIssuer.claims(in: token), let issuer = claims["iss"]?.text,
      let pool = userPools.values.first(where: { $0.naming.isIssuer(issuer) })
    else { throw .invalidAccessToken }
    return pool.id
  }

  /// Changes a pool in place, at a time. Meanwhile the pool is taken out of the state, so that it
  /// is not copied.
  mutating func withUserPool<Result>(
    _ id: String, at now: Date, _ body: (inout UserPool) throws(ServiceError) -> Result
  ) throws(ServiceError) -> Result {
    guard var pool = userPools.removeValue(forKey: id) else { throw .unknownUserPool(id) }
    defer { userPools[id] = pool }
    pool.now = now
    pool.agent = agent
    return try body(&pool)
  }
}

extension UserPool {
  fileprivate func checkOffers(_ operation: String) throws(ServiceError) {
    guard !settings.disabledOperations.contains(operation) else { throw .notEnabled }
  }

  fileprivate mutating func clientCall(
    _ operation: String, _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON? {
    switch operation {
    case "SignUp": try signUp(input, client: client)
    case "ConfirmSignUp": try confirmSignUp(input, client: client)
    case "ResendConfirmationCode": try resendCode(input, client: client)
    case "InitiateAuth": try initiateAuth(input, client: client)
    case "RespondToAuthChallenge": try respond(input, client: client)
    case "GetTokensFromRefreshToken": try getTokens(input, client: client)
    case "RevokeToken": try revokeToken(input, client: client)
    case "ForgotPassword": try forgotPassword(input, client: client)
    case "ConfirmForgotPassword": try confirmForgotPassword(input, client: client)
    default: nil
    }
  }

  fileprivate mutating func account(
    _ operation: String, _ input: CognitoInput, holder: PoolUser, _ session: PoolSession
  ) throws(ServiceError) -> JSON? {
    switch operation {
    case "UpdateUserAttributes": return try updateAttributes(input, of: holder)
    case "DeleteUserAttributes": return try deleteAttributes(input, of: holder)
    case "GetUserAttributeVerificationCode": return try sendAttributeCode(input, of: holder)
    case "VerifyUserAttribute": return try verifyAttribute(input, of: holder)
    case "ChangePassword": return try changePassword(input, of: holder)
    case "SetUserMFAPreference": return try setFactors(input, of: holder)
    case "ConfirmDevice": return try confirmDevice(input, of: holder)
    case "ForgetDevice": return try forgetDevice(input, of: holder)
    case "GetDevice": return try getDevice(input, of: holder)
    case "ListDevices": return try listDevices(input, of: holder)
    case "UpdateDeviceStatus": return try updateDevice(input, of: holder)
    case "ListUserSessions": return try listSessions(input, of: holder, session)
    case "RevokeUserSession": return try revokeSession(input, of: holder, session)
    case "VerifySoftwareToken":
      var input = input
      let code = try SetupCode(&input)
      try input.finish()
      return try verify(code, of: holder)
    default: break
    }
    try input.finish()
    switch operation {
    case "GetUser": return getUser(holder)
    case "GetUserAuthFactors": return getFactors(holder)
    case "GlobalSignOut": return globalSignOut(holder)
    case "DeleteUser": return deleteUser(holder)
    case "AssociateSoftwareToken": return try associate(holder)
    default: return nil
    }
  }
}
