import CredCore

/// Exchanges with a backend of type `oidc` for a session that is signed in there.
struct OIDCExchanges: BackendExchanges {
  let called: CalledBackend
  private let provider: ProviderExchanges?

  /// A lost reply may cost the session: it is worth a longer wait than other calls.
  private static let renewalTimeout: Duration = .seconds(30)

  init(_ settings: OIDCSettings, _ called: CalledBackend) {
    self.called = called
    provider = ProviderExchanges(called)
  }

  func renew(
    _ session: ProviderSession, _ way: PoolRenewalWay, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    let required: RequiredClaims
    do {
      required = try called.profile.requiredClaims(
        user: user.name, uid: user.uid, host: sender.services.hostName)
    } catch {
      return done(.failure(.unfitSession(of: upstream)))
    }
    client(for: session) { found in
      done(
        found.map { exchanges, client in
          .exchange(renewal(session, required, client, exchanges))
        })
    }
  }

  /// The client that got a session's tokens, at the place that gave them. They are sent to no other.
  private func client(
    for session: ProviderSession, _ done: @escaping Completion<(ProviderExchanges, OIDCClient)>
  ) {
    guard let exchanges = self.provider else {
      return done(.failure(.unfitSession(of: .cognitoIdentity)))
    }
    exchanges.provider { provider in
      switch provider {
      case .failure(let failure): done(.failure(failure))
      case .success(let provider):
        guard !session.refreshToken.isEmpty else {
          return done(.failure(.noRefreshToken(from: called.name)))
        }
        guard session.issuer == called.profile.plan.backend.issuer,
          session.tokenEndpoint == provider.token.text
        else {
          return done(.failure(.movedProvider(called.name)))
        }
        exchanges.client(at: provider) { client in done(client.map { (exchanges, $0) }) }
      }
    }
  }

  private func renewal(
    _ session: ProviderSession, _ required: RequiredClaims, _ client: OIDCClient,
    _ exchanges: ProviderExchanges
  ) -> Exchange<UpstreamOutcome> {
    let clock = clock
    var exchange: Exchange<UpstreamOutcome> = exchanges.exchange(
      client.renew(refreshToken: session.refreshToken), client,
      secrets: [session.refreshToken], timeout: Self.renewalTimeout
    ) { reply throws(UpstreamFailure) in
      let renewal = try client.renewal(
        from: reply, of: session.subject ?? "", nonce: session.nonce, required: required,
        wallTime: clock.wallTime)
      switch renewal.tokens {
      case .success(let tokens):
        do throws(InvalidInput) {
          return .providerTokens(try ProviderTokens(tokens), serverTime: reply.date)
        } catch {
          throw .notSent(error, to: .backend(client.backend))
        }
      case .failure(let failure):
        if let token = renewal.refresh { return .refreshTokenReplaced(token, failure) }
        // It ends the session, and the former token lives: it is to be revoked.
        guard failure.failureClass == .signInRequired else { throw failure }
        return .refreshTokenReplaced(session.refreshToken, failure)
      }
    }
    // The former token may still be taken for a moment. A refusal without a reason is asked once more.
    exchange.isRepeated = { $0.isReplyLost || $0.remedy == .onceMore }
    return exchange
  }

  /// Without an address for that a session ends by itself.
  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    guard let session = signOut.providerSession, !session.refreshToken.isEmpty else {
      return sender.later { done(nil) }
    }
    client(for: session) { found in
      switch found {
      case .failure(let failure): sender.later { done(failure) }
      case .success((let exchanges, let client)):
        guard let request = client.revoke(refreshToken: session.refreshToken) else {
          return sender.later { done(nil) }
        }
        let exchange = exchanges.exchange(
          request, client, secrets: [session.refreshToken], operation: "revoke"
        ) { reply throws(UpstreamFailure) in try client.revoked(reply) }
        sender.send(exchange) { result in
          guard case .failure(let failure) = result, failure.remedy != .alreadyDone else {
            return done(nil)
          }
          done(failure)
        }
      }
    }
  }

  /// The discovery document, with what it names. Where the configuration has what a sign-in needs,
  /// credd asks for no such document: then the token endpoint alone.
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

/// How `check` reads what a provider of OpenID Connect answers.
enum ProviderProbe {
  /// The discovery document must fit the configuration. It says where the keys and the token endpoint
  /// are.
  case discovery(OIDCIssuer, ProviderEndpoints)
  /// By them Cognito verifies ID tokens.
  case keys

  /// What is asked next.
  ///
  /// - Throws: why the answer is of no use.
  func places(
    after reply: HTTPReply, _ place: ProbedPlace
  ) throws(UpstreamFailure) -> [ProbedPlace] {
    guard case .backend(let backend) = place.upstream else { return [] }
    let document = try? JSONValue.parse(reply.body.bytes)
    switch self {
    case .discovery(let issuer, let endpoints):
      let metadata = try ProviderMetadata(
        from: reply, of: issuer, configured: endpoints, for: backend)
      guard let keys = document?["jwks_uri"]?.text, let url = try? HTTPURL(keys),
        url.isEncrypted || url.isLoopback && issuer.isLoopback
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
    }
  }
}

extension ProbedPlace {
  /// Any answer will do: without a form it is a refusal.
  fileprivate static func tokenEndpoint(_ url: HTTPURL, of place: ProbedPlace) -> ProbedPlace {
    ProbedPlace(
      name: "\(place.name) token endpoint", upstream: place.upstream, url: url.text,
      settings: place.settings, queue: place.queue)
  }
}
