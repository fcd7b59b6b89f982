import CredCore

/// Backends of type `cognito`: credd holds developer credentials and signs by itself.
extension UpstreamClient {
  func cognitoToken(
    _ settings: CognitoBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ profile: Profile, _ user: UnixUser, _ done: @escaping Completion<PreparedCall>
  ) {
    let upstream = Upstream.backend(backend.name)
    developerSigner(settings, backend) { [unowned self] found in
      loadCrypto(for: upstream) { [unowned self] crypto in
        done(
          Result { () throws(UpstreamFailure) in
            let found = try found.get()
            let request = try developerRequest(
              settings, query, profile, user, found.signer, try crypto.get(), upstream)
            var exchange = Exchange(
              request: request, settings: awsSettings(profile), upstream: upstream,
              secrets: query.logins.logins.map(\.token)
            ) { [unowned self] reply throws(UpstreamFailure) in
              outcome(try CognitoIdentity.developerToken(from: reply, backend: backend.name))
            }
            exchange.isRepeated = { [unowned self] failure in
              keysWereRefused(failure, found, settings, backend)
            }
            return .exchange(exchange)
          })
      }
    }
  }

  /// Drops the keys of a process that AWS refused. Keys that were there before the call may be out of
  /// date: it is made once more, with new ones.
  private func keysWereRefused(
    _ failure: UpstreamFailure, _ found: DeveloperCredentialsCache.Signer,
    _ settings: CognitoBackendSettings, _ backend: BackendSettings
  ) -> Bool {
    guard failure.isOfDeveloperKeys, let command = settings.credentialProcess else { return false }
    developerCredentials.refused(
      found.signer, for: DeveloperCredentialsCache.Key(backend: backend.name, command: command))
    return found.isKept
  }

  private func developerRequest(
    _ settings: CognitoBackendSettings, _ query: TokenQuery, _ profile: Profile,
    _ user: UnixUser, _ signer: SigV4, _ crypto: any Crypto, _ upstream: Upstream
  ) throws(UpstreamFailure) -> HTTPRequest {
    try Self.checked(upstream) { () throws(InvalidInput) in
      var tags: [(name: String, value: String)] = []
      for (name, template) in settings.principalTags.sorted(by: { $0.key < $1.key }) {
        tags.append((name, try expand(template, user, "principal_tags.\(name)")))
      }
      var cognito = profile.cognito
      if let custom = settings.cognitoEndpoint {
        cognito = CognitoIdentity(
          try AWSEndpoint(.cognitoIdentity, region: profile.pool.region, custom: custom.text))
      }
      return try cognito.getOpenIDTokenForDeveloperIdentity(
        CognitoIdentity.DeveloperTokenQuery(
          pool: query.pool, identity: query.identity, provider: query.developerProvider,
          userIdentifier: query.userIdentifier, linked: query.logins,
          tokenDuration: Int(settings.tokenDuration.inSeconds), principalTags: tags),
        signer: signer, digests: crypto, now: services.clock.wallTime)
    }
  }

  private func developerSigner(
    _ settings: CognitoBackendSettings, _ backend: BackendSettings,
    _ done: @escaping Completion<DeveloperCredentialsCache.Signer>
  ) {
    if let command = settings.credentialProcess {
      let key = DeveloperCredentialsCache.Key(backend: backend.name, command: command)
      return developerCredentials.signer(for: key, timeout: backend.timeout, done)
    }
    let upstream = Upstream.backend(backend.name)
    let queries = services.queries
    readFileIfNamed(settings.credentialsFile, key: "credentials_file", for: upstream) { file in
      done(
        Result { () throws(UpstreamFailure) in
          let file = try file.get()
          return try Self.checked(upstream) { () throws(InvalidInput) in
            let found =
              if let file, let path = settings.credentialsFile {
                try DeveloperCredentials(
                  file: file, section: settings.credentialsProfile, path: path)
              } else {
                try DeveloperCredentials(environment: queries.environment)
              }
            // Read anew for each call.
            return DeveloperCredentialsCache.Signer(signer: found.signer, isKept: false)
          }
        })
    }
  }

