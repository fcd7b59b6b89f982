import CredCore

/// Exchanges with a backend of type `http`.
struct HTTPExchanges: BackendExchanges {
  let settings: HTTPBackendSettings
  let called: CalledBackend

  init(_ settings: HTTPBackendSettings, _ called: CalledBackend) {
    self.settings = settings
    self.called = called
  }

  var httpSettings: HTTPSettings {
    var http = called.httpSettings
    http.clientCertificate = settings.clientCertificate
    http.clientKey = settings.clientKey
    http.unixSocket = settings.unixSocket
    return http
  }

  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let http = try http(parts.session)
    let request = try upstream.checked { () throws(InvalidInput) in
      try http.tokenRequest(
        query, method: settings.method, url: try services.expand(settings.url, user, "url"),
        isForced: parts.isForced)
    }
    return .exchange(
      Exchange(request: self.request(request, secrets: query.logins.logins.map(\.token))) {
        reply throws(UpstreamFailure) in
        called.memory.enrolments.note(reply, from: called.name)
        return UpstreamOutcome(
          try http.token(from: reply, to: query, isPersonal: parts.isPersonal), clock)
      })
  }

  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    guard let url = settings.loginURL, let provider = called.profile.settings.developerProvider
    else { preconditionFailure("a backend that takes passwords has a login_url") }
    let http = try http(nil)
    let request = try upstream.checked { () throws(InvalidInput) in
      try http.signInRequest(
        username: username, password: password, developerProvider: provider,
        url: try services.expand(url, user, "login_url"))
    }
    return .exchange(
      Exchange(request: self.request(request, to: "login_url", secrets: [password])) {
        reply throws(UpstreamFailure) in
        .signedIn(try http.session(from: reply))
      })
  }

  /// Does nothing if the backend has no `logout_url`.
  func signOut(_ signOut: BackendSignOut) throws(Unprepared) -> Prepared<Void> {
    guard let url = settings.logoutURL else { return .outcome(()) }
    guard let provider = called.profile.settings.developerProvider, let pool = called.profile.pool
    else { preconditionFailure("a profile with a backend has a developer provider, of its pool") }
    let http = try http(signOut.backendSession)
    let request = try upstream.checked { () throws(InvalidInput) in
      let known = signOut.backendSession?.developerUserIdentifier
      let query = TokenQuery(
        pool: pool, developerProvider: provider,
        userIdentifier: try called.identifier(known, of: signOut.user),
        identity: signOut.identityID)
      return try http.signOutRequest(
        query, url: try services.expand(url, signOut.user, "logout_url"))
    }
    return .exchange(
      Exchange(
        request: self.request(request, to: "logout_url", secrets: [], operation: "logout")
      ) { reply throws(UpstreamFailure) in
        try http.checkSignOut(reply)
      })
  }

  func account(_ call: AccountCall) throws(Unprepared) -> Prepared<AccountResult> {
    guard case .signUp(let signUp) = call.input, let url = settings.registerURL else {
      preconditionFailure("the profile refuses sign-ups without a register_url, and all else")
    }
    let http = try http(nil)
    let request = try upstream.checked { () throws(InvalidInput) in
      try http.signUpRequest(signUp, url: try services.expand(url, call.user, "register_url"))
    }
    return .exchange(
      Exchange(
        request: self.request(
          request, to: "register_url", secrets: signUp.secrets,
          operation: AccountAction.signUp.rawValue)
      ) { reply throws(UpstreamFailure) in
        .signedUp(try http.signUpResult(from: reply, to: signUp))
      })
  }

  /// The backend with the tokens to send: the host's own, and the user's session if there is one.
  private func http(_ session: BackendSession?) throws(Unprepared) -> HTTPBackend {
    let own = try inputs.file(
      ifNamed: settings.bearerTokenFile, as: .line, key: "bearer_token_file", for: upstream)
    let values = try inputs.values(of: settings.headerFiles, for: upstream)
    let headers = try upstream.checked { () throws(InvalidInput) in
      try HTTPHeader.checked(values)
    }
    return HTTPBackend(
      name: called.name, headers: settings.headers + headers, hostToken: own,
      sessionToken: session.flatMap { $0.token.isEmpty ? nil : $0.token },
      takesSignIns: settings.loginURL != nil)
  }
}
