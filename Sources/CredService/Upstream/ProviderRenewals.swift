import CredCore

/// Renewal at OpenID Connect providers, and the end of a session there.
extension UpstreamClient {
  /// A lost reply may cost the session: it is worth a longer wait than other calls.
  private static let renewalTimeout: Duration = .seconds(30)

  /// New tokens for a provider's session.
  func renewProviderTokens(
    _ session: PoolSession, _ profile: Profile, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    let required: RequiredClaims
    do {
      required = try profile.requiredClaims(
        user: user.name, uid: user.uid, host: services.hostName)
    } catch {
      return done(.failure(.unfitSession(of: .backend(profile.backend?.name ?? ""))))
    }
    oidcClient(for: session, profile) { [unowned self] client in
      switch client {
      case .failure(let failure): done(.failure(failure))
      case .success(let client):
        done(.success(.exchange(renewal(session, required, client, profile))))
      }
    }
  }

  /// The client that got a session's tokens, at the place that gave them. They are sent to no other.
  private func oidcClient(
    for session: PoolSession, _ profile: Profile, _ done: @escaping Completion<OIDCClient>
  ) {
    provider(of: profile) { [unowned self] provider in
      switch provider {
      case .failure(let failure): done(.failure(failure))
      case .success(let provider):
        guard !session.refreshToken.isEmpty else {
          return done(.failure(.noRefreshToken(from: profile.backend?.name ?? "")))
        }
        guard session.issuer == profile.plan.backend.issuer,
          session.tokenEndpoint == provider.token.text
        else {
          return done(.failure(.movedProvider(profile.backend?.name ?? "")))
        }
        oidcClient(of: profile, at: provider, done)
      }
    }
  }

  private func renewal(
    _ session: PoolSession, _ required: RequiredClaims, _ client: OIDCClient, _ profile: Profile
  ) -> Exchange<UpstreamOutcome> {
    let clock = services.clock
    var exchange: Exchange<UpstreamOutcome> = provider(
      client.renew(refreshToken: session.refreshToken), client, profile,
      secrets: [session.refreshToken], timeout: Self.renewalTimeout
    ) { reply throws(UpstreamFailure) in
      let renewal = try client.renewal(
        from: reply, of: session.subject ?? "", required: required, wallTime: clock.wallTime)
      switch renewal.tokens {
      case .success(let tokens):
        do throws(InvalidInput) {
          return .poolTokens(try PoolTokens(tokens), serverTime: reply.date)
        } catch {
          throw .notSent(error, to: .backend(client.backend))
        }
      case .failure(let failure):
        if let token = renewal.refresh { return .refreshTokenReplaced(token, failure) }
        // It ends the session, and the former token lives: it is to be revoked.
        guard failure.failureClass == .signInRequired else { throw failure }
        return .refreshTokenReplaced(session.refreshToken, failure)
      }
    }
    // The former token may still be taken for a moment. A refusal without a reason is asked once more.
    exchange.isRepeated = { $0.isReplyLost || $0.remedy == .onceMore }
    return exchange
  }

  /// Ends a provider's session there. Without an address for that it ends by itself.
  func signOutAtProvider(
    _ signOut: BackendSignOut, _ done: @escaping (UpstreamFailure?) -> Void
  ) {
    guard let session = signOut.poolSession, !session.refreshToken.isEmpty else {
      return later { done(nil) }
    }
    oidcClient(for: session, signOut.profile) { [unowned self] client in
      switch client {
      case .failure(let failure): later { done(failure) }
      case .success(let client):
        guard let request = client.revoke(refreshToken: session.refreshToken) else {
          return later { done(nil) }
        }
        let exchange = provider(
          request, client, signOut.profile, secrets: [session.refreshToken], operation: "revoke"
        ) { reply throws(UpstreamFailure) in try client.revoked(reply) }
        send(exchange) { result in
          guard case .failure(let failure) = result, failure.remedy != .alreadyDone else {
            return done(nil)
          }
          done(failure)
        }
      }
    }
  }
}
