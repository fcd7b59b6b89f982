import CredCore

/// Exchanges for a backend of type `cognito`: credd holds developer credentials and signs by itself.
struct CognitoExchanges: BackendExchanges {
  let settings: CognitoBackendSettings
  let called: CalledBackend

  init(_ settings: CognitoBackendSettings, _ called: CalledBackend) {
    self.settings = settings
    self.called = called
  }

  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let (found, crypto) = (try signer(), try inputs.crypto(for: upstream))
    let (host, clock) = (try host(of: query.pool), called.memory.signatureClock)
    let signed = clock.now(at: host.url)
    var request = UpstreamRequest(
      try request(query, user, found.signer, crypto, host, at: signed),
      .aws(at: origin, caFile: called.profile.settings.caFile), to: upstream,
      secrets: query.logins.logins.map(\.token))
    // It is Cognito that answers, whoever's the signature is.
    request.tellsTime = true
    // Whether another time or other keys may help.
    var isRepeated = false
    var exchange = Exchange(request: request) { reply throws(UpstreamFailure) in
      do throws(UpstreamFailure) {
        return UpstreamOutcome(
          try CognitoIdentity.developerToken(from: reply, backend: called.name), self.clock)
      } catch {
        switch error.signatureFault {
        case .time:
          isRepeated = clock.refused(signed: signed, by: host.url, at: reply.date)
        case .keys: isRepeated = keysWereRefused(found)
        case nil: isRepeated = false
        }
        throw error
      }
    }
    exchange.isRepeated = { $0.signatureFault != nil && isRepeated }
    return .exchange(exchange)
  }

  /// Drops the keys of a process that AWS refused.
  ///
  /// - Returns: whether they were there before the call. Then they may be out of date: the call is made once
  ///   more, with new ones.
  private func keysWereRefused(_ found: DeveloperCredentialsCache.Signer) -> Bool {
    guard let command = settings.credentialProcess else { return false }
    called.memory.developerCredentials.refused(
      found.signer, for: DeveloperCredentialsCache.Key(backend: called.name, command: command))
    return found.isKept
  }

  private func request(
    _ query: TokenQuery, _ user: UnixUser, _ signer: SigV4, _ crypto: any Crypto, _ host: AWSHost,
    at time: WallTime
  ) throws(Unprepared) -> HTTPRequest {
    try upstream.checked { () throws(InvalidInput) in
      var tags: [(name: String, value: String)] = []
      for (name, template) in settings.principalTags.sorted(by: { $0.key < $1.key }) {
        tags.append((name, try services.expand(template, user, "principal_tags.\(name)")))
      }
      return try CognitoIdentity(host).getOpenIDTokenForDeveloperIdentity(
        CognitoIdentity.DeveloperTokenQuery(
          pool: query.pool, identity: query.identity, provider: query.developerProvider,
          userIdentifier: query.userIdentifier, linked: query.logins,
          tokenDuration: Int(settings.tokenDuration.inSeconds), principalTags: tags),
        signer: signer, digests: crypto, now: time)
    }
  }

  /// Its own endpoint, or the profile's.
  private func host(of pool: IdentityPoolID) throws(Unprepared) -> AWSHost {
    try upstream.checked { () throws(InvalidInput) in
      if let custom = settings.cognitoEndpoint {
        return try AWSHost(.cognitoIdentity, region: pool.region, custom: custom.text)
      }
      guard let placed = called.profile.identityPool else {
        throw InvalidInput(field: "identity_pool_id", reason: "is missing")
      }
      return placed.cognito.host
    }
  }

  private var origin: HostOrigin {
    settings.cognitoEndpoint == nil ? called.profile.cognitoOrigin : .key("cognito_endpoint")
  }

  private func signer() throws(Unprepared) -> DeveloperCredentialsCache.Signer {
    if let command = settings.credentialProcess {
      let key = DeveloperCredentialsCache.Key(backend: called.name, command: command)
      return try inputs.signer(for: key, timeout: called.settings.timeout)
    }
    let file = try inputs.file(
      ifNamed: settings.credentialsFile, as: .lines, key: "credentials_file", for: upstream)
    return try upstream.checked { () throws(InvalidInput) in
      let found =
        if let file, let path = settings.credentialsFile {
          try DeveloperCredentials(file: file, section: settings.credentialsProfile, path: path)
        } else {
          try DeveloperCredentials(environment: services.queries.environment)
        }
      // These keys are read anew for each call.
      return DeveloperCredentialsCache.Signer(signer: found.signer, isKept: false)
    }
  }
}
