import CredCore

/// Exchanges with a backend of type `user-pool`.
struct UserPoolExchanges: BackendExchanges {
  let settings: UserPoolSettings
  let called: CalledBackend

  init(_ settings: UserPoolSettings, _ called: CalledBackend) {
    self.settings = settings
    self.called = called
  }

  /// The app client of the user pool, with the secret that the file holds now.
  func client() throws(Unprepared) -> UserPoolClient {
    let secret = try inputs.clientSecret(settings.clientSecretFile, for: upstream)
    let client = try upstream.checked { () throws(InvalidInput) in
      try called.profile.userPoolClient(secret: secret, at: inputs.place)
    }
    guard let client else { throw .failed(.unfitSession(of: upstream)) }
    return client
  }

  /// The app client that gave a session's tokens. They are sent to no other.
  func client(for session: ProviderSession) throws(Unprepared) -> UserPoolClient {
    let client = try client()
    guard client.issuer == session.issuer, !session.refreshToken.isEmpty else {
      throw .failed(.unfitSession(of: upstream))
    }
    return client
  }

  /// A user name with its hash, which a client with a secret sends.
  func username(_ name: String, at client: UserPoolClient) throws(Unprepared) -> PoolUsername {
    let crypto = try inputs.crypto(for: upstream)
    return try upstream.checked { () throws(InvalidInput) in
      try client.username(name, digests: crypto)
    }
  }

  // MARK: Renewals

  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let client = try client(for: session)
    return .exchange(
      try renewal(of: session, way, client) { .providerTokens($0, serverTime: $1.date) })
  }

  func renewal<Reply>(
    of session: ProviderSession, _ way: PoolRenewalWay, _ client: UserPoolClient,
    operation: String? = nil, _ outcome: @escaping (ProviderTokens, HTTPReply) -> Reply
  ) throws(Unprepared) -> Exchange<Reply> {
    let (token, device) = (session.refreshToken, session.deviceKey)
    let http =
      switch way {
      case .getTokensFromRefreshToken: client.getTokens(refreshToken: token, device: device)
      case .refreshTokenAuth:
        client.initiateAuth(
          refreshToken: token, of: try username(session.username, at: client), device: device)
      }
    let request = request(http, client, secrets: [token], operation: operation)
    var exchange = Exchange(request: request) { reply throws(UpstreamFailure) in
      outcome(try client.renewal(from: reply), reply)
    }
    // If the pool rotates refresh tokens, this token may be used up. The pool accepts it again for
    // some seconds; later it takes the token for stolen.
    exchange.isRepeated = { $0.isReplyLost }
    return exchange
  }

  // MARK: Requests

  /// A request to a user pool.
  ///
  /// - Parameters:
  ///   - secrets: secrets besides the client's own.
  ///   - isSentOnce: whether the pool must get the request only once: an answer, a code, a new
  ///     password.
  ///   - operation: see ``UpstreamRequest/operation``.
  func request(
    _ http: HTTPRequest, _ client: UserPoolClient, secrets: [Secret], isSentOnce: Bool = false,
    operation: String? = nil
  ) -> UpstreamRequest {
    var settings = HTTPSettings(
      timeout: called.settings.timeout, replyLimit: Limits.UserPool.replyBytes)
    settings.isSentOnce = isSentOnce
    settings.caFile = self.settings.caFile
    settings.hostOrigin = origin(at: inputs.place)
    var request = UpstreamRequest(
      http, settings, to: upstream, secrets: secrets + [client.secret].compactMap(\.self),
      operation: operation)
    request.names = [client.id]
    request.tellsTime =
      switch inputs.place {
      case .primary: self.settings.endpoint == nil
      case .replica: self.settings.replicaEndpoint == nil
      }
    return request
  }
}

// MARK: Where its servers are configured

extension UserPoolExchanges {
  var httpSettings: HTTPSettings {
    var http = called.httpSettings
    http.hostOrigin = origin(at: .primary)
    return http
  }

  private func origin(at place: PoolPlace) -> HostOrigin {
    switch place {
    case .primary: .aws("user_pool_endpoint", settings.endpoint, region: "user_pool_id")
    case .replica: .aws("replica_endpoint", settings.replicaEndpoint, region: "replica_region")
    }
  }
}

// MARK: Sign-ins

extension UserPoolExchanges {
  func answer(_ request: PoolRequest) throws(Unprepared) -> Prepared<PoolReply> {
    let (client, crypto) = (try client(), try inputs.crypto(for: upstream))
    let http = try upstream.checked { () throws(InvalidInput) in
      try client.request(request, deviceName: services.hostName, digests: crypto)
    }
    let sent = self.request(
      http, client, secrets: request.secrets, isSentOnce: true, operation: request.label)
    return .exchange(
      Exchange(request: sent) { reply throws(UpstreamFailure) in
        try client.reply(reply, to: request)
      })
  }
}

// MARK: Its servers

extension UserPoolExchanges {
  /// The pool's API, its replica's, and its Hosted UI.
  func places(_ turns: CallTurns) -> [ProbedPlace] {
    guard let issuer = called.profile.plan.backend.issuer else { return [] }
    let place = place(issuer.url, turns)
    var keys = self.place("\(issuer.url)\(settings.userPoolID)/.well-known/jwks.json", turns)
    keys.reading = .pool
    var places = [keys]
    if let replica = called.profile.replicaURL {
      var http = place.settings
      http.hostOrigin = origin(at: .replica)
      places.append(
        ProbedPlace(
          name: "\(place.name) replica", upstream: place.upstream, url: replica,
          settings: http, queue: turns.queues.queue(of: called.settings, at: .replica)))
    }
    if let domain = settings.providerEndpoints.token?.text {
      var http = place.settings
      http.hostOrigin = .key("domain")
      places.append(
        ProbedPlace(
          name: "\(place.name) domain", upstream: place.upstream, url: domain,
          settings: http, queue: place.queue))
    }
    return places
  }
}
