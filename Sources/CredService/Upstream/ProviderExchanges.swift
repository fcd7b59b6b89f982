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

  private var inputs: CallInputs { called.inputs }
  private var clock: any Clock { called.services.clock }
  private var upstream: Upstream { called.upstream }

  // MARK: The provider

  /// The URLs of the provider: configured, known, or from its discovery document.
  func metadata() throws(Unprepared) -> ProviderMetadata {
    if let known = inputs.provider { return known }
    guard let issuerURL else { throw .failed(.unfitSession(of: upstream)) }
    let found = try called.memory.discovery.metadata(of: issuerURL, for: called)
    inputs.provider = found
    return found
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
  func client(at provider: ProviderMetadata) throws(Unprepared) -> OIDCClient {
    let authentication = try authentication(at: provider)
    return try upstream.checked { () throws(InvalidInput) in
      try OIDCClient(
        backend: called.name, provider: provider, id: issuer.clientID,
        authentication: authentication, trustedAudiences: settings.trustedAudiences,
        vendsIDTokens: called.profile.settings.vendTokens.contains(.id))
    }
  }

  private func authentication(
    at provider: ProviderMetadata
  ) throws(Unprepared) -> ClientAuthentication {
    let method = settings.clientAuthentication
    if method == .privateKeyJWT { return .privateKeyJWT(try assertion(at: provider)) }
    switch (method, try inputs.clientSecret(settings.clientSecretFile, for: upstream)) {
    case (.basic, let secret?): return .basic(secret)
    case (.post, let secret?): return .post(secret)
    default: return .none
    }
  }

  private func assertion(at provider: ProviderMetadata) throws(Unprepared) -> ClientAssertion {
    guard let path = settings.clientAssertionKeyFile else {
      throw .failed(.unfitSession(of: upstream))
    }
    let pem = try inputs.file(
      path, as: .lines, key: "client_assertion_key_file", for: upstream)
    let crypto = try inputs.crypto(for: upstream)
    return try inputs.assertion(for: upstream) {
      let (clientID, keyID) = (issuer.clientID, settings.clientAssertionKeyID)
      let identifier = AssertionIdentifier(using: &called.memory.random)
      let now = clock.wallTime
      return {
        Result { () throws(InvalidInput) in
          try ClientAssertion(
            clientID: clientID, keyID: keyID, audience: provider.token.text,
            identifier: identifier, at: now, key: pem, signing: crypto)
        }
      }
    }
  }

  /// A request that is sent only once: if a refresh token, a code or an assertion comes twice, the
  /// provider takes it for stolen.
  ///
  /// - Parameters:
  ///   - secrets: secrets besides the client's own.
  ///   - operation: see ``UpstreamRequest/operation``.
  func request(
    _ http: HTTPRequest, _ client: OIDCClient, secrets: [Secret], timeout: Duration? = nil,
    operation: String? = nil
  ) -> UpstreamRequest {
    var settings = called.settings.providerHTTP(timeout: timeout ?? called.settings.timeout)
    settings.isSentOnce = true
    var request = UpstreamRequest(
      http, settings, to: upstream, secrets: secrets + client.authentication.secrets,
      operation: operation)
    request.names = [client.id]
    return request
  }
}

// MARK: Steps of sign-ins by browser and by device code

extension ProviderExchanges {
  func prepared(
    _ request: ProviderConversation.Request
  ) throws(Unprepared) -> Prepared<ProviderReply> {
    switch request {
    case .prepare(let secrets):
      let (provider, crypto) = (try metadata(), try inputs.crypto(for: upstream))
      return .outcome(.prepared(provider, challenge: secrets.challenge(digests: crypto)))
    case .startDeviceGrant(let scopes):
      return try deviceGrant(request, scopes)
    case .exchange(let code, let redirectURI, let secrets, let provider):
      let (client, wallTime) = (try client(at: provider), clock.wallTime)
      let http = client.exchange(code: code, redirectURI: redirectURI, secrets)
      return .exchange(
        Exchange(request: sent(http, request, client)) { reply throws(UpstreamFailure) in
          .exchanged(
            try client.tokens(from: reply, secrets, wallTime: wallTime), serverTime: reply.date)
        })
    case .poll(let grant, let provider):
      let (client, wallTime) = (try client(at: provider), clock.wallTime)
      return .exchange(
        Exchange(request: sent(client.poll(grant), request, client)) { reply in
          .deviceAnswered(
            client.deviceAnswer(from: reply, wallTime: wallTime), serverTime: reply.date)
        })
    }
  }

  private func deviceGrant(
    _ request: ProviderConversation.Request, _ scopes: [String]
  ) throws(Unprepared) -> Prepared<ProviderReply> {
    let provider = try metadata()
    let client = try client(at: provider)
    guard let http = client.startDeviceGrant(scopes: scopes) else {
      throw .failed(.noDeviceGrant(at: client.backend))
    }
    return .exchange(
      Exchange(request: sent(http, request, client)) { reply throws(UpstreamFailure) in
        .deviceGranted(try client.deviceGrant(from: reply), at: provider)
      })
  }

  private func sent(
    _ http: HTTPRequest, _ request: ProviderConversation.Request, _ client: OIDCClient
  ) -> UpstreamRequest {
    self.request(http, client, secrets: request.secrets, operation: request.label)
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
