import FoundationEssentials

/// The token endpoint: codes, refresh tokens and device codes become tokens.
extension OIDCCall {
  func token(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try form()
    let client = try authenticated(form, &state.oidc)
    let name = try form.required("grant_type")
    guard let grant = OIDCClient.Grant(rawValue: name) else {
      throw OAuthFault("unsupported_grant_type", "there is no grant \(name)")
    }
    guard client.grants.contains(grant) else {
      throw OAuthFault("unauthorized_client", "the client may not use \(name)")
    }
    switch grant {
    case .code: return try exchange(form, client, in: &state)
    case .refresh: return try renew(form, client, in: &state)
    case .device: return try poll(form, client, in: &state)
    }
  }

  private func exchange(
    _ form: OAuthForm, _ client: OIDCClient, in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    let value = try form.required("code")
    guard var code = state.oidc.codes[value], code.client == client.id else {
      throw .invalidGrant("the code is not known")
    }
    guard !code.isUsed else {
      state.oidc.count("ReplayedCodes")
      // RFC 6749, 4.1.2: somebody else may have the tokens of this code.
      if let family = code.family { state.oidc.families[family]?.isRevoked = true }
      throw .invalidGrant("the code was used before")
    }
    // A code allows one attempt, even if it fails.
    code.isUsed = true
    state.oidc.codes[value] = code
    guard now < code.expiration else { throw .invalidGrant("the code has expired") }
    guard try form.required("redirect_uri").utf8.elementsEqual(code.redirectURI.utf8) else {
      throw .invalidGrant("redirect_uri is another one than that of the code")
    }
    let verifier = try form.required("code_verifier")
    guard (43...128).contains(verifier.utf8.count),
      base64URL(Cryptography.sha256(Array(verifier.utf8))) == code.challenge
    else { throw .invalidGrant("code_verifier does not fit the code") }
    let family = newFamily(client, code.user, code.scopes, code.signedIn, &state)
    state.oidc.families[family]?.nonce = code.nonce
    state.oidc.codes[value]?.family = family
    return try tokens(of: family, nonce: code.nonce, isRenewal: false, client, in: &state)
  }

  private func renew(
    _ form: OAuthForm, _ client: OIDCClient, in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    if state.oidc.settings.takes(.emptyRefusal) {
      throw OAuthFault.withoutReason
    }
    if state.oidc.settings.takes(.unknownError) {
      throw OAuthFault("sandbox_refuses", "for no reason")
    }
    let value = try form.required("refresh_token")
    guard let id = state.oidc.refreshTokens[value], var family = state.oidc.families[id],
      family.client == client.id
    else { throw .invalidGrant("the refresh token is not known") }
    guard !family.isRevoked else { throw .invalidGrant("the session has ended") }
    guard now < family.expiration else { throw .invalidGrant("the session has expired") }
    if family.current != value {
      let isInGrace =
        family.previous == value
        && family.rotated.map { now.timeIntervalSince($0) < Double(client.grace) } ?? false
      guard isInGrace else {
        // Somebody else may have the newest refresh token, so all tokens of the family end.
        state.oidc.count("ReusedRefreshTokens")
        family.isRevoked = true
        state.oidc.families[id] = family
        throw .invalidGrant("the refresh token was used before")
      }
      // The client has lost a reply, or asks twice at once.
      state.oidc.count("RenewalsInGrace")
    }
    if let scope = form["scope"] {
      let asked = Set(scope.split(separator: " ").map(String.init))
      guard asked.isSubset(of: family.scopes) else {
        throw OAuthFault("invalid_scope", "more than was granted")
      }
    }
    let nonce =
      state.oidc.settings.takes(.renewedNonce)
      ? "wrong" : state.oidc.settings.givesNonceAtRenewal ? family.nonce : nil
    return try tokens(of: id, nonce: nonce, isRenewal: true, client, in: &state)
  }

  // MARK: Tokens

  func newFamily(
    _ client: OIDCClient, _ user: String, _ scopes: [String], _ signedIn: Date,
    _ state: inout SandboxState
  ) -> String {
    let id = state.random.uuid()
    state.oidc.families[id] = OIDCFamily(
      client: client.id, user: user, scopes: scopes, signedIn: signedIn,
      expiration: now.addingTimeInterval(Double(state.oidc.settings.refreshLifetime)),
      current: newRefreshToken(of: id, &state))
    return id
  }

