import CredCore

/// Exchanges with a backend of type `aws-sample`.
struct SampleExchanges: BackendExchanges {
  let settings: AWSSampleBackendSettings
  let called: CalledBackend

  init(_ settings: AWSSampleBackendSettings, _ called: CalledBackend) {
    self.settings = settings
    self.called = called
  }

  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    guard let session = parts.session.flatMap({ SampleSession(packed: $0.token) }) else {
      throw .failed(.unfitSession(of: upstream))
    }
    let (crypto, server) = (try inputs.crypto(for: upstream), try server())
    let request = server.request(query, session: session, digests: crypto, now: clock.wallTime)
    let secrets = query.logins.logins.map(\.token) + [session.key]
    return .exchange(
      Exchange(request: self.request(request, secrets: secrets)) { reply throws(UpstreamFailure) in
        UpstreamOutcome(
          try server.reply(reply, to: query, session: session, cipher: crypto), clock)
      })
  }

  func signIn(
    _ username: String, _ password: Secret, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let (crypto, server) = (try inputs.crypto(for: upstream), try server())
    let uid = SampleSession.makeUID(using: &called.memory.random)
    let signIn = try upstream.checked { () throws(InvalidInput) in
      try server.signIn(username: username, password: password, uid: uid, digests: crypto)
    }
    let request = server.request(signIn, digests: crypto, now: clock.wallTime)
    return .exchange(
      Exchange(request: self.request(request, secrets: [password])) {
        reply throws(UpstreamFailure) in
        let session = try server.session(from: reply, of: signIn, cipher: crypto)
        // The server requires the device's user name as the developer user identifier.
        return .signedIn(BackendSession(token: session.packed, developerUserIdentifier: username))
      })
  }

  func account(_ call: AccountCall) throws(Unprepared) -> Prepared<AccountResult> {
    guard case .signUp(let signUp) = call.input else {
      preconditionFailure("the profile refuses what its backend does not do")
    }
    let server = try server()
    let request = try upstream.checked { () throws(InvalidInput) in try server.request(signUp) }
    return .exchange(
      Exchange(
        request: self.request(
          request, secrets: signUp.secrets, operation: AccountAction.signUp.rawValue)
      ) { reply throws(UpstreamFailure) in
        .signedUp(try server.signUpResult(from: reply, to: signUp))
      })
  }

  private func server() throws(Unprepared) -> SampleServer {
    try upstream.checked { () throws(InvalidInput) in
      try SampleServer(
        backend: called.name, url: settings.url.text, appName: settings.appName)
    }
  }
}
