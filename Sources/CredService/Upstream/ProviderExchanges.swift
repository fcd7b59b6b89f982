import CredCore

/// Exchanges by OpenID Connect, with providers and with the Hosted UI of user pools.
struct ProviderExchanges {
  let settings: any ProviderKind
  let issuer: ProviderIssuer
  /// The issuer of the tokens; nil if the issuer is no URL.
  let issuerURL: OIDCIssuer?
  let called: CalledBackend

  /// Returns nil for a backend that is no provider.
  init?(_ called: CalledBackend) {
    guard let settings = called.settings.kind as? any ProviderKind,
      let issuer = called.profile.plan.backend.issuer
    else { return nil }
    self.settings = settings
    self.issuer = issuer
    issuerURL = try? OIDCIssuer(issuer.issuer)
    self.called = called
  }

  var sender: Sender { called.sender }
  private var clock: any Clock { called.sender.services.clock }
  private var upstream: Upstream { called.upstream }

  // MARK: The provider

  /// The URLs of the provider: configured, known, or from its discovery document.
  func provider(_ done: @escaping Completion<ProviderMetadata>) {
    guard let issuerURL else { return done(.failure(.unfitSession(of: upstream))) }
    called.memory.discovery.metadata(of: issuerURL, for: called, done)
  }

  /// The page that ends a browser's own session at the provider; nil if there is none, or if none
  /// is known yet.
  var logoutURL: String? {
    guard let browser = called.profile.browser, let issuerURL else { return nil }
    let metadata = called.memory.discovery.knownMetadata(of: issuerURL, for: called.settings)
    let traits = issuer.traits
    guard !traits.logoutRequiresRedirectURI || browser.logoutRedirectURI != nil else { return nil }
    return metadata?.logoutURL(
      clientID: issuer.clientID, redirectURI: browser.logoutRedirectURI,
      as: traits.logoutParameter, browser.logout)
  }

  // MARK: The client

  /// The client, with the secret or key that the file holds now.
  ///
  /// - Parameter provider: the provider to which the client sends requests.
  func client(at provider: ProviderMetadata, _ done: @escaping Completion<OIDCClient>) {
    authentication(at: provider) { result in
      done(
        Result { () throws(UpstreamFailure) in
          let authentication = try result.get()
          return try upstream.checked { () throws(InvalidInput) in
            try OIDCClient(
              backend: called.name, provider: provider, id: issuer.clientID,
              authentication: authentication, trustedAudiences: settings.trustedAudiences,
              vendsIDTokens: called.profile.settings.vendTokens.contains(.id))
          }
        })
    }
  }

  private func authentication(
    at provider: ProviderMetadata, _ done: @escaping Completion<ClientAuthentication>
  ) {
    let method = settings.clientAuthentication
    guard method != .privateKeyJWT else {
      return assertion(at: provider) { done($0.map { .privateKeyJWT($0) }) }
    }
    sender.readClientSecret(settings.clientSecretFile, for: upstream) { secret in
      done(
        secret.map { secret in
          switch (method, secret) {
          case (.basic, let secret?): .basic(secret)
          case (.post, let secret?): .post(secret)
          default: .none
          }
        })
    }
  }

  /// How long a signature may take, including the wait for those of other sign-ins.
  private static let signingTimeout: Duration = .seconds(10)

