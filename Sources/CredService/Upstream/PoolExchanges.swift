import CredCore

/// Cognito user pools.
extension UpstreamClient {
  /// The app client of a profile's user pool, with its secret as the file holds it now.
  func userPoolClient(
    of profile: Profile, _ done: @escaping Completion<UserPoolClient>
  ) {
    guard let backend = profile.backend, case .userPool(let settings) = backend.kind else {
      return done(.failure(.unfitSession(of: .cognitoIdentity)))
    }
    let upstream = Upstream.backend(backend.name)
    let key = "client_secret_file"
    readFileIfNamed(settings.clientSecretFile, key: key, for: upstream) { content in
      done(
        Result { () throws(UpstreamFailure) in
          let secret = try content.get().map { Secret(Array($0.bytes.trimmed)) }
          let client = try Self.checked(upstream) { () throws(InvalidInput) in
            try profile.userPoolClient(secret: secret)
          }
          guard let client else { throw .unfitSession(of: upstream) }
          return client
        })
    }
  }

  /// New tokens for a session.
  func renewPoolTokens(
    _ session: PoolSession, _ way: PoolRenewalWay, _ profile: Profile, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    guard session.issuer.pool != nil else {
      return renewProviderTokens(session, profile, user, done)
    }
    poolClient(for: session, profile) { [unowned self] client in
      switch (client, way) {
      case (.failure(let failure), _): done(.failure(failure))
      case (.success(let client), .getTokensFromRefreshToken):
        let request = client.getTokens(
          refreshToken: session.refreshToken, device: session.deviceKey)
        done(.success(.exchange(refresh(request, session, client, profile))))
      case (.success(let client), .refreshTokenAuth):
        username(session.username, at: client) { [unowned self] user in
          done(
            user.map { user in
              let request = client.initiateAuth(
                refreshToken: session.refreshToken, of: user, device: session.deviceKey)
              return .exchange(refresh(request, session, client, profile))
            })
        }
      }
    }
  }

  /// The app client that gave a session's tokens. To another one they are not sent.
  private func poolClient(
    for session: PoolSession, _ profile: Profile, _ done: @escaping Completion<UserPoolClient>
  ) {
    userPoolClient(of: profile) { client in
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
    let upstream = Upstream.backend(client.backend)
    loadCrypto(for: upstream) { crypto in
      done(
        Result { () throws(UpstreamFailure) in
          let crypto = try crypto.get()
          return try Self.checked(upstream) { () throws(InvalidInput) in
            try client.username(name, digests: crypto)
          }
        })
    }
  }

  private func refresh(
    _ request: HTTPRequest, _ session: PoolSession, _ client: UserPoolClient, _ profile: Profile
  ) -> Exchange<UpstreamOutcome> {
    renewal(request, session, client, profile) { .poolTokens($0, serverTime: $1.date) }
  }

  private func renewal<Outcome>(
    _ request: HTTPRequest, _ session: PoolSession, _ client: UserPoolClient, _ profile: Profile,
    operation: String? = nil, _ outcome: @escaping (PoolTokens, HTTPReply) -> Outcome
  ) -> Exchange<Outcome> {
    var exchange = pool(
      request, client, profile, secrets: [session.refreshToken], operation: operation
    ) { reply throws(UpstreamFailure) in outcome(try client.renewal(from: reply), reply) }
    // A pool that rotates refresh tokens may have used this one up. For some seconds it takes it
    // again; later it takes it for stolen.
    exchange.isRepeated = { $0.isReplyLost }
    return exchange
  }

  /// An exchange with a user pool.
  ///
  /// - Parameters:
  ///   - secrets: besides the client's own.
  ///   - isSentOnce: whether the pool must not get it twice: an answer, a code, a new password.
  ///   - operation: see ``Exchange/operation``.
  func pool<Outcome>(
    _ request: HTTPRequest, _ client: UserPoolClient, _ profile: Profile, secrets: [Secret],
    isSentOnce: Bool = false, operation: String? = nil,
    read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) -> Exchange<Outcome> {
    var settings = HTTPSettings(
      timeout: profile.backend?.timeout ?? Self.awsTimeout,
      replyLimit: Limits.UserPool.replyBytes)
    settings.isSentOnce = isSentOnce
    var isAWS = true
    if case .userPool(let pool) = profile.backend?.kind {
      settings.caFile = pool.caFile
      isAWS = pool.endpoint == nil
    }
    var exchange = Exchange(
      request: request, settings: settings, upstream: .backend(client.backend),
      secrets: secrets + [client.secret].compactMap(\.self), operation: operation, read: read)
    exchange.tellsTime = isAWS
    return exchange
  }
}

// MARK: The end of a session

extension UpstreamClient {
  /// Ends a session at its user pool: on this host alone, or everywhere.
  func signOutAtPool(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    guard let session = signOut.poolSession, !session.refreshToken.isEmpty else {
      // Without a refresh token nothing is left to revoke, and nothing to sign out with.
      let failure = signOut.isGlobal ? signOut.noSession : nil
      return later { done(failure) }
    }
    let finish = { (failure: UpstreamFailure?) in
      done(failure?.remedy == .alreadyDone ? nil : failure)
    }
    poolClient(for: session, signOut.profile) { [unowned self] client in
      switch client {
      case .failure(let failure): later { finish(failure) }
      case .success(let client) where !signOut.isGlobal:
        let exchange = pool(
          client.revoke(refreshToken: session.refreshToken), client, signOut.profile,
          secrets: [session.refreshToken], operation: "revoke"
        ) { reply throws(UpstreamFailure) in try client.endedSession(reply) }
        send(exchange) { finish($0.failure) }
      case .success(let client): signOutGlobally(session, signOut.profile, client, finish)
      }
    }
  }

