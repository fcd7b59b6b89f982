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

/// The exchanges with one type of backend. A profile never asks its backend for something that the
/// backend's type does not do.
protocol BackendExchanges: SendableMetatype {
  associatedtype Settings: BackendKind

  /// The backend.
  var called: CalledBackend { get }

  init(_ settings: Settings, _ called: CalledBackend)

  /// A token callback.
  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome>

  /// A sign-in with a password that the backend takes itself.
  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome>

  /// New tokens of a provider.
  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome>

  /// Ends a session. Does nothing if the backend cannot be told.
  func signOut(_ signOut: BackendSignOut) throws(Unprepared) -> Prepared<Void>

  /// An action of `account`.
  func account(_ call: AccountCall) throws(Unprepared) -> Prepared<AccountResult>

  /// A step of a sign-in at a user pool.
  func answer(_ request: PoolRequest) throws(Unprepared) -> Prepared<PoolReply>

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

  var inputs: CallInputs { called.inputs }
  var services: UpstreamServices { called.services }
  var clock: any Clock { services.clock }
  var upstream: Upstream { called.upstream }

  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    // The backend gives no developer tokens, and no plan asks it for one.
    throw .failed(.unfitSession(of: upstream))
  }

  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    preconditionFailure("the plan of a backend that trusts the host takes no passwords")
  }

  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    throw .failed(.unfitSession(of: upstream))
  }

  func signOut(_ signOut: BackendSignOut) throws(Unprepared) -> Prepared<Void> { .outcome(()) }

  func account(_ call: AccountCall) throws(Unprepared) -> Prepared<AccountResult> {
    preconditionFailure("the profile refuses what its backend does not do")
  }

  func answer(_ request: PoolRequest) throws(Unprepared) -> Prepared<PoolReply> {
    throw .failed(.unfitSession(of: upstream))
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

  /// A request to the backend's own server.
  ///
  /// - Parameter key: the key with the URL.
  func request(
    _ http: HTTPRequest, to key: String = "url", secrets: [Secret], operation: String? = nil
  ) -> UpstreamRequest {
    var settings = httpSettings
    settings.hostOrigin = .key(key)
    return UpstreamRequest(
      http, settings, to: upstream, secrets: secrets, operation: operation)
  }
}
