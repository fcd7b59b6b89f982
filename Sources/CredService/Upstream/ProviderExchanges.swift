package import CredCore

/// What is known of a provider, and for how long.
struct KnownProvider {
  let metadata: ProviderMetadata
  let until: Instant
}

/// OpenID Connect providers, and the Hosted UI of user pools.
extension UpstreamClient {
  /// Whose discovery document was read. Two profiles with the same backend share it.
  struct ProviderKey: Hashable {
    let issuer: OIDCIssuer
    let backend: String
    let caFile: String?
  }

  // MARK: The provider

  /// The URLs of the profile's provider: configured, known, or from its discovery document.
  func provider(of profile: Profile, _ done: @escaping Completion<ProviderMetadata>) {
    guard let backend = profile.backend, let issuer = profile.plan.backend.issuer,
      let issuerURL = try? OIDCIssuer(issuer.issuer)
    else { return done(.failure(.unfitSession(of: .cognitoIdentity))) }
    let endpoints = backend.providerEndpoints
    if let metadata = ProviderMetadata(issuerURL, configured: endpoints) {
      return done(.success(metadata))
    }
    let key = ProviderKey(issuer: issuerURL, backend: backend.name, caFile: backend.caFile)
    let known = providers[key]
    if let known, known.until > services.clock.now { return done(.success(known.metadata)) }
    discoverPool(issuerURL, endpoints, backend) { [unowned self] result in
      switch result {
      case .success(let found):
        providers[key] = found
        done(.success(found.metadata))
      // What was known stays of use while the provider cannot be asked.
      case .failure(let failure):
        if let known, failure.failureClass.isTransient { return done(.success(known.metadata)) }
        done(.failure(failure))
      }
    }
  }

  package func logoutURL(of profile: Profile) -> String? {
    guard let backend = profile.backend, let issuer = profile.plan.backend.issuer,
      let browser = profile.browser, let issuerURL = try? OIDCIssuer(issuer.issuer)
    else { return nil }
    let key = ProviderKey(issuer: issuerURL, backend: backend.name, caFile: backend.caFile)
    let metadata =
      ProviderMetadata(issuerURL, configured: backend.providerEndpoints)
      ?? providers[key]?.metadata
    let isPool = issuer.pool != nil
    // Cognito's page wants a place to lead to.
    guard !isPool || browser.logoutRedirectURI != nil else { return nil }
    return metadata?.logoutURL(
      clientID: issuer.clientID, redirectURI: browser.logoutRedirectURI,
      as: isPool ? "logout_uri" : "post_logout_redirect_uri", browser.logout)
  }

  /// Asks where the issuer says. The pool may have turned back to its original issuer meanwhile.
  private func discoverPool(
    _ issuer: OIDCIssuer, _ endpoints: ProviderEndpoints, _ backend: BackendSettings,
    _ done: @escaping Completion<KnownProvider>
  ) {
    discover(issuer, at: issuer, endpoints, backend) { [unowned self] result in
      guard case .failure(let failure) = result, !failure.failureClass.isTransient,
        let original = issuer.originalOfPool
      else { return done(result) }
      discover(issuer, at: original, endpoints, backend, done)
    }
  }

  /// - Parameter place: the issuer under which the document is.
  private func discover(
    _ issuer: OIDCIssuer, at place: OIDCIssuer, _ endpoints: ProviderEndpoints,
    _ backend: BackendSettings, _ done: @escaping Completion<KnownProvider>
  ) {
    let clock = services.clock
    let exchange = Exchange(
      request: place.discoveryRequest, settings: backend.providerHTTP(timeout: backend.timeout),
      upstream: .backend(backend.name), operation: "discovery"
    ) { reply throws(UpstreamFailure) in
      KnownProvider(
        metadata: try ProviderMetadata(
          from: reply, of: issuer, configured: endpoints, for: backend.name),
        until: clock.now + ProviderMetadata.lifetime(of: reply))
    }
    send(exchange, done)
  }

  // MARK: The client

  /// The client, with its secret or key as the file holds it now.
  ///
  /// - Parameter provider: whom it talks to.
  func oidcClient(
    of profile: Profile, at provider: ProviderMetadata, _ done: @escaping Completion<OIDCClient>
  ) {
    guard let backend = profile.backend, let issuer = profile.plan.backend.issuer else {
      return done(.failure(.unfitSession(of: .cognitoIdentity)))
    }
    authentication(of: backend, issuer.clientID, at: provider) { result in
      done(
        Result { () throws(UpstreamFailure) in
          let authentication = try result.get()
          return try Self.checked(.backend(backend.name)) { () throws(InvalidInput) in
            try OIDCClient(
              backend: backend.name, provider: provider, id: issuer.clientID,
              authentication: authentication)
          }
        })
    }
  }

