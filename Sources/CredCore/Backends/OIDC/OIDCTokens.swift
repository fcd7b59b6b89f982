/// The tokens that a token endpoint gives at the end of a sign-in, and at each renewal.
public struct OIDCTokens: Sendable, Equatable {
  public let id: IDToken
  /// The access token; nil if the provider gave none.
  public let access: Secret?
  /// `expires_in`: how long the access token lasts.
  public let accessLifetime: Duration?
  /// The refresh token. Nil without `offline_access` or a similar scope, and in renewals that do
  /// not rotate it.
  public let refresh: Secret?
  /// The scopes of the access token; nil if the provider does not name them.
  public let scopes: [String]?

}

/// The reply of a token endpoint. Its refresh token counts even if the rest cannot be used. After a
/// renewal credd keeps it, because the former one may be dead; after a sign-in credd revokes it.
public struct OIDCTokenReply: Sendable, Equatable {
  public let refresh: Secret?
  public let tokens: Result<OIDCTokens, UpstreamFailure>

  public init(refresh: Secret?, tokens: Result<OIDCTokens, UpstreamFailure>) {
    self.refresh = refresh
    self.tokens = tokens
  }
}

extension OIDCClient {
  // MARK: Requests

  /// The exchange of a code for tokens (RFC 6749, 4.1.3; RFC 7636, 4.5).
  public func exchange(
    code: Secret, redirectURI: String, _ secrets: AuthorizationSecrets
  ) -> HTTPRequest {
    request(provider.token) {
      $0.append("grant_type", "authorization_code")
      $0.append("code", code)
      $0.append("redirect_uri", redirectURI)
      $0.append("code_verifier", secrets.verifier)
    }
  }

  /// Asks for new tokens with a refresh token (RFC 6749, 6).
  public func renew(refreshToken: Secret) -> HTTPRequest {
    request(provider.token) {
      $0.append("grant_type", "refresh_token")
      $0.append("refresh_token", refreshToken)
    }
  }

  // MARK: Replies

  /// Reads the reply to ``exchange(code:redirectURI:_:)``.
  ///
  /// - Parameter wallTime: this host's time, used if the provider does not say the time.
  public func tokens(
    from reply: HTTPReply, _ secrets: AuthorizationSecrets, wallTime: WallTime
  ) throws(UpstreamFailure) -> OIDCTokenReply {
    tokens(in: try grant(from: reply, to: .signIn), reply, .sent(secrets.nonce), wallTime)
  }

  /// The tokens of a sign-in.
  func tokens(
    in grant: Grant, _ reply: HTTPReply, _ nonce: IDToken.Expectation.Nonce, _ wallTime: WallTime
  ) -> OIDCTokenReply {
    OIDCTokenReply(
      refresh: grant.refresh,
      tokens: Result { () throws(UpstreamFailure) in
        guard let token = grant.idToken else {
          throw UpstreamFailure(upstream, FailureTable.noIDTokenAtSignIn)
        }
        do throws(IDTokenProblem) {
          return grant.tokens(with: try IDToken(token, expectation(nonce, reply, wallTime)))
        } catch {
          throw UpstreamFailure(
            upstream, FailureTable.refusedIDToken, said: "the ID token \(error.reason)")
        }
      })
  }

  /// Reads the reply to ``renew(refreshToken:)``.
  ///
  /// - Parameters:
  ///   - subject: the user of the session.
  ///   - nonce: of the session's first ID token; nil where it is unknown.
  ///   - required: what the configuration asks of the account now.
  public func renewal(
    from reply: HTTPReply, of subject: String, nonce: Fingerprint? = nil,
    required: RequiredClaims = RequiredClaims(), wallTime: WallTime
  ) throws(UpstreamFailure) -> OIDCTokenReply {
    let grant = try grant(from: reply, to: .renewal)
    var expected = expectation(.renewed(first: nonce), reply, wallTime)
    expected.subject = subject
    return OIDCTokenReply(refresh: grant.refresh, tokens: renewed(grant, expected, required))
  }

  private func renewed(
    _ grant: Grant, _ expected: IDToken.Expectation, _ required: RequiredClaims
  ) -> Result<OIDCTokens, UpstreamFailure> {
    guard let token = grant.idToken else {
      var failure = UpstreamFailure(upstream, FailureTable.noIDTokenAtRenewal)
      failure.reason = "NoIdToken"
      return .failure(failure)
    }
    do throws(IDTokenProblem) {
      let renewed = try IDToken(token, expected)
      if let problem = required.problem(in: renewed, isRenewed: true) {
        return .failure(UpstreamFailure(upstream, FailureTable.withdrawnAccount, said: problem))
      }
      return .success(grant.tokens(with: renewed))
    } catch {
      let row =
        error.isOfAnotherUser ? FailureTable.anotherSubject : FailureTable.refusedRenewedIDToken
      return .failure(UpstreamFailure(upstream, row, said: "the ID token \(error.reason)"))
    }
  }

