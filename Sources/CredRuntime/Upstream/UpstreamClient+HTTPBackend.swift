internal import CredCore

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
