import CredCore

/// Backends of type `cognito`: credd holds developer credentials and signs by itself.
extension UpstreamClient {
  func cognitoToken(
    _ settings: CognitoBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ profile: Profile, _ user: UnixUser, _ done: @escaping Completion<PreparedCall>
  ) {
    let upstream = Upstream.backend(backend.name)
    developerSigner(settings, backend) { [unowned self] signer in
      loadCrypto(for: upstream) { [unowned self] crypto in
        done(
          Result { () throws(UpstreamFailure) in
            let request = try developerRequest(
              settings, query, profile, user, try signer.get(), try crypto.get(), upstream)
            return .exchange(
              Exchange(request: request, settings: awsSettings(profile), upstream: upstream) {
                [unowned self] reply throws(UpstreamFailure) in
                outcome(try CognitoIdentity.developerToken(from: reply, backend: backend.name))
              })
          })
      }
    }
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

  /// Credentials of a process are replaced when they expire within this time.
  private static let developerMargin: Duration = .seconds(5 * 60)

  private func developerSigner(
    _ settings: CognitoBackendSettings, _ backend: BackendSettings,
    _ done: @escaping Completion<SigV4>
  ) {
    if let command = settings.credentialProcess { return processSigner(command, backend, done) }
    let upstream = Upstream.backend(backend.name)
    let queries = services.queries
    readFileIfNamed(settings.credentialsFile, key: "credentials_file", for: upstream) { file in
      done(
        Result { () throws(UpstreamFailure) in
          let file = try file.get()
          return try Self.checked(upstream) { () throws(InvalidInput) in
            guard let file, let path = settings.credentialsFile else {
              return try DeveloperCredentials(environment: queries.environment).signer
            }
            return try DeveloperCredentials(
              file: file, section: settings.credentialsProfile, path: path
            ).signer
          }
        })
    }
  }

  private func processSigner(
    _ command: [String], _ backend: BackendSettings, _ done: @escaping Completion<SigV4>
  ) {
    if let known = developerCredentials[backend.name],
      known.expiration.map({ $0 - services.clock.wallTime > Self.developerMargin }) ?? true
    {
      return done(.success(known.signer))
    }
    let upstream = Upstream.backend(backend.name)
    let command = Command(
      command, environment: Self.environment([:]), input: Secret([]), timeout: backend.timeout)
    services.commands.run(command) { [unowned self, generation] output in
      done(
        Result { () throws(UpstreamFailure) in
          guard case .exited(0) = output.ending else { throw .exec(output, from: upstream) }
          let fresh = try Self.checked(upstream) { () throws(InvalidInput) in
            try DeveloperCredentials(processOutput: output.standardOutput)
          }
          // The backend may be another one since a reload.
          if generation == self.generation { developerCredentials[backend.name] = fresh }
          return fresh.signer
        })
    }
  }
}

/// Backends of type `aws-sample`.
extension UpstreamClient {
  func sampleToken(
    _ settings: AWSSampleBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ session: BackendSession?, _ done: @escaping Completion<PreparedCall>
  ) {
    guard let session = session.flatMap({ SampleSession(packed: $0.token) }) else {
      preconditionFailure("a session of this backend was made by its own sign-in")
    }
    let upstream = Upstream.backend(backend.name)
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
              upstream: upstream
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
              upstream: upstream
            ) { reply throws(UpstreamFailure) in
              let session = try server.session(from: reply, of: signIn, cipher: crypto)
              // The server wants the device's user name as the developer user identifier.
              return .signedIn(
                BackendSession(token: session.packed, developerUserIdentifier: username))
            })
        })
    }
  }

  private static func sampleServer(
    _ settings: AWSSampleBackendSettings, _ backend: BackendSettings
  ) throws(UpstreamFailure) -> SampleServer {
    try Self.checked(.backend(backend.name)) { () throws(InvalidInput) in
      try SampleServer(
        backend: backend.name, url: settings.url.text, appName: settings.appName)
    }
  }
}

extension AWSSampleBackendSettings {
  fileprivate func httpSettings(timeout: Duration) -> HTTPSettings {
    var http = HTTPSettings(timeout: timeout, replyLimit: Limits.Upstream.backendReplyBytes)
    http.caFile = caFile
    return http
  }
}