  private func authentication(
    of backend: BackendSettings, _ clientID: String, at provider: ProviderMetadata,
    _ done: @escaping Completion<ClientAuthentication>
  ) {
    let upstream = Upstream.backend(backend.name)
    switch backend.kind {
    case .oidc(let oidc) where oidc.clientAuthentication == .privateKeyJWT:
      assertion(oidc, clientID, at: provider, for: upstream) {
        done($0.map { .privateKeyJWT($0) })
      }
    case .oidc(let oidc):
      secret(oidc.clientSecretFile, for: upstream) { secret in
        done(
          secret.map { secret in
            switch (oidc.clientAuthentication, secret) {
            case (.basic, let secret?): .basic(secret)
            case (.post, let secret?): .post(secret)
            default: .none
            }
          })
      }
    case .userPool(let pool):
      secret(pool.clientSecretFile, for: upstream) { secret in
        done(secret.map { $0.map { .basic($0) } ?? .none })
      }
    default: done(.failure(.unfitSession(of: upstream)))
    }
  }

  private func secret(
    _ path: String?, for upstream: Upstream, _ done: @escaping Completion<Secret?>
  ) {
    readFileIfNamed(path, key: "client_secret_file", for: upstream) { content in
      done(content.map { $0.map { Secret(Array($0.bytes.trimmed)) } })
    }
  }

  /// How long a signature may take, behind those of other sign-ins.
  private static let signingTimeout: Duration = .seconds(10)

  private func assertion(
    _ oidc: OIDCSettings, _ clientID: String, at provider: ProviderMetadata,
    for upstream: Upstream, _ done: @escaping Completion<ClientAssertion>
  ) {
    guard let path = oidc.clientAssertionKeyFile else {
      return done(.failure(.unfitSession(of: upstream)))
    }
    let identifier = AssertionIdentifier(using: &random)
    let now = services.clock.wallTime
    let deadline = services.clock.now + Self.signingTimeout
    readFile(path, key: "client_assertion_key_file", for: upstream) { [unowned self] key in
      loadCrypto(for: upstream) { [unowned self] crypto in
        let pem: Secret
        let library: any Crypto
        do throws(UpstreamFailure) {
          (pem, library) = (try key.get(), try crypto.get())
        } catch {
          return done(.failure(error))
        }
        services.background.runOnce(.proofs, deadline: deadline) {
          Result { () throws(InvalidInput) in
            try ClientAssertion(
              clientID: clientID, keyID: oidc.clientAssertionKeyID,
              audience: provider.token.text, identifier: identifier, at: now, key: pem,
              signing: library)
          }
        } completion: { result in
          switch result {
          case nil: done(.failure(.proofOverdue(for: upstream)))
          case .success(let assertion)?: done(.success(assertion))
          case .failure(let input)?: done(.failure(.notSent(input, to: upstream)))
          }
        }
      }
    }
  }

  /// An exchange with a provider, sent once: a refresh token, a code or an assertion that comes twice
  /// is taken for a stolen one.
  ///
  /// - Parameters:
  ///   - secrets: besides the client's own.
  ///   - operation: see ``Exchange/operation``.
  func provider<Outcome>(
    _ request: HTTPRequest, _ client: OIDCClient, _ profile: Profile, secrets: [Secret],
    timeout: Duration? = nil, operation: String? = nil,
    read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) -> Exchange<Outcome> {
    let backend = profile.backend
    var settings =
      backend?.providerHTTP(timeout: timeout ?? backend?.timeout ?? Self.awsTimeout)
      ?? HTTPSettings(timeout: Self.awsTimeout, replyLimit: Limits.OIDC.replyBytes)
    settings.isSentOnce = true
    return Exchange(
      request: request, settings: settings, upstream: .backend(client.backend),
      secrets: secrets + client.authentication.secrets, operation: operation, read: read)
  }
}

extension BackendSettings {
  var providerEndpoints: ProviderEndpoints {
    switch kind {
    case .oidc(let oidc): oidc.endpoints
    case .userPool(let pool): pool.hostedEndpoints ?? ProviderEndpoints()
    default: ProviderEndpoints()
    }
  }

  fileprivate var caFile: String? {
    switch kind {
    case .oidc(let oidc): oidc.caFile
    case .userPool(let pool): pool.caFile
    default: nil
    }
  }

  func providerHTTP(timeout: Duration) -> HTTPSettings {
    var settings = HTTPSettings(timeout: timeout, replyLimit: Limits.OIDC.replyBytes)
    settings.caFile = caFile
    return settings
  }
}