  private func newRefreshToken(of family: String, _ state: inout SandboxState) -> String {
    let token = "rt_" + state.random.text(64, of: OIDCCall.alphabet)
    state.oidc.refreshTokens[token] = family
    return token
  }

  func tokens(
    of id: String, nonce: String?, isRenewal: Bool, _ client: OIDCClient,
    in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    guard var family = state.oidc.families[id] else {
      throw OAuthFault("server_error", "the session is gone", status: 500)
    }
    let settings = state.oidc.settings
    let isRotated = isRenewal && client.rotation == .on
    if isRotated {
      family.previous = family.current
      family.rotated = now
      family.current = newRefreshToken(of: id, &state)
      state.oidc.families[id] = family
    }
    var members: [String: JSON] = [
      "access_token": .string("at_" + state.random.text(40, of: OIDCCall.alphabet)),
      "token_type": "Bearer", "expires_in": .number(Double(settings.tokenLifetime)),
      "scope": .string(family.scopes.joined(separator: " ")),
    ]
    let isOffline = !settings.wantsOfflineAccess || family.scopes.contains("offline_access")
    if isOffline, client.grants.contains(.refresh), !isRenewal || isRotated {
      members["refresh_token"] = .string(family.current)
    }
    let hasID =
      !isRenewal || settings.givesIDTokenAtRenewal && !state.oidc.settings.takes(.noIDToken)
    if hasID {
      members["id_token"] = .string(
        try idToken(of: family, nonce: nonce, isRenewal: isRenewal, client, in: &state))
    }
    return HTTPReply(
      headers: [HTTPField("Cache-Control", "no-store")], json: .object(members))
  }

  private func idToken(
    of family: OIDCFamily, nonce: String?, isRenewal: Bool, _ client: OIDCClient,
    in state: inout SandboxState
  ) throws(OAuthFault) -> String {
    let lies = { (lie: OIDCSettings.Lie, state: inout SandboxState) in
      state.oidc.settings.takes(lie)
    }
    let user = isRenewal && lies(.subject, &state) ? "mallory" : family.user
    let begin = lies(.expired, &state) ? now.epochSeconds - 7200 : now.epochSeconds
    var claims: [String: JSON] = [
      "iss": .string(
        lies(.issuer, &state) ? "https://evil.example/" : issuer(state.oidc.settings)),
      "sub": .string("sandbox|" + user),
      "aud": lies(.audience, &state) ? "another-client" : client.audience,
      "iat": .number(Double(begin)),
      "exp": .number(Double(begin + state.oidc.settings.tokenLifetime)),
      "auth_time": .number(Double(family.signedIn.epochSeconds)),
      "preferred_username": .string(user), "email": .string(user + "@example.com"),
      "email_verified": true,
    ]
    if !client.audiences.isEmpty, state.oidc.settings.namesParty {
      claims["azp"] = .string(client.id)
    }
    if lies(.party, &state) { claims["azp"] = "another-client" }
    if let nonce { claims["nonce"] = .string(lies(.nonce, &state) ? "wrong" : nonce) }
    if lies(.unsigned, &state) { return unsigned(claims) }
    if lies(.symmetric, &state) { return symmetric(claims, key: client.secret ?? "secret") }
    do {
      return try state.issuer.token(.object(claims), algorithm: .rs256)
    } catch {
      throw OAuthFault("server_error", "the token cannot be signed", status: 500)
    }
  }

  private func unsigned(_ claims: [String: JSON]) -> String {
    let header: JSON = ["alg": "none", "typ": "JWT"]
    return base64URL(header.bytes) + "." + base64URL(JSON.object(claims).bytes) + "."
  }

  private func symmetric(_ claims: [String: JSON], key: String) -> String {
    let header: JSON = ["alg": "HS256", "typ": "JWT"]
    let message = base64URL(header.bytes) + "." + base64URL(JSON.object(claims).bytes)
    let code = Cryptography.hmacSHA256(key: Array(key.utf8), message: Array(message.utf8))
    return message + "." + base64URL(code)
  }

  // MARK: Revocation

  /// RFC 7009: an unknown token counts as revoked.
  func revoke(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try form()
    let client = try authenticated(form, &state.oidc)
    let token = try form.required("token")
    if let id = state.oidc.refreshTokens[token] {
      guard state.oidc.families[id]?.client == client.id else {
        throw .invalidGrant("the token is another client's")
      }
      state.oidc.families[id]?.isRevoked = true
    }
    return HTTPReply(headers: [HTTPField("Cache-Control", "no-store")])
  }
}