  /// An access token is needed. One that is held may have been revoked: then a new one is asked for.
  private func signOutGlobally(
    _ session: PoolSession, _ profile: Profile, _ client: UserPoolClient,
    _ done: @escaping (UpstreamFailure?) -> Void
  ) {
    guard let held = session.accessToken, held.usableUntil > services.clock.now else {
      return renewAndSignOut(session, profile, client, done)
    }
    endEverywhere(held.token, profile, client) { [unowned self] failure in
      switch failure?.remedy {
      case .newTokens, .alreadyDone: renewAndSignOut(session, profile, client, done)
      default: done(failure)
      }
    }
  }

  private func renewAndSignOut(
    _ session: PoolSession, _ profile: Profile, _ client: UserPoolClient,
    way: PoolRenewalWay = .getTokensFromRefreshToken,
    _ done: @escaping (UpstreamFailure?) -> Void
  ) {
    let secret = session.refreshToken
    func renew(_ request: HTTPRequest) {
      sendTwice(
        renewal(request, session, client, profile, operation: "renew") { tokens, _ in tokens }
      ) { [unowned self] result in
        switch result {
        case .success(let tokens): endEverywhere(tokens.access.token, profile, client, done)
        // A pool, or an emulator, that is older than the operation.
        case .failure(let failure)
        where failure.namesUnknownOperation && way == .getTokensFromRefreshToken:
          renewAndSignOut(session, profile, client, way: .refreshTokenAuth, done)
        case .failure(let failure): done(failure)
        }
      }
    }
    switch way {
    case .getTokensFromRefreshToken:
      renew(client.getTokens(refreshToken: secret, device: session.deviceKey))
    case .refreshTokenAuth:
      username(session.username, at: client) { [unowned self] user in
        switch user {
        case .failure(let failure): later { done(failure) }
        case .success(let user):
          renew(client.initiateAuth(refreshToken: secret, of: user, device: session.deviceKey))
        }
      }
    }
  }

  private func endEverywhere(
    _ token: Secret, _ profile: Profile, _ client: UserPoolClient,
    _ done: @escaping (UpstreamFailure?) -> Void
  ) {
    let exchange = pool(
      client.signOutGlobally(accessToken: token), client, profile, secrets: [token],
      operation: "logout"
    ) { reply throws(UpstreamFailure) in try client.endedSession(reply) }
    send(exchange) { done($0.failure) }
  }

  /// Sends once more what may have been lost on its way.
  private func sendTwice<Outcome>(
    _ exchange: Exchange<Outcome>, _ done: @escaping Completion<Outcome>
  ) {
    send(exchange) { [unowned self] result in
      guard let failure = result.failure, exchange.isRepeated(failure) else { return done(result) }
      send(exchange, done)
    }
  }
}

extension BackendSignOut {
  fileprivate var noSession: UpstreamFailure {
    UpstreamFailure(
      upstream: .backend(profile.settings.backend ?? ""), failureClass: .signInRequired,
      code: .signInRequired,
      message: "the user pool ended this session before; sign in again to sign out everywhere",
      severity: .expected)
  }
}
