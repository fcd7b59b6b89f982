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
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    findSigner { found in
      sender.loadCrypto(for: upstream) { crypto in
        done(
          Result { () throws(UpstreamFailure) in
            let found = try found.get()
            let host = try host(of: query.pool)
            let clock = called.memory.signatureClock
            let signed = clock.now(at: host.url)
            let request = try request(query, user, found.signer, try crypto.get(), host, at: signed)
            // Whether another time of signing may help.
            var isOtherTime = false
            var exchange = Exchange(
              request: request, settings: AWSExchanges.settings(of: called.profile, at: origin),
              upstream: upstream, secrets: query.logins.logins.map(\.token)
            ) { reply throws(UpstreamFailure) in
              try outcome(of: reply) {
                isOtherTime = clock.refused(signed: signed, by: host.url, at: reply.date)
              }
            }
            exchange.isRepeated = { failure in
              failure.signatureFault == .time ? isOtherTime : keysWereRefused(failure, found)
            }
            // It is Cognito that answers, whoever's the signature is.
            exchange.tellsTime = true
            return .exchange(exchange)
          })
      }
    }
  }

  private func outcome(
    of reply: HTTPReply, timeRefused: () -> Void
  ) throws(UpstreamFailure) -> UpstreamOutcome {
    do throws(UpstreamFailure) {
      return UpstreamOutcome(
        try CognitoIdentity.developerToken(from: reply, backend: called.name), clock)
    } catch {
      if error.signatureFault == .time { timeRefused() }
      throw error
    }
  }

  /// Drops the keys of a process that AWS refused. Keys that were there before the call may be out of
  /// date: it is made once more, with new ones.
  private func keysWereRefused(
    _ failure: UpstreamFailure, _ found: DeveloperCredentialsCache.Signer
  ) -> Bool {
    guard failure.signatureFault == .keys, let command = settings.credentialProcess else {
      return false
    }
    called.memory.developerCredentials.refused(
      found.signer, for: DeveloperCredentialsCache.Key(backend: called.name, command: command))
    return found.isKept
  }

  private func request(
    _ query: TokenQuery, _ user: UnixUser, _ signer: SigV4, _ crypto: any Crypto, _ host: AWSHost,
    at time: WallTime
  ) throws(UpstreamFailure) -> HTTPRequest {
    try upstream.checked { () throws(InvalidInput) in
      var tags: [(name: String, value: String)] = []
      for (name, template) in settings.principalTags.sorted(by: { $0.key < $1.key }) {
        tags.append((name, try sender.expand(template, user, "principal_tags.\(name)")))
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
  private func host(of pool: IdentityPoolID) throws(UpstreamFailure) -> AWSHost {
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

  private func findSigner(_ done: @escaping Completion<DeveloperCredentialsCache.Signer>) {
    if let command = settings.credentialProcess {
      let key = DeveloperCredentialsCache.Key(backend: called.name, command: command)
      return called.memory.developerCredentials.signer(
        for: key, timeout: called.settings.timeout, done)
    }
    let queries = sender.services.queries
    sender.readFileIfNamed(
      settings.credentialsFile, as: .lines, key: "credentials_file", for: upstream
    ) { file in
      done(
        Result { () throws(UpstreamFailure) in
          let file = try file.get()
          return try upstream.checked { () throws(InvalidInput) in
            let found =
              if let file, let path = settings.credentialsFile {
                try DeveloperCredentials(
                  file: file, section: settings.credentialsProfile, path: path)
              } else {
                try DeveloperCredentials(environment: queries.environment)
              }
            // These keys are read anew for each call.
            return DeveloperCredentialsCache.Signer(signer: found.signer, isKept: false)
          }
        })
    }
  }
}

extension DeveloperCredentialsCache {
  /// Runs the commands of `credential_process`.
  convenience init(_ services: UpstreamServices, random: any RandomNumberGenerator) {
    self.init(clock: services.clock, random: random) { key, timeout, done in
      let upstream = Upstream.backend(key.backend)
      let command = Command(
        key.command, environment: Command.environment([:]), input: Secret([]), timeout: timeout)
      services.commands.run(command) { output in
        done(
          Result { () throws(UpstreamFailure) in
            guard case .exited(0) = output.ending else { throw .exec(output, from: upstream) }
            return try upstream.checked { () throws(InvalidInput) in
              try DeveloperCredentials(processOutput: output.standardOutput)
            }
          })
      }
    }
  }
}
