import CredCore

/// What a token callback carries of its session.
struct TokenQueryParts {
  let identityID: IdentityID?
  let logins: LoginsMap
  let session: BackendSession?
  var isForced = false
  var caller: CallerNote?
}

/// The requests to backends, by type.
extension UpstreamClient {
  func prepareToken(
    _ parts: TokenQueryParts, _ profile: Profile, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    let session = parts.session
    guard let backend = profile.backend, let provider = profile.settings.developerProvider else {
      return done(.failure(.unfitSession(of: .cognitoIdentity)))
    }
    let query: TokenQuery
    do throws(UpstreamFailure) {
      let identifier = try Self.checked(.backend(backend.name)) { () throws(InvalidInput) in
        // What is not sent needs no user name.
        guard backend.sendsUserIdentifier else { return "" }
        return try self.identifier(session?.developerUserIdentifier, of: user, profile)
      }
      query = TokenQuery(
        pool: profile.pool, developerProvider: provider, userIdentifier: identifier,
        identity: parts.identityID, logins: parts.logins, caller: parts.caller)
    } catch {
      return done(.failure(error))
    }
    switch backend.kind {
    case .http(let settings):
      httpToken(settings, backend, query, session, parts.isForced, user, done)
    case .exec(let settings): done(.success(execToken(settings, backend, query)))
    case .cognito(let settings): cognitoToken(settings, backend, query, profile, user, done)
    case .awsSample(let settings): sampleToken(settings, backend, query, session, done)
    // It gives no developer tokens, and no plan asks it for one.
    case .userPool, .oidc: done(.failure(.unfitSession(of: .backend(backend.name))))
    }
  }

  func prepareSignIn(
    _ username: String, _ password: Secret, _ profile: Profile, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    guard let backend = profile.backend, let provider = profile.settings.developerProvider else {
      preconditionFailure("the plan of a profile without a backend takes no passwords")
    }
    switch backend.kind {
    case .http(let settings):
      httpSignIn(username, password, provider, settings, backend, user, done)
    case .awsSample(let settings):
      sampleSignIn(username, password, settings, backend, done)
    case .exec, .cognito, .userPool, .oidc:
      preconditionFailure("the plan of a backend that trusts the host takes no passwords")
    }
  }

  // MARK: http

  private func httpToken(
    _ settings: HTTPBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ session: BackendSession?, _ isForced: Bool, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    let upstream = Upstream.backend(backend.name)
    http(settings, backend, session) { [unowned self] http in
      done(
        Result { () throws(UpstreamFailure) in
          let http = try http.get()
          let request = try Self.checked(upstream) { () throws(InvalidInput) in
            try http.tokenRequest(
              query, method: settings.method, url: try expand(settings.url, user, "url"),
              isForced: isForced)
          }
          return .exchange(
            Exchange(
              request: request, settings: settings.httpSettings(timeout: backend.timeout),
              upstream: upstream, secrets: query.logins.logins.map(\.token)
            ) { [unowned self] reply throws(UpstreamFailure) in
              outcome(try http.token(from: reply, to: query))
            })
        })
    }
  }

  private func httpSignIn(
    _ username: String, _ password: Secret, _ provider: String, _ settings: HTTPBackendSettings,
    _ backend: BackendSettings, _ user: UnixUser, _ done: @escaping Completion<PreparedCall>
  ) {
    guard let url = settings.loginURL else {
      preconditionFailure("a backend that takes passwords has a login_url")
    }
    let upstream = Upstream.backend(backend.name)
    http(settings, backend, nil) { [unowned self] http in
      done(
        Result { () throws(UpstreamFailure) in
          let http = try http.get()
          let request = try Self.checked(upstream) { () throws(InvalidInput) in
            try http.signInRequest(
              username: username, password: password, developerProvider: provider,
              url: try expand(url, user, "login_url"))
          }
          return .exchange(
            Exchange(
              request: request, settings: settings.httpSettings(timeout: backend.timeout),
              upstream: upstream, secrets: [password]
            ) { reply throws(UpstreamFailure) in
              .signedIn(try http.session(from: reply))
            })
        })
    }
  }

  /// Ends a session at its backend; does nothing if that has no `logout_url`.
  func signOutAtBackend(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    switch signOut.profile.backend?.kind {
    case .userPool: return signOutAtPool(signOut, done)
    case .oidc: return signOutAtProvider(signOut, done)
    default: break
    }
    guard let backend = signOut.profile.backend, case .http(let settings) = backend.kind,
      let url = settings.logoutURL
    else { return later { done(nil) } }
    http(settings, backend, signOut.backendSession) { [unowned self] http in
      do throws(UpstreamFailure) {
        let exchange = try signOutExchange(signOut, settings, backend, url, try http.get())
        send(exchange) { result in
          done(result.failure)
        }
      } catch {
        later { done(error) }
      }
    }
  }

