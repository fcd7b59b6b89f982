import CredCore

/// A backend that is called for a profile, with everything needed to call it.
struct CalledBackend {
  let profile: Profile
  let settings: BackendSettings
  let memory: ExchangeMemory
  /// Empty where nothing is sent.
  let inputs: CallInputs

  init(
    _ profile: Profile, _ settings: BackendSettings, _ memory: ExchangeMemory,
    _ inputs: CallInputs = CallInputs()
  ) {
    self.profile = profile
    self.settings = settings
    self.memory = memory
    self.inputs = inputs
  }

  /// Nil for a profile without a backend.
  init?(_ profile: Profile, _ memory: ExchangeMemory, _ inputs: CallInputs = CallInputs()) {
    guard let settings = profile.backend else { return nil }
    self.init(profile, settings, memory, inputs)
  }

  var services: UpstreamServices { memory.services }
  var name: String { settings.name }
  var upstream: Upstream { .backend(settings.name) }

  /// The HTTP settings of a server, from the keys that all types of backends have.
  var httpSettings: HTTPSettings {
    var http = HTTPSettings(
      timeout: settings.timeout, replyLimit: Limits.Upstream.backendReplyBytes)
    http.caFile = settings.kind.caFile
    http.hostOrigin = .key("url")
    return http
  }

  /// The exchanges of the backend's type.
  var exchanges: any BackendExchanges {
    for type in BackendExchangeCatalog.all {
      if let exchanges = type.init(of: self) { return exchanges }
    }
    preconditionFailure("no exchanges for backends of type \(settings.type.rawValue)")
  }

  // MARK: What a callback says

  /// The query of a callback.
  func query(
    _ parts: TokenQueryParts, at provider: String, for user: UnixUser
  ) throws(Unprepared) -> TokenQuery {
    let identifier = try upstream.checked { () throws(InvalidInput) in
      // If the identifier is not sent, no user name is needed.
      guard settings.kind.sendsUserIdentifier else { return "" }
      return try self.identifier(parts.session?.developerUserIdentifier, of: user)
    }
    // A backend of this kind vouches for users of an identity pool.
    guard let pool = profile.pool else { throw .failed(.unfitSession(of: upstream)) }
    return TokenQuery(
      pool: pool, developerProvider: provider, userIdentifier: identifier,
      identity: parts.identityID, logins: parts.logins, caller: parts.caller)
  }

  /// The developer user identifier: the backend's own, else the configured one.
  func identifier(_ known: String?, of user: UnixUser) throws(InvalidInput) -> String {
    if let known { return known }
    let identifier = try services.expand(profile.settings.userIdentifier, user, "user_identifier")
    guard identifier.unicodeScalars.count <= Limits.Upstream.userIdentifierLength else {
      throw InvalidInput(field: "user_identifier", reason: "is too long for this user")
    }
    return identifier
  }
}