  private func expectation(
    _ nonce: IDToken.Expectation.Nonce, _ reply: HTTPReply, _ wallTime: WallTime
  ) -> IDToken.Expectation {
    IDToken.Expectation(
      issuer: provider.issuer, clientID: id, trustedAudiences: trustedAudiences, nonce: nonce,
      now: reply.date ?? wallTime, isVended: vendsIDTokens)
  }

  /// The members of a successful reply.
  func grant(
    from reply: HTTPReply, to purpose: OIDCPurpose
  ) throws(UpstreamFailure) -> Grant {
    guard reply.status == 200, !reply.looksLikeHTML else {
      throw .provider(reply, from: upstream, purpose)
    }
    let object = try JSONReply.object(reply.body, limit: Limits.OIDC.replyBytes, from: upstream)
    // Some providers send an error with a successful status.
    if let error = object["error"], error != .null {
      throw .provider(reply, from: upstream, purpose)
    }
    return try checked(upstream) { () throws(InvalidInput) in try Grant(object) }
  }

  /// A successful reply of the token endpoint (RFC 6749, 5.1) before its ID token is checked.
  struct Grant {
    let idToken: Secret?
    let access: Secret?
    let accessLifetime: Duration?
    let refresh: Secret?
    let scopes: [String]?

    init(_ object: JSONValue) throws(InvalidInput) {
      if let type = object["token_type"]?.text, type.lowercased() != "bearer" {
        // Registered types are short words; a longer text may be a token.
        let found = type.utf8.count <= 16 ? "is \(type.quoted), not" : "is not"
        throw InvalidInput(field: "token_type", reason: "\(found) Bearer")
      }
      idToken = try Self.token(object, "id_token")
      access = try Self.token(object, "access_token")
      // Some servers write an empty one where they give none.
      refresh =
        object["refresh_token"]?.secret?.isEmpty ?? false
        ? nil : try Self.token(object, "refresh_token")
      accessLifetime = Self.lifetime(object["expires_in"])
      let claimed = access.flatMap { JWT.claims(of: $0)?["scope"]?.text }
      scopes = (object["scope"]?.text ?? claimed)
        .map { $0.split(separator: " ").prefix(Limits.OIDC.scopes).map(String.init) }
      guard idToken != nil || access != nil else {
        throw InvalidInput(field: "the reply", reason: "has no token")
      }
    }

    private static func token(
      _ object: JSONValue, _ name: String
    ) throws(InvalidInput) -> Secret? {
      try object[name].token(name, upTo: Limits.Upstream.tokenLength) { (0x20...0x7E).contains($0) }
    }

    private static func lifetime(_ value: JSONValue?) -> Duration? {
      value?.writtenSeconds.flatMap { (0...31_536_000).contains($0) ? .seconds($0) : nil }
    }

    func tokens(with id: IDToken) -> OIDCTokens {
      OIDCTokens(
        id: id, access: access, accessLifetime: accessLifetime, refresh: refresh, scopes: scopes)
    }
  }

  // MARK: The end of a session

  /// Revokes a refresh token and the tokens made from it (RFC 7009); nil if the provider has no
  /// such endpoint.
  public func revoke(refreshToken: Secret) -> HTTPRequest? {
    provider.revocation.map { url in
      request(url) {
        $0.append("token", refreshToken)
        $0.append("token_type_hint", "refresh_token")
      }
    }
  }

  /// Reads the reply to ``revoke(refreshToken:)``. A token that the provider does not know counts
  /// as revoked.
  public func revoked(_ reply: HTTPReply) throws(UpstreamFailure) {
    guard reply.isSuccess, !reply.looksLikeHTML else {
      throw .provider(reply, from: upstream, .revocation)
    }
  }
}

extension JSONValue {
  /// A number of seconds. Some providers write it as a text.
  var writtenSeconds: Double? { double ?? text.flatMap { Double($0) } }
}

extension ProviderMetadata {
  /// The page that ends the browser's own session at the provider; nil if there is none. Its URL
  /// contains no token.
  ///
  /// - Parameters:
  ///   - redirectURI: the registered address to which the page leads afterwards.
  ///   - name: the name of its parameter: `post_logout_redirect_uri`, or `logout_uri` at user
  ///     pools.
  public func logoutURL(
    clientID: String, redirectURI: String?, as name: String = "post_logout_redirect_uri",
    _ more: [AuthorizationParameter] = []
  ) -> String? {
    guard let endSession else { return nil }
    var form = FormBody()
    form.append("client_id", clientID)
    if let redirectURI { form.append(name, redirectURI) }
    for parameter in more { form.append(parameter.name, parameter.value) }
    return (try? endSession.adding(form, "end_session_endpoint"))?.exposedText()
  }
}
