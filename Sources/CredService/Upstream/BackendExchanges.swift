import CredCore

/// The types of backends that can be called. A new one is a file beside this one, and a line here.
enum BackendExchangeCatalog {
  static let all: [any BackendExchanges.Type] = [
    HTTPExchanges.self,
    ExecExchanges.self,
    CognitoExchanges.self,
    SampleExchanges.self,
    UserPoolExchanges.self,
    OIDCExchanges.self,
  ]
}

/// A backend that is called for a profile, and the means to do so.
struct CalledBackend {
  let profile: Profile
  let settings: BackendSettings
  let sender: Sender
  let memory: ExchangeMemory

  /// Nil for a profile without a backend.
  init?(_ profile: Profile, _ sender: Sender, _ memory: ExchangeMemory) {
    guard let settings = profile.backend else { return nil }
    self.profile = profile
    self.settings = settings
    self.sender = sender
    self.memory = memory
  }

  var name: String { settings.name }
  var upstream: Upstream { .backend(settings.name) }

  /// How a server is reached that takes the keys of all types.
  var httpSettings: HTTPSettings {
    var http = HTTPSettings(
      timeout: settings.timeout, replyLimit: Limits.Upstream.backendReplyBytes)
    http.caFile = settings.kind.caFile
    return http
  }

  /// Those of its type.
  var exchanges: any BackendExchanges {
    for type in BackendExchangeCatalog.all {
      if let exchanges = type.init(of: self) { return exchanges }
    }
    preconditionFailure("no exchanges for backends of type \(settings.type.rawValue)")
  }

  /// What a callback asks for.
  func query(
    _ parts: TokenQueryParts, at provider: String, for user: UnixUser
  ) throws(UpstreamFailure) -> TokenQuery {
    let identifier = try upstream.checked { () throws(InvalidInput) in
      // What is not sent needs no user name.
      guard settings.kind.sendsUserIdentifier else { return "" }
      return try self.identifier(parts.session?.developerUserIdentifier, of: user)
    }
    // A backend of this kind vouches for users of an identity pool.
    guard let pool = profile.pool else { throw .unfitSession(of: upstream) }
    return TokenQuery(
      pool: pool, developerProvider: provider, userIdentifier: identifier,
      identity: parts.identityID, logins: parts.logins, caller: parts.caller)
  }

  /// The developer user identifier: the backend's own, else the configured one.
  func identifier(_ known: String?, of user: UnixUser) throws(InvalidInput) -> String {
    if let known { return known }
    let identifier = try sender.expand(profile.settings.userIdentifier, user, "user_identifier")
    guard identifier.unicodeScalars.count <= Limits.Upstream.userIdentifierLength else {
      throw InvalidInput(field: "user_identifier", reason: "is too long for this user")
    }
    return identifier
  }
}

/// The exchanges with one type of backend. What a type does not do, no profile with it asks for.
protocol BackendExchanges: SendableMetatype {
  associatedtype Settings: BackendKind

  /// The backend.
  var called: CalledBackend { get }

  init(_ settings: Settings, _ called: CalledBackend)

  /// A token callback.
  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>)

  /// A sign-in with a password that the backend takes itself.
  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>)

  /// New tokens of a provider.
  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>)

  /// Ends a session. Does nothing where a backend cannot be told.
  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void)

  /// An action of `account`.
  func account(_ call: AccountCall, _ done: @escaping Completion<AccountResult>)

  /// A step of a sign-in at a user pool.
  func answer(_ request: PoolRequest, _ done: @escaping Completion<PoolReply>)

  /// The servers that `check` asks first.
  func places(_ turns: CallTurns) -> [ProbedPlace]

  /// How its own server is reached.
  var httpSettings: HTTPSettings { get }
}

extension BackendExchanges {
  /// Nil for a backend of another type.
  init?(of called: CalledBackend) {
    guard let settings = called.settings.kind as? Settings else { return nil }
    self.init(settings, called)
  }

  var sender: Sender { called.sender }
  var clock: any Clock { called.sender.services.clock }
  var upstream: Upstream { called.upstream }

  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    // It gives no developer tokens, and no plan asks it for one.
    done(.failure(.unfitSession(of: upstream)))
  }

  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    preconditionFailure("the plan of a backend that trusts the host takes no passwords")
  }

  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    done(.failure(.unfitSession(of: .cognitoIdentity)))
  }

  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    sender.later { done(nil) }
  }

  func account(_ call: AccountCall, _ done: @escaping Completion<AccountResult>) {
    preconditionFailure("the profile refuses what its backend does not do")
  }

  func answer(_ request: PoolRequest, _ done: @escaping Completion<PoolReply>) {
    sender.later { done(.failure(.unfitSession(of: .cognitoIdentity))) }
  }

  func places(_ turns: CallTurns) -> [ProbedPlace] {
    called.settings.kind.origin.map { [place($0, turns)] } ?? []
  }

  /// Its own server, at this URL.
  func place(_ url: String, _ turns: CallTurns) -> ProbedPlace {
    ProbedPlace(
      name: "backend \(called.name)", upstream: upstream, url: url,
      settings: httpSettings.probing, queue: turns.queues.queue(of: called.settings))
  }

  var httpSettings: HTTPSettings { called.httpSettings }

  /// An exchange with its own server.
  func exchange<Outcome>(
    _ request: HTTPRequest, secrets: [Secret], operation: String? = nil,
    read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) -> Exchange<Outcome> {
    Exchange(
      request: request, settings: httpSettings, upstream: upstream, secrets: secrets,
      operation: operation, read: read)
  }
}
