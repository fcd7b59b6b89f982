import CredCore

/// Ends a session at its user pool: only on this host, or everywhere.
extension UserPoolExchanges {
  func signOut(_ signOut: BackendSignOut) throws(Unprepared) -> Prepared<Void> {
    guard let session = signOut.providerSession, !session.refreshToken.isEmpty else {
      // Without a refresh token there is nothing to revoke, and no means to sign out.
      if signOut.isGlobal { throw .failed(signOut.noSession) }
      return .outcome(())
    }
    let client = try client(for: session)
    guard !signOut.isGlobal else {
      return try GlobalSignOut(
        exchanges: self, client: client, session: session, endsSSO: signOut.endsSSO
      ).begun()
    }
    return .exchange(revocation(of: session.refreshToken, withSSO: signOut.endsSSO, client))
  }

  fileprivate func revocation(
    of refreshToken: Secret, withSSO: Bool, _ client: UserPoolClient
  ) -> Exchange<Void> {
    let request = request(
      client.revoke(refreshToken: refreshToken, withSSO: withSSO), client,
      secrets: [refreshToken], operation: "revoke")
    var exchange = Exchange(request: request) { reply throws(UpstreamFailure) in
      try client.endedSession(reply)
    }
    exchange.meaning = { $0.remedy == .alreadyDone ? () : nil }
    return exchange
  }
}

/// The requests of a sign-out everywhere, which needs an access token.
private struct GlobalSignOut {
  let exchanges: UserPoolExchanges
  let client: UserPoolClient
  let session: ProviderSession
  let endsSSO: Bool

  /// A held access token may have been revoked: then the pool is asked for a new one.
  func begun() throws(Unprepared) -> Prepared<Void> {
    guard let held = session.accessToken, held.usableUntil > exchanges.clock.now else {
      return try renewal(.getTokensFromRefreshToken)
    }
    var end = end(by: held.token, session.refreshToken)
    end.meaning = { failure in
      guard failure.remedy == .newTokens || failure.remedy == .alreadyDone else { return nil }
      return Preparation { _ throws(Unprepared) in try renewal(.getTokensFromRefreshToken) }
    }
    return .part(end)
  }

  private func renewal(_ way: PoolRenewalWay) throws(Unprepared) -> Prepared<Void> {
    var exchange: Exchange<Preparation<Void>> = try exchanges.renewal(
      of: session, way, client, operation: "renew"
    ) { tokens, _ in
      Preparation { _ in
        .part(end(by: tokens.access.token, tokens.refresh ?? session.refreshToken))
      }
    }
    exchange.meaning = { failure in
      if failure.remedy == .alreadyDone { return Self.done }
      // The pool, or an emulator, does not know the new operation.
      guard failure.namesUnknownOperation, way == .getTokensFromRefreshToken else { return nil }
      return Preparation { _ throws(Unprepared) in try renewal(.refreshTokenAuth) }
    }
    return .part(exchange)
  }

  /// - Parameter refreshToken: the last one, which a renewal may have replaced.
  private func end(by token: Secret, _ refreshToken: Secret) -> Exchange<Preparation<Void>> {
    let request = exchanges.request(
      client.signOutGlobally(accessToken: token), client, secrets: [token], operation: "logout")
    var exchange = Exchange<Preparation<Void>>(request: request) {
      reply throws(UpstreamFailure) in
      try client.endedSession(reply)
      guard endsSSO else { return Self.done }
      // The sign-out everywhere ends tokens, not the browser's session.
      return Preparation { _ in
        .exchange(exchanges.revocation(of: refreshToken, withSSO: true, client))
      }
    }
    exchange.meaning = { $0.remedy == .alreadyDone ? Self.done : nil }
    return exchange
  }

  private static var done: Preparation<Void> { Preparation { _ in .outcome(()) } }
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