  /// Makes an account, where the profile's backend does that.
  func signUpAtBackend(
    _ signUp: SignUp, _ user: UnixUser, _ backend: BackendSettings,
    _ done: @escaping Completion<SignUpResult>
  ) {
    let upstream = Upstream.backend(backend.name)
    switch backend.kind {
    case .http(let settings):
      guard let url = settings.registerURL else {
        preconditionFailure("the profile refuses sign-ups without a register_url")
      }
      http(settings, backend, nil) { [unowned self] http in
        perform(done) { () throws(UpstreamFailure) in
          let http = try http.get()
          let request = try Self.checked(upstream) { () throws(InvalidInput) in
            try http.signUpRequest(signUp, url: try expand(url, user, "register_url"))
          }
          return Exchange(
            request: request, settings: settings.httpSettings(timeout: backend.timeout),
            upstream: upstream, secrets: signUp.secrets, operation: AccountAction.signUp.rawValue
          ) { reply throws(UpstreamFailure) in try http.signUpResult(from: reply, to: signUp) }
        }
      }
    case .awsSample(let settings):
      perform(done) { () throws(UpstreamFailure) in
        let server = try Self.sampleServer(settings, backend)
        let request = try Self.checked(upstream) { () throws(InvalidInput) in
          try server.request(signUp)
        }
        return Exchange(
          request: request, settings: settings.httpSettings(timeout: backend.timeout),
          upstream: upstream, secrets: signUp.secrets, operation: AccountAction.signUp.rawValue
        ) { reply throws(UpstreamFailure) in try server.signUpResult(from: reply, to: signUp) }
      }
    case .exec, .cognito, .userPool, .oidc:
      preconditionFailure("the profile refuses sign-ups that its backend does not do")
    }
  }

  /// Sends what can be made into a request; the result comes later in any case.
  private func perform<Outcome>(
    _ done: @escaping Completion<Outcome>,
    _ exchange: () throws(UpstreamFailure) -> Exchange<Outcome>
  ) {
    do throws(UpstreamFailure) {
      send(try exchange(), done)
    } catch {
      later { done(.failure(error)) }
    }
  }

  private func signOutExchange(
    _ signOut: BackendSignOut, _ settings: HTTPBackendSettings, _ backend: BackendSettings,
    _ url: URLTemplate, _ http: HTTPBackend
  ) throws(UpstreamFailure) -> Exchange<Void> {
    let upstream = Upstream.backend(backend.name)
    let profile = signOut.profile
    guard let provider = profile.settings.developerProvider else {
      preconditionFailure("a profile with a backend has a developer provider")
    }
    let request = try Self.checked(upstream) { () throws(InvalidInput) in
      let known = signOut.backendSession?.developerUserIdentifier
      let query = TokenQuery(
        pool: profile.pool, developerProvider: provider,
        userIdentifier: try identifier(known, of: signOut.user, profile),
        identity: signOut.identityID)
      return try http.signOutRequest(query, url: try expand(url, signOut.user, "logout_url"))
    }
    return Exchange(
      request: request, settings: settings.httpSettings(timeout: backend.timeout),
      upstream: upstream, operation: "logout"
    ) { reply throws(UpstreamFailure) in
      try http.checkSignOut(reply)
    }
  }

  /// The backend with the tokens that it gets: the host's own, and the user's session where there is
  /// one.
  private func http(
    _ settings: HTTPBackendSettings, _ backend: BackendSettings, _ session: BackendSession?,
    _ done: @escaping Completion<HTTPBackend>
  ) {
    let upstream = Upstream.backend(backend.name)
    let token = session.flatMap { $0.token.isEmpty ? nil : $0.token }
    readFileIfNamed(settings.bearerTokenFile, key: "bearer_token_file", for: upstream) { own in
      done(
        own.map {
          HTTPBackend(
            name: backend.name, headers: settings.headers, hostToken: $0, sessionToken: token,
            takesSignIns: settings.loginURL != nil)
        })
    }
  }

  // MARK: exec

  private func execToken(
    _ settings: ExecBackendSettings, _ backend: BackendSettings, _ query: TokenQuery
  ) -> PreparedCall {
    let exec = ExecBackend(name: backend.name)
    let command = Command(
      settings.command, environment: Self.environment(settings.environment),
      input: exec.standardInput(query), timeout: backend.timeout)
    return .command(command) { [unowned self] output throws(UpstreamFailure) in
      outcome(try exec.token(from: output, to: query))
    }
  }

  /// A command sees nothing of credd's own environment.
  static func environment(_ settings: [String: Secret]) -> [(name: String, value: Secret)] {
    var environment = settings
    environment["PATH"] = settings["PATH"] ?? Secret("/usr/local/bin:/usr/bin:/bin")
    return environment.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }
}

extension HTTPBackendSettings {
  func httpSettings(timeout: Duration) -> HTTPSettings {
    var settings = HTTPSettings(timeout: timeout, replyLimit: Limits.Upstream.backendReplyBytes)
    settings.caFile = caFile
    settings.clientCertificate = clientCertificate
    settings.clientKey = clientKey
    settings.unixSocket = unixSocket
    return settings
  }
}