  /// Runs a `credential_process`.
  static func makeDeveloperCredentials(
    _ services: Services, random: any RandomNumberGenerator
  ) -> DeveloperCredentialsCache {
    DeveloperCredentialsCache(clock: services.clock, random: random) { key, timeout, done in
      let upstream = Upstream.backend(key.backend)
      let command = Command(
        key.command, environment: environment([:]), input: Secret([]), timeout: timeout)
      services.commands.run(command) { output in
        done(
          Result { () throws(UpstreamFailure) in
            guard case .exited(0) = output.ending else { throw .exec(output, from: upstream) }
            return try checked(upstream) { () throws(InvalidInput) in
              try DeveloperCredentials(processOutput: output.standardOutput)
            }
          })
      }
    }
  }
}

/// Backends of type `aws-sample`.
extension UpstreamClient {
  func sampleToken(
    _ settings: AWSSampleBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ session: BackendSession?, _ done: @escaping Completion<PreparedCall>
  ) {
    let upstream = Upstream.backend(backend.name)
    guard let session = session.flatMap({ SampleSession(packed: $0.token) }) else {
      return done(.failure(.unfitSession(of: upstream)))
    }
    loadCrypto(for: upstream) { [unowned self] crypto in
      done(
        Result { () throws(UpstreamFailure) in
          let crypto = try crypto.get()
          let server = try Self.sampleServer(settings, backend)
          let request = server.request(
            query, session: session, digests: crypto, now: services.clock.wallTime)
          return .exchange(
            Exchange(
              request: request, settings: settings.httpSettings(timeout: backend.timeout),
              upstream: upstream, secrets: query.logins.logins.map(\.token) + [session.key]
            ) { [unowned self] reply throws(UpstreamFailure) in
              outcome(try server.reply(reply, to: query, session: session, cipher: crypto))
            })
        })
    }
  }

  func sampleSignIn(
    _ username: String, _ password: Secret, _ settings: AWSSampleBackendSettings,
    _ backend: BackendSettings, _ done: @escaping Completion<PreparedCall>
  ) {
    let upstream = Upstream.backend(backend.name)
    loadCrypto(for: upstream) { [unowned self] crypto in
      done(
        Result { () throws(UpstreamFailure) in
          let crypto = try crypto.get()
          let server = try Self.sampleServer(settings, backend)
          let uid = SampleSession.makeUID(using: &random)
          let signIn = try Self.checked(upstream) { () throws(InvalidInput) in
            try server.signIn(username: username, password: password, uid: uid, digests: crypto)
          }
          let request = server.request(signIn, digests: crypto, now: services.clock.wallTime)
          return .exchange(
            Exchange(
              request: request, settings: settings.httpSettings(timeout: backend.timeout),
              upstream: upstream, secrets: [password]
            ) { reply throws(UpstreamFailure) in
              let session = try server.session(from: reply, of: signIn, cipher: crypto)
              // The server wants the device's user name as the developer user identifier.
              return .signedIn(
                BackendSession(token: session.packed, developerUserIdentifier: username))
            })
        })
    }
  }

  static func sampleServer(
    _ settings: AWSSampleBackendSettings, _ backend: BackendSettings
  ) throws(UpstreamFailure) -> SampleServer {
    try Self.checked(.backend(backend.name)) { () throws(InvalidInput) in
      try SampleServer(
        backend: backend.name, url: settings.url.text, appName: settings.appName)
    }
  }
}

extension AWSSampleBackendSettings {
  func httpSettings(timeout: Duration) -> HTTPSettings {
    var http = HTTPSettings(timeout: timeout, replyLimit: Limits.Upstream.backendReplyBytes)
    http.caFile = caFile
    return http
  }
}
