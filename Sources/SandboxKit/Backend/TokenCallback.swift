/// One token callback: which user, in which pool.
struct TokenCallback {
  var pool: String
  var user: String
  var identity: String?
  /// Public logins to link to the user.
  var logins: [String: String] = [:]

  init(pool: String, user: String, identity: String?, logins: [String: String]) {
    self.pool = pool
    self.user = user
    self.identity = identity
    self.logins = logins
  }

  /// `POST /token`.
  init(bodyOf request: HTTPRequest, in state: SandboxState) throws(ServiceError) {
    var fields = try FieldReader(bodyOf: request)
    pool = try fields.text("IdentityPoolId")
    let provider = try fields.text("DeveloperProviderName")
    user = try fields.text("DeveloperUserIdentifier")
    identity = try fields.optionalText("IdentityId")
    logins = try fields.map("Logins") ?? [:]
    try fields.finish()
    guard let known = state.pools[pool] else {
      throw fields.fault("IdentityPoolId", "is not a pool of this backend")
    }
    guard provider == known.developerProvider else {
      throw fields.fault("DeveloperProviderName", "is not the provider of the pool")
    }
    guard logins[provider] == nil else {
      throw fields.fault("Logins.\(provider)", "must not name the developer provider")
    }
  }

  /// `GET /token/{user}`, with `?pool=` where there is more than one.
  init(pathOf request: HTTPRequest, in state: SandboxState) throws(ServiceError) {
    guard let user = percentDecoded(request.path.dropFirst("/token/".count)), !user.isEmpty else {
      throw ServiceError("InvalidRequest", "the path must end in a user")
    }
    self.user = user
    guard let pool = FormParameters(request.query)["pool"] ?? state.defaultPool,
      state.pools[pool] != nil
    else { throw ServiceError("InvalidRequest", "pool is not a pool of this backend") }
    self.pool = pool
  }
}
