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
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    http(parts.session) { http in
      done(
        Result { () throws(UpstreamFailure) in
          let http = try http.get()
          let request = try upstream.checked { () throws(InvalidInput) in
            try http.tokenRequest(
              query, method: settings.method, url: try sender.expand(settings.url, user, "url"),
              isForced: parts.isForced)
          }
          return .exchange(
            exchange(request, secrets: query.logins.logins.map(\.token)) {
              reply throws(UpstreamFailure) in
              called.memory.enrolments.note(reply, from: called.name)
              return UpstreamOutcome(
                try http.token(from: reply, to: query, isPersonal: parts.isPersonal), clock)
            })
        })
    }
  }

  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    guard let url = settings.loginURL, let provider = called.profile.settings.developerProvider
    else { preconditionFailure("a backend that takes passwords has a login_url") }
    http(nil) { http in
      done(
        Result { () throws(UpstreamFailure) in
          let http = try http.get()
          let request = try upstream.checked { () throws(InvalidInput) in
            try http.signInRequest(
              username: username, password: password, developerProvider: provider,
              url: try sender.expand(url, user, "login_url"))
          }
          return .exchange(
            exchange(request, to: "login_url", secrets: [password]) {
              reply throws(UpstreamFailure) in
              .signedIn(try http.session(from: reply))
            })
        })
    }
  }

  /// Does nothing if the backend has no `logout_url`.
  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    guard let url = settings.logoutURL else { return sender.later { done(nil) } }
    http(signOut.backendSession) { http in
      do throws(UpstreamFailure) {
        let exchange = try signOutExchange(signOut, url, try http.get())
        called.send(exchange) { result in
          done(result.failure)
        }
      } catch {
        sender.later { done(error) }
      }
    }
  }

  private func signOutExchange(
    _ signOut: BackendSignOut, _ url: URLTemplate, _ http: HTTPBackend
  ) throws(UpstreamFailure) -> Exchange<Void> {
    guard let provider = called.profile.settings.developerProvider, let pool = called.profile.pool
    else { preconditionFailure("a profile with a backend has a developer provider, of its pool") }
    let request = try upstream.checked { () throws(InvalidInput) in
      let known = signOut.backendSession?.developerUserIdentifier
      let query = TokenQuery(
        pool: pool, developerProvider: provider,
        userIdentifier: try called.identifier(known, of: signOut.user),
        identity: signOut.identityID)
      return try http.signOutRequest(query, url: try sender.expand(url, signOut.user, "logout_url"))
    }
    return exchange(request, to: "logout_url", secrets: [], operation: "logout") {
      reply throws(UpstreamFailure) in
      try http.checkSignOut(reply)
    }
  }

  func account(_ call: AccountCall, _ done: @escaping Completion<AccountResult>) {
    guard case .signUp(let signUp) = call.input, let url = settings.registerURL else {
      preconditionFailure("the profile refuses sign-ups without a register_url, and all else")
    }
    http(nil) { http in
      called.send(done) { () throws(UpstreamFailure) in
        let http = try http.get()
        let request = try upstream.checked { () throws(InvalidInput) in
          try http.signUpRequest(signUp, url: try sender.expand(url, call.user, "register_url"))
        }
        return exchange(
          request, to: "register_url", secrets: signUp.secrets,
          operation: AccountAction.signUp.rawValue
        ) { reply throws(UpstreamFailure) in
          .signedUp(try http.signUpResult(from: reply, to: signUp))
        }
      }
    }
  }

  /// The backend with the tokens to send: the host's own, and the user's session if there is one.
  private func http(_ session: BackendSession?, _ done: @escaping Completion<HTTPBackend>) {
    let token = session.flatMap { $0.token.isEmpty ? nil : $0.token }
    sender.readFileIfNamed(
      settings.bearerTokenFile, as: .line, key: "bearer_token_file", for: upstream
    ) { own in
      sender.readValues(settings.headerFiles[...], for: upstream) { values in
        done(
          Result { () throws(UpstreamFailure) in
            let (own, values) = (try own.get(), try values.get())
            let headers = try upstream.checked { () throws(InvalidInput) in
              try HTTPHeader.checked(values)
            }
            return HTTPBackend(
              name: called.name, headers: settings.headers + headers, hostToken: own,
              sessionToken: token, takesSignIns: settings.loginURL != nil)
          })
      }
    }
  }
}
