import CredCore

/// Ends a session at its user pool: only on this host, or everywhere.
extension UserPoolExchanges {
  func signOut(_ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void) {
    guard let session = signOut.providerSession, !session.refreshToken.isEmpty else {
      // Without a refresh token there is nothing to revoke, and no means to sign out.
      let failure = signOut.isGlobal ? signOut.noSession : nil
      return sender.later { done(failure) }
    }
    let finish = { (failure: UpstreamFailure?) in
      done(failure?.remedy == .alreadyDone ? nil : failure)
    }
    client(for: session) { client in
      switch client {
      case .failure(let failure): sender.later { finish(failure) }
      case .success(let client) where !signOut.isGlobal:
        revoke(session.refreshToken, withSSO: signOut.endsSSO, client, finish)
      case .success(let client):
        signOutGlobally(session, client) { failure, refreshToken in
          guard signOut.endsSSO, failure == nil else { return finish(failure) }
          // The sign-out everywhere ends tokens, not the browser's session.
          revoke(refreshToken, withSSO: true, client, finish)
        }
      }
    }
  }

  private func revoke(
    _ refreshToken: Secret, withSSO: Bool, _ client: UserPoolClient,
    _ done: @escaping (UpstreamFailure?) -> Void
  ) {
    let exchange = self.exchange(
      client.revoke(refreshToken: refreshToken, withSSO: withSSO), client,
      secrets: [refreshToken], operation: "revoke"
    ) { reply throws(UpstreamFailure) in try client.endedSession(reply) }
    called.send(exchange) { done($0.failure) }
  }

  /// A global sign-out needs an access token. A held one may have been revoked: then the pool is
  /// asked for a new one.
  ///
  /// - Parameter done: also gets the last refresh token, which a renewal may have replaced.
  private func signOutGlobally(
    _ session: ProviderSession, _ client: UserPoolClient,
    _ done: @escaping (UpstreamFailure?, Secret) -> Void
  ) {
    guard let held = session.accessToken, held.usableUntil > clock.now else {
      return renewAndSignOut(session, client, done)
    }
    endEverywhere(held.token, client) { failure in
      switch failure?.remedy {
      case .newTokens, .alreadyDone: renewAndSignOut(session, client, done)
      default: done(failure, session.refreshToken)
      }
    }
  }

  private func renewAndSignOut(
    _ session: ProviderSession, _ client: UserPoolClient,
    way: PoolRenewalWay = .getTokensFromRefreshToken,
    _ done: @escaping (UpstreamFailure?, Secret) -> Void
  ) {
    let secret = session.refreshToken
    func renew(_ request: HTTPRequest) {
      called.sendTwice(
        renewal(request, session, client, operation: "renew") { tokens, _ in tokens }
      ) { result in
        switch result {
        case .success(let tokens):
          endEverywhere(tokens.access.token, client) { done($0, tokens.refresh ?? secret) }
        // The pool, or an emulator, does not know the new operation.
        case .failure(let failure)
        where failure.namesUnknownOperation && way == .getTokensFromRefreshToken:
          renewAndSignOut(session, client, way: .refreshTokenAuth, done)
        case .failure(let failure): done(failure, secret)
        }
      }
    }
    switch way {
    case .getTokensFromRefreshToken:
      renew(client.getTokens(refreshToken: secret, device: session.deviceKey))
    case .refreshTokenAuth:
      username(session.username, at: client) { user in
        switch user {
        case .failure(let failure): sender.later { done(failure, secret) }
        case .success(let user):
          renew(client.initiateAuth(refreshToken: secret, of: user, device: session.deviceKey))
        }
      }
    }
  }

  private func endEverywhere(
    _ token: Secret, _ client: UserPoolClient,
    _ done: @escaping (UpstreamFailure?) -> Void
  ) {
    let exchange = self.exchange(
      client.signOutGlobally(accessToken: token), client, secrets: [token],
      operation: "logout"
    ) { reply throws(UpstreamFailure) in try client.endedSession(reply) }
    called.send(exchange) { done($0.failure) }
  }
}

extension BackendSignOut {
  fileprivate var noSession: UpstreamFailure {
    UpstreamFailure(
      upstream: .backend(profile.settings.backend ?? ""), failureClass: .signInRequired,
      code: .signInRequired,
      message: "the user pool ended this session before; sign in again to sign out everywhere",
      severity: .expected)
  }
}
