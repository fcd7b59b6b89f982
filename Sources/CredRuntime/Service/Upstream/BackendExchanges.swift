internal import CredCore
internal import Glibc

/// Backends of type `http`.
extension UpstreamClient {
  func ask(
    _ settings: HTTPBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ session: BackendSession?, _ user: User
  ) async throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(backend.name)
    let (callback, request) = try Self.usable(upstream) { () throws(InvalidInput) in
      let callback = HTTPCallback(
        backend: backend.name, method: settings.method == .get ? .get : .post,
        url: try expand(settings.url, user, "url"), headers: try settings.checkedHeaders(),
        bearer: try bearer(settings, session))
      return (callback, try callback.request(query))
    }
    return try callback.reply(
      await send(request, settings.httpSettings(timeout: backend.timeout), to: upstream), to: query)
  }

  func signIn(
    _ username: String, _ password: Secret, _ provider: String, _ settings: HTTPBackendSettings,
    _ backend: BackendSettings, _ user: User
  ) async throws(UpstreamFailure) -> BackendSession {
    let upstream = Upstream.backend(backend.name)
    guard let url = settings.loginURL else {
      preconditionFailure("a backend that takes passwords has a login_url")
    }
    let (call, request) = try Self.usable(upstream) { () throws(InvalidInput) in
      let call = PasswordSignIn(
        backend: backend.name, url: try expand(url, user, "login_url"),
        headers: try settings.checkedHeaders(), bearer: try bearer(settings, nil))
      return (
        call,
        try call.request(username: username, password: password, developerProvider: provider)
      )
    }
    let session = try call.session(
      from: await send(request, settings.httpSettings(timeout: backend.timeout), to: upstream))
    return BackendSession(
      token: session.token, developerUserIdentifier: session.userIdentifier)
  }

  /// Tells the backend that a user has signed out; nothing happens where it has no `logout_url`.
  func signOut(_ farewell: Farewell) async -> UpstreamFailure? {
    let profile = farewell.profile
    guard let backend = profile.backend, case .http(let settings) = backend.kind,
      let template = settings.logoutURL, let provider = profile.settings.developerProvider
    else { return nil }
    let upstream = Upstream.backend(backend.name)
    do throws(UpstreamFailure) {
      let (call, request) = try Self.usable(upstream) { () throws(InvalidInput) in
        let known = farewell.backendSession?.developerUserIdentifier
        let query = TokenQuery(
          pool: profile.pool, developerProvider: provider,
          userIdentifier: try identifier(known, of: farewell.user, profile),
          identity: farewell.identityID)
        let call = SignOutCall(
          backend: backend.name, url: try expand(template, farewell.user, "logout_url"),
          headers: try settings.checkedHeaders(),
          bearer: try bearer(settings, farewell.backendSession))
        return (call, try call.request(query))
      }
      try call.check(
        await send(request, settings.httpSettings(timeout: backend.timeout), to: upstream))
      return nil
    } catch {
      return error
    }
  }

  /// The user's own session with the backend, else credd's token for it.
  private func bearer(
    _ settings: HTTPBackendSettings, _ session: BackendSession?
  ) throws(InvalidInput) -> Secret? {
    if let session, !session.token.isEmpty { return session.token }
    guard let path = settings.bearerTokenFile else { return nil }
    return try SecretFile.read(path, as: "bearer_token_file")
  }
}

/// Backends of the types `exec`, `cognito` and `aws-sample`.
extension UpstreamClient {
  // MARK: exec

  func ask(
    _ settings: ExecBackendSettings, _ backend: BackendSettings, _ query: TokenQuery
  ) async throws(UpstreamFailure) -> TokenReply {
    let callback = ExecCallback(backend: backend.name)
    let outcome = await commands.run(
      settings.command, environment: Self.environment(settings.environment),
      input: callback.standardInput(query), timeout: backend.timeout)
    return try callback.reply(outcome, to: query)
  }

  /// A command sees nothing of credd's own environment.
  private static func environment(_ settings: [String: Secret]) -> [(name: String, value: Secret)] {
    var environment = settings
    environment["PATH"] = settings["PATH"] ?? Secret("/usr/local/bin:/usr/bin:/bin")
    return environment.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }

  // MARK: cognito

