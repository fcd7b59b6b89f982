extension SandboxSeed {
  /// Reads a seed file. What it leaves out stays as the default seed has it.
  ///
  /// - Throws: an error whose message names the field.
  public init(json bytes: [UInt8]) throws(ServiceError) {
    self.init()
    guard let json = JSON(parsing: bytes) else {
      throw ServiceError("InvalidRequest", "the seed is not JSON")
    }
    var fields = try FieldReader(json)
    if let pools = try fields.objects("Pools") {
      self.pools = []
      for pool in pools { self.pools.append(try Pool(pool)) }
    }
    if let roles = try fields.objects("Roles") {
      self.roles = []
      for role in roles { self.roles.append(try Role(role)) }
    }
    if let users = try fields.objects("Users") {
      self.users = []
      for user in users { self.users.append(try User(user)) }
    }
    developerKeys = try fields.map("DeveloperKeys") ?? developerKeys
    allowsAnyUser = try fields.bool("AnyUser") ?? allowsAnyUser
    requiresSession = try fields.bool("RequireSession") ?? requiresSession
    credentialLifetime =
      try fields.integer("CredentialLifetime", in: 0...43_200) ?? credentialLifetime
    tokenLifetime = try fields.integer("TokenLifetime", in: 0...86_400) ?? tokenLifetime
    sessionTokenLength =
      try fields.integer("SessionTokenLength", in: 32...100_000) ?? sessionTokenLength
    backendToken = try fields.optionalText("BackendToken") ?? backendToken
    try fields.finish()
  }
}

extension SandboxSeed.Pool {
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    let id = try fields.text("Id")
    guard InputRule.id.violation(of: id, at: "Id") == nil else {
      throw fields.fault("Id", "must be REGION:UUID")
    }
    self.init(id: id, developerProvider: try fields.optionalText("DeveloperProvider"))
    allowsGuests = try fields.bool("Unauthenticated") ?? allowsGuests
    allowsClassicFlow = try fields.bool("ClassicFlow") ?? allowsClassicFlow
    authenticatedRole = try fields.optionalText("AuthenticatedRole")
    guestRole = try fields.optionalText("UnauthenticatedRole")
    providers = try fields.map("Providers") ?? providers
    try fields.finish()
  }
}

extension SandboxSeed.User {
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    self.init(name: try fields.text("Name"))
    password = try fields.optionalText("Password")
    isDisabled = try fields.bool("Disabled") ?? isDisabled
    requiresSession = try fields.bool("RequireSession") ?? requiresSession
    try fields.finish()
  }
}

extension Role {
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    arn = try fields.text("Arn")
    guard arn.hasPrefix("arn:"), arn.contains(":role/") else {
      throw fields.fault("Arn", "must be the ARN of a role")
    }
    pool = try fields.text("Pool")
    trustsAuthenticated = try fields.bool("Authenticated") ?? true
    maximumSessionDuration = try fields.integer("MaximumSessionDuration", in: 3600...43_200) ?? 3600
    isCustom = try fields.bool("Custom") ?? false
    try fields.finish()
  }
}