  private func assertion(
    at provider: ProviderMetadata, _ done: @escaping Completion<ClientAssertion>
  ) {
    guard let path = settings.clientAssertionKeyFile else {
      return done(.failure(.unfitSession(of: upstream)))
    }
    let (clientID, keyID) = (issuer.clientID, settings.clientAssertionKeyID)
    let identifier = AssertionIdentifier(using: &called.memory.random)
    let now = clock.wallTime
    let deadline = clock.now + Self.signingTimeout
    sender.readFile(path, as: .lines, key: "client_assertion_key_file", for: upstream) { key in
      sender.loadCrypto(for: upstream) { crypto in
        let pem: Secret
        let library: any Crypto
        do throws(UpstreamFailure) {
          (pem, library) = (try key.get(), try crypto.get())
        } catch {
          return done(.failure(error))
        }
        sender.services.background.runOnce(.proofs, deadline: deadline) {
          Result { () throws(InvalidInput) in
            try ClientAssertion(
              clientID: clientID, keyID: keyID, audience: provider.token.text,
              identifier: identifier, at: now, key: pem, signing: library)
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

  /// An exchange that is sent only once: if a refresh token, a code or an assertion comes twice,
  /// the provider takes it for stolen.
  ///
  /// - Parameters:
  ///   - secrets: secrets besides the client's own.
  ///   - operation: see ``Exchange/operation``.
  func exchange<Outcome>(
    _ request: HTTPRequest, _ client: OIDCClient, secrets: [Secret],
    timeout: Duration? = nil, operation: String? = nil,
    read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) -> Exchange<Outcome> {
    var http = called.settings.providerHTTP(timeout: timeout ?? called.settings.timeout)
    http.isSentOnce = true
    var exchange = Exchange(
      request: request, settings: http, upstream: upstream,
      secrets: secrets + client.authentication.secrets, operation: operation, read: read)
    exchange.names = [client.id]
    return exchange
  }
}

// MARK: Steps of sign-ins by browser and by device code

extension ProviderExchanges {
  func take(
    _ request: ProviderConversation.Request, _ done: @escaping Completion<ProviderReply>
  ) {
    switch request {
    case .prepare(let secrets): prepare(secrets, done)
    case .startDeviceGrant(let scopes): startDeviceGrant(scopes, done)
    case .exchange(let code, let redirectURI, let secrets, let provider):
      send(request, at: provider, done) { client, wallTime in
        (
          client.exchange(code: code, redirectURI: redirectURI, secrets),
          { reply throws(UpstreamFailure) in
            .exchanged(
              try client.tokens(from: reply, secrets, wallTime: wallTime), serverTime: reply.date)
          }
        )
      }
    case .poll(let grant, let provider):
      send(request, at: provider, done) { client, wallTime in
        (
          client.poll(grant),
          { reply throws(UpstreamFailure) in
            .deviceAnswered(
              client.deviceAnswer(from: reply, wallTime: wallTime), serverTime: reply.date)
          }
        )
      }
    }
  }

  private typealias Reader = (HTTPReply) throws(UpstreamFailure) -> ProviderReply

  private func send(
    _ request: ProviderConversation.Request, at provider: ProviderMetadata,
    _ done: @escaping Completion<ProviderReply>,
    _ make: @escaping (OIDCClient, WallTime) -> (HTTPRequest, Reader)
  ) {
    client(at: provider) { client in
      switch client {
      case .failure(let failure): done(.failure(failure))
      case .success(let client):
        let (http, read) = make(client, clock.wallTime)
        called.send(
          exchange(http, client, secrets: request.secrets, operation: request.label, read: read),
          done)
      }
    }
  }

  private func prepare(
    _ secrets: AuthorizationSecrets, _ done: @escaping Completion<ProviderReply>
  ) {
    provider { provider in
      sender.loadCrypto(for: upstream) { crypto in
        done(
          Result { () throws(UpstreamFailure) in
            let (provider, crypto) = (try provider.get(), try crypto.get())
            return .prepared(provider, challenge: secrets.challenge(digests: crypto))
          })
      }
    }
  }

  private func startDeviceGrant(
    _ scopes: [String], _ done: @escaping Completion<ProviderReply>
  ) {
    provider { provider in
      switch provider {
      case .failure(let failure): done(.failure(failure))
      case .success(let provider):
        client(at: provider) { client in
          do throws(UpstreamFailure) {
            let client = try client.get()
            guard let request = client.startDeviceGrant(scopes: scopes) else {
              throw .noDeviceGrant(at: client.backend)
            }
            called.send(
              exchange(request, client, secrets: [], operation: "device") {
                reply throws(UpstreamFailure) in
                ProviderReply.deviceGranted(try client.deviceGrant(from: reply), at: provider)
              }, done)
          } catch {
            done(.failure(error))
          }
        }
      }
    }
  }
}

extension ProviderConversation.Request {
  /// The name in metrics.
  fileprivate var label: String {
    switch self {
    case .prepare: "discovery"
    case .startDeviceGrant: "device"
    case .exchange: "code"
    case .poll: "device_poll"
    }
  }
}