  func ask(
    _ settings: CognitoBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ profile: Profile, _ user: User
  ) async throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(backend.name)
    let signer = try await developerSigner(settings, backend)
    let crypto = try await crypto(for: upstream)
    let request = try Self.usable(upstream) { () throws(InvalidInput) in
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
        signer: signer, digests: crypto, now: loop.wallTime)
    }
    return try CognitoIdentity.developerToken(
      from: await send(request, awsSettings(profile), to: upstream), backend: backend.name)
  }

  /// Credentials of a process are asked for anew when they have less than this left.
  private static let developerMargin: Duration = .seconds(5 * 60)

  private func developerSigner(
    _ settings: CognitoBackendSettings, _ backend: BackendSettings
  ) async throws(UpstreamFailure) -> SigV4 {
    let upstream = Upstream.backend(backend.name)
    if let command = settings.credentialProcess {
      return try await processSigner(command, backend)
    }
    return try Self.usable(upstream) { () throws(InvalidInput) in
      guard let path = settings.credentialsFile else {
        return try DeveloperCredentials(environment: Self.environmentVariable).signer
      }
      return try DeveloperCredentials(
        file: SecretFile.read(path, as: "credentials_file"), section: settings.credentialsProfile,
        path: path
      ).signer
    }
  }

  private func processSigner(
    _ command: [String], _ backend: BackendSettings
  ) async throws(UpstreamFailure) -> SigV4 {
    if let known = developerCredentials[backend.name],
      known.expiration.map({ $0 - loop.wallTime > Self.developerMargin }) ?? true
    {
      return known.signer
    }
    let outcome = await commands.run(
      command, environment: Self.environment([:]), input: Secret([]), timeout: backend.timeout)
    guard case .exited(0) = outcome.ending else {
      throw .exec(outcome, from: .backend(backend.name))
    }
    let fresh = try Self.usable(.backend(backend.name)) { () throws(InvalidInput) in
      try DeveloperCredentials(processOutput: outcome.standardOutput)
    }
    developerCredentials[backend.name] = fresh
    return fresh.signer
  }

  private static func environmentVariable(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  // MARK: aws-sample

  func ask(
    _ settings: AWSSampleBackendSettings, _ backend: BackendSettings, _ query: TokenQuery,
    _ session: BackendSession?
  ) async throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(backend.name)
    guard let session = session.flatMap({ SampleSession(packed: $0.token) }) else {
      preconditionFailure("a session of this backend was made by its own sign-in")
    }
    let server = try sampleServer(settings, backend)
    let crypto = try await crypto(for: upstream)
    let request = server.request(query, session: session, digests: crypto, now: loop.wallTime)
    return try server.reply(
      await send(request, settings.httpSettings(timeout: backend.timeout), to: upstream),
      to: query, session: session, cipher: crypto)
  }

  func signIn(
    _ username: String, _ password: Secret, _ settings: AWSSampleBackendSettings,
    _ backend: BackendSettings
  ) async throws(UpstreamFailure) -> BackendSession {
    let upstream = Upstream.backend(backend.name)
    let server = try sampleServer(settings, backend)
    let crypto = try await crypto(for: upstream)
    var random = SystemRandomNumberGenerator()
    let uid = SampleSession.makeUID(using: &random)
    let signIn = try Self.usable(upstream) { () throws(InvalidInput) in
      try server.signIn(username: username, password: password, uid: uid, digests: crypto)
    }
    let request = server.request(signIn, digests: crypto, now: loop.wallTime)
    let session = try server.session(
      from: await send(request, settings.httpSettings(timeout: backend.timeout), to: upstream),
      of: signIn, cipher: crypto)
    // The server wants the device's user name as the developer user identifier.
    return BackendSession(token: session.packed, developerUserIdentifier: username)
  }

  private func sampleServer(
    _ settings: AWSSampleBackendSettings, _ backend: BackendSettings
  ) throws(UpstreamFailure) -> SampleServer {
    try Self.usable(.backend(backend.name)) { () throws(InvalidInput) in
      try SampleServer(
        backend: backend.name, url: settings.url.text, appName: settings.appName)
    }
  }
}

extension AWSSampleBackendSettings {
  fileprivate func httpSettings(timeout: Duration) -> HTTPSettings {
    var http = HTTPSettings(timeout: timeout, replyLimit: Limits.backendReplyBytes)
    http.caFile = caFile
    return http
  }
}

extension HTTPBackendSettings {
  func httpSettings(timeout: Duration) -> HTTPSettings {
    var settings = HTTPSettings(timeout: timeout, replyLimit: Limits.backendReplyBytes)
    settings.caFile = caFile
    settings.clientCertificate = clientCertificate
    settings.clientKey = clientKey
    settings.unixSocket = unixSocket
    return settings
  }

  func checkedHeaders() throws(InvalidInput) -> [HTTPHeader] {
    var checked: [HTTPHeader] = []
    for header in headers {
      checked.append(try HTTPHeader(checkingName: header.name, value: header.value))
    }
    return checked
  }
}
