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
  func client(_ done: @escaping Completion<UserPoolClient>) {
    sender.readClientSecret(settings.clientSecretFile, for: upstream) { secret in
      done(
        Result { () throws(UpstreamFailure) in
          let secret = try secret.get()
          let client = try upstream.checked { () throws(InvalidInput) in
            try called.profile.userPoolClient(secret: secret, at: called.place)
          }
          guard let client else { throw .unfitSession(of: upstream) }
          return client
        })
    }
  }

  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    client(for: session) { client in
      switch (client, way) {
      case (.failure(let failure), _): done(.failure(failure))
      case (.success(let client), .getTokensFromRefreshToken):
        let request = client.getTokens(
          refreshToken: session.refreshToken, device: session.deviceKey)
        done(.success(.exchange(refresh(request, session, client))))
      case (.success(let client), .refreshTokenAuth):
        username(session.username, at: client) { user in
          done(
            user.map { user in
              let request = client.initiateAuth(
                refreshToken: session.refreshToken, of: user, device: session.deviceKey)
              return .exchange(refresh(request, session, client))
            })
        }
      }
    }
  }

  /// The app client that gave a session's tokens. They are sent to no other.
  func client(
    for session: ProviderSession, _ done: @escaping Completion<UserPoolClient>
  ) {
    client { client in
      done(
        Result { () throws(UpstreamFailure) in
          let client = try client.get()
          guard client.issuer == session.issuer, !session.refreshToken.isEmpty else {
            throw .unfitSession(of: .backend(client.backend))
          }
          return client
        })
    }
  }

  /// A user name with its hash, which a client with a secret sends.
  func username(
    _ name: String, at client: UserPoolClient, _ done: @escaping Completion<PoolUsername>
  ) {
    sender.loadCrypto(for: upstream) { crypto in
      done(
        Result { () throws(UpstreamFailure) in
          let crypto = try crypto.get()
          return try upstream.checked { () throws(InvalidInput) in
            try client.username(name, digests: crypto)
          }
        })
    }
  }

  private func refresh(
    _ request: HTTPRequest, _ session: ProviderSession, _ client: UserPoolClient
  ) -> Exchange<UpstreamOutcome> {
    renewal(request, session, client) { .providerTokens($0, serverTime: $1.date) }
  }

  func renewal<Outcome>(
    _ request: HTTPRequest, _ session: ProviderSession, _ client: UserPoolClient,
    operation: String? = nil, _ outcome: @escaping (ProviderTokens, HTTPReply) -> Outcome
  ) -> Exchange<Outcome> {
    var exchange = self.exchange(
      request, client, secrets: [session.refreshToken], operation: operation
    ) { reply throws(UpstreamFailure) in outcome(try client.renewal(from: reply), reply) }
    // If the pool rotates refresh tokens, this token may be used up. The pool accepts it again for
    // some seconds; later it takes the token for stolen.
    exchange.isRepeated = { $0.isReplyLost }
    return exchange
  }

  /// An exchange with a user pool.
  ///
  /// - Parameters:
  ///   - secrets: secrets besides the client's own.
  ///   - isSentOnce: whether the pool must get the request only once: an answer, a code, a new
  ///     password.
  ///   - operation: see ``Exchange/operation``.
  func exchange<Outcome>(
    _ request: HTTPRequest, _ client: UserPoolClient, secrets: [Secret],
    isSentOnce: Bool = false, operation: String? = nil,
    read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) -> Exchange<Outcome> {
    var http = HTTPSettings(
      timeout: called.settings.timeout, replyLimit: Limits.UserPool.replyBytes)
    http.isSentOnce = isSentOnce
    http.caFile = settings.caFile
    http.hostOrigin = origin(at: called.place)
    var exchange = Exchange(
      request: request, settings: http, upstream: .backend(client.backend),
      secrets: secrets + [client.secret].compactMap(\.self), operation: operation, read: read)
    exchange.names = [client.id]
    exchange.tellsTime =
      switch called.place {
      case .primary: settings.endpoint == nil
      case .replica: settings.replicaEndpoint == nil
      }
    return exchange
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
  func answer(_ request: PoolRequest, _ done: @escaping Completion<PoolReply>) {
    client { client in
      switch client {
      case .failure(let failure): sender.later { done(.failure(failure)) }
      case .success(let client):
        sender.loadCrypto(for: upstream) { crypto in
          do throws(UpstreamFailure) {
            let crypto = try crypto.get()
            let http = try upstream.checked { () throws(InvalidInput) in
              try client.request(request, deviceName: sender.services.hostName, digests: crypto)
            }
            called.send(
              exchange(
                http, client, secrets: request.secrets, isSentOnce: true,
                operation: request.label
              ) { reply throws(UpstreamFailure) in try client.reply(reply, to: request) }, done)
          } catch {
            sender.later { done(.failure(error)) }
          }
        }
      }
    }
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
