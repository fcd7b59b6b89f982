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

/// A backend that is called for a profile, with everything needed to call it.
struct CalledBackend {
  let profile: Profile
  let settings: BackendSettings
  let sender: Sender
  let memory: ExchangeMemory
  /// The turn of the call for which it is called; nil where nothing is sent.
  private var turn: CallTurn?
  private(set) var place = PoolPlace.primary

  /// Nil for a profile without a backend.
  init?(_ profile: Profile, _ sender: Sender, _ memory: ExchangeMemory) {
    guard let settings = profile.backend else { return nil }
    self.profile = profile
    self.settings = settings
    self.sender = sender
    self.memory = memory
  }

  /// The same, to be sent requests in the turn of a call.
  func taking(_ turn: CallTurn, at place: PoolPlace = .primary) -> CalledBackend {
    var called = self
    called.turn = turn
    called.place = place
    return called
  }

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

  // MARK: Requests

  /// Sends an exchange in a turn of the backend's rate. The result comes later.
  func send<Outcome>(_ exchange: Exchange<Outcome>, _ done: @escaping Completion<Outcome>) {
    guard let turn else { preconditionFailure("a request is sent in the turn of a call") }
    turn.take { [sender] refusal in
      if let refusal { return done(.failure(refusal)) }
      sender.send(exchange, done)
    }
  }

  /// Sends an exchange if its request can be made; the result comes later in any case.
  func send<Outcome>(
    _ done: @escaping Completion<Outcome>,
    _ exchange: () throws(UpstreamFailure) -> Exchange<Outcome>
  ) {
    do throws(UpstreamFailure) {
      send(try exchange(), done)
    } catch {
      sender.later { done(.failure(error)) }
    }
  }

  /// Sends an exchange, and once more if it may have been lost on its way.
  func sendTwice<Outcome>(_ exchange: Exchange<Outcome>, _ done: @escaping Completion<Outcome>) {
    send(exchange) { result in
      guard let failure = result.failure, exchange.isRepeated(failure) else { return done(result) }
      send(exchange, done)
    }
  }

  // MARK: Its type

  /// The exchanges of the backend's type.
  var exchanges: any BackendExchanges {
    for type in BackendExchangeCatalog.all {
      if let exchanges = type.init(of: self) { return exchanges }
    }
    preconditionFailure("no exchanges for backends of type \(settings.type.rawValue)")
  }

  /// The query of a callback.
  func query(
    _ parts: TokenQueryParts, at provider: String, for user: UnixUser
  ) throws(UpstreamFailure) -> TokenQuery {
    let identifier = try upstream.checked { () throws(InvalidInput) in
      // If the identifier is not sent, no user name is needed.
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

/// The exchanges with one type of backend. A profile never asks its backend for something that the
/// backend's type does not do.
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

  /// Ends a session. Does nothing if the backend cannot be told.
  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void)

  /// An action of `account`.
  func account(_ call: AccountCall, _ done: @escaping Completion<AccountResult>)

  /// A step of a sign-in at a user pool.
  func answer(_ request: PoolRequest, _ done: @escaping Completion<PoolReply>)

  /// The servers that `check` asks first.
  func places(_ turns: CallTurns) -> [ProbedPlace]

  /// The HTTP settings of the backend's own server.
  var httpSettings: HTTPSettings { get }
}

extension BackendExchanges {
  /// Returns nil for a backend of another type.
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
    // The backend gives no developer tokens, and no plan asks it for one.
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
    done(.failure(.unfitSession(of: upstream)))
  }

  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    sender.later { done(nil) }
  }

  func account(_ call: AccountCall, _ done: @escaping Completion<AccountResult>) {
    preconditionFailure("the profile refuses what its backend does not do")
  }

  func answer(_ request: PoolRequest, _ done: @escaping Completion<PoolReply>) {
    sender.later { done(.failure(.unfitSession(of: upstream))) }
  }

  func places(_ turns: CallTurns) -> [ProbedPlace] {
    guard let origin = called.settings.kind.origin else { return [] }
    var place = place(origin, turns)
    place.omitsPath = true
    return [place]
  }

  /// The backend's own server, at this URL.
  func place(_ url: String, _ turns: CallTurns) -> ProbedPlace {
    ProbedPlace(
      name: "backend \(called.name)", upstream: upstream, url: url,
      settings: httpSettings.probing, queue: turns.queues.queue(of: called.settings))
  }

  var httpSettings: HTTPSettings { called.httpSettings }

  /// An exchange with the backend's own server.
  ///
  /// - Parameter key: the key with the URL.
  func exchange<Outcome>(
    _ request: HTTPRequest, to key: String = "url", secrets: [Secret], operation: String? = nil,
    read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) -> Exchange<Outcome> {
    var settings = httpSettings
    settings.hostOrigin = .key(key)
    return Exchange(
      request: request, settings: settings, upstream: upstream, secrets: secrets,
      operation: operation, read: read)
  }
}
