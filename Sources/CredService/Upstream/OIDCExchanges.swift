import CredCore

/// Exchanges with a backend of type `oidc`, for a session of a user who has signed in there.
struct OIDCExchanges: BackendExchanges {
  let called: CalledBackend
  private let provider: ProviderExchanges?

  /// A lost reply may cost the session, so credd waits longer than for other calls.
  private static let renewalTimeout: Duration = .seconds(30)

  init(_ settings: OIDCSettings, _ called: CalledBackend) {
    self.called = called
    provider = ProviderExchanges(called)
  }

  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    guard !session.refreshToken.isEmpty else {
      throw .failed(.noRefreshToken(from: called.name))
    }
    let required: RequiredClaims
    do {
      required = try called.profile.requiredClaims(
        user: user.name, uid: user.uid, host: services.hostName)
    } catch {
      throw .failed(.unfitSession(of: upstream))
    }
    let (exchanges, client) = try client(for: session)
    return .exchange(renewal(session, required, client, exchanges))
  }

  /// The client that got a session's tokens, at the token endpoint that gave them. They are sent to
  /// no other.
  private func client(
    for session: ProviderSession
  ) throws(Unprepared) -> (ProviderExchanges, OIDCClient) {
    guard let exchanges = provider else { throw .failed(.unfitSession(of: upstream)) }
    let metadata = try exchanges.metadata()
    guard session.issuer == called.profile.plan.backend.issuer,
      session.tokenEndpoint == metadata.token.text
    else {
      throw .failed(.movedProvider(called.name))
    }
    return (exchanges, try exchanges.client(at: metadata))
  }

  private func renewal(
    _ session: ProviderSession, _ required: RequiredClaims, _ client: OIDCClient,
    _ exchanges: ProviderExchanges
  ) -> Exchange<UpstreamOutcome> {
    let clock = clock
    let request = exchanges.request(
      client.renew(refreshToken: session.refreshToken), client,
      secrets: [session.refreshToken], timeout: Self.renewalTimeout)
    var exchange = Exchange<UpstreamOutcome>(request: request) { reply throws(UpstreamFailure) in
      let renewal = try client.renewal(
        from: reply, of: session.subject ?? "", nonce: session.nonce, required: required,
        wallTime: clock.wallTime)
      switch renewal.tokens {
      case .success(let tokens):
        do throws(InvalidInput) {
          return .providerTokens(try ProviderTokens(tokens), serverTime: reply.date)
        } catch {
          let failure = UpstreamFailure.malformed(error, from: .backend(client.backend))
          // The former refresh token may be dead.
          guard let token = renewal.refresh else { throw failure }
          return .refreshTokenReplaced(token, failure)
        }
      case .failure(let failure):
        if let token = renewal.refresh { return .refreshTokenReplaced(token, failure) }
        // The failure ends the session, but the former token still lives and must be revoked.
        guard failure.failureClass == .signInRequired else { throw failure }
        return .refreshTokenReplaced(session.refreshToken, failure)
      }
    }
    // The provider may accept the former token for a moment. After a refusal without a reason,
    // credd asks once more.
    exchange.isRepeated = { $0.isReplyLost || $0.remedy == .onceMore }
    return exchange
  }

  /// If the provider has no address for a sign-out, the session ends by itself.
  func signOut(_ signOut: BackendSignOut) throws(Unprepared) -> Prepared<Void> {
    guard let session = signOut.providerSession, !session.refreshToken.isEmpty else {
      return .outcome(())
    }
    let (exchanges, client) = try client(for: session)
    guard let revocation = client.revoke(refreshToken: session.refreshToken) else {
      return .outcome(())
    }
    let request = exchanges.request(
      revocation, client, secrets: [session.refreshToken], operation: "revoke")
    var exchange = Exchange(request: request) { reply throws(UpstreamFailure) in
      try client.revoked(reply)
    }
    exchange.meaning = { $0.remedy == .alreadyDone ? () : nil }
    return .exchange(exchange)
  }

  /// The discovery document and the servers that it names. If the configuration names all servers,
  /// credd never reads that document: then only the token endpoint.
  func places(_ turns: CallTurns) -> [ProbedPlace] {
    guard let issuer = provider?.issuerURL else { return [] }
    let endpoints = called.settings.kind.providerEndpoints
    var place = place(issuer.discoveryURL, turns)
    place.reading = .discovery(issuer, endpoints)
    guard let known = ProviderMetadata(issuer, configured: endpoints) else { return [place] }
    return [.tokenEndpoint(known.token, of: place)]
  }

  var httpSettings: HTTPSettings {
    called.settings.providerHTTP(timeout: called.settings.timeout)
  }
}

/// How `check` reads the answers of a provider of OpenID Connect, or of a user pool.
enum ProviderProbe {
  /// The discovery document, which must fit the configuration. It names the addresses of the keys
  /// and of the token endpoint.
  case discovery(OIDCIssuer, ProviderEndpoints)
  /// The keys with which Cognito verifies ID tokens.
  case keys
  /// The keys of a user pool, which everybody may read. They show whether the pool exists. A sign-in does
  /// not show that: Cognito refuses a wrong id of the pool as it refuses a wrong password.
  case pool

  /// The servers to ask next.
  ///
  /// - Throws: why the answer cannot be used.
  func places(
    after reply: HTTPReply, _ place: ProbedPlace
  ) throws(UpstreamFailure) -> [ProbedPlace] {
    guard case .backend(let backend) = place.upstream else { return [] }
    let document = try? JSONValue.parse(foreign: reply.body)
    switch self {
    case .discovery(let issuer, let endpoints):
      let metadata = try ProviderMetadata(
        from: reply, of: issuer, configured: endpoints, for: backend)
      guard let keys = document?["jwks_uri"]?.text, let url = try? HTTPURL(keys),
        issuer.mayReachThisHost
          ? url.isEncrypted || url.isLoopback : url.isEncrypted && !url.mayReachThisHost
      else { throw .unusableKeys(of: backend) }
      return [
        ProbedPlace(
          name: "\(place.name) keys", upstream: place.upstream, url: keys,
          settings: place.settings, queue: place.queue, reading: .keys),
        .tokenEndpoint(metadata.token, of: place),
      ]
    case .keys:
      guard reply.status == 200, case .array(let keys)? = document?["keys"], !keys.isEmpty else {
        throw .unusableKeys(of: backend)
      }
      return []
    case .pool:
      let said = document?["message"]?.text ?? ""
      let isMissing = (400..<500).contains(reply.status) && said.contains(bytesOf: "does not exist")
      guard !isMissing else { throw .noSuchPool(at: backend) }
      return []
    }
  }
}

extension ProbedPlace {
  /// Any answer shows that the server works: without a form, it is a refusal.
  fileprivate static func tokenEndpoint(_ url: HTTPURL, of place: ProbedPlace) -> ProbedPlace {
    ProbedPlace(
      name: "\(place.name) token endpoint", upstream: place.upstream, url: url.text,
      settings: place.settings, queue: place.queue)
  }
}
