import FoundationEssentials

extension SandboxState {
  /// A pool that nothing is in, for replies that speak of the wrong one.
  static let strangePool = "us-east-1:99999999-9999-4999-8999-999999999999"

  /// Answers a token callback.
  mutating func token(
    _ call: TokenCallback, for request: HTTPRequest, fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> HTTPReply {
    try authorize(request, for: call.user)
    var output = try vouch(for: call, fault: fault, at: now)
    output["IdentityPoolId"] = .string(
      fault == .wrongPool ? SandboxState.strangePool : call.pool)
    return HTTPReply(json: .object(output))
  }

  /// IdentityId and Token for a user.
  mutating func vouch(
    for call: TokenCallback, fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> [String: JSON] {
    var call = call
    let provider = try pool(call.pool).developerProvider ?? ""
    if fault == .changedIdentity {
      // As if somebody had deleted the identity in the console.
      if let old = pools[call.pool]?.owner(of: Login(provider: provider, subject: call.user)) {
        pools[call.pool]?.remove(old)
      }
      call.identity = nil
    }
    let logins = call.logins.merging([provider: call.user]) { $1 }
    let asked = DeveloperTokenRequest(pool: call.pool, identity: call.identity, logins: logins)
    let aLittle = Double(lifetimes.tokens) + 60
    do {
      let made = try developerToken(
        asked, at: fault == .expiredToken ? now.addingTimeInterval(-aLittle) : now)
      return made.members ?? [:]
    } catch {
      var refusal = error
      if ["ResourceConflictException", "DeveloperUserAlreadyRegisteredException"].contains(
        error.code)
      {
        refusal.status = 409
      }
      throw refusal
    }
  }

  private mutating func authorize(
    _ request: HTTPRequest, for name: String
  ) throws(ServiceError) {
    let bearer = request.bearerToken
    let holder = bearer.flatMap { users.holder(ofSession: $0) }
    guard backendToken == nil || bearer == backendToken || holder != nil else {
      throw ServiceError(status: 401, "Unauthorized", "the backend token is missing or wrong")
    }
    guard let user = users.user(name) else {
      throw ServiceError(status: 404, "NotFound", "user '\(name)' is not known")
    }
    guard !user.isDisabled else { throw TokenBackend.disabled(name) }
    guard holder == nil || holder == name else {
      throw ServiceError(status: 403, "Forbidden", "the session is another user's")
    }
    guard holder == name || !users.needsSession(user) else {
      throw ServiceError(status: 401, "Unauthorized", "user '\(name)' must sign in")
    }
  }
}
