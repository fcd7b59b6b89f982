import FoundationEssentials

/// A user pool's Hosted UI (managed login): `/oauth2/authorize`, `/oauth2/token`, `/oauth2/revoke` and
/// `/logout`. The client's id identifies the pool.
enum HostedUI {
  /// The name of a call for faults and counters; nil for any other path.
  static func operation(of request: HTTPRequest) -> String? {
    switch (request.method, request.path) {
    case ("GET", "/oauth2/authorize"), ("POST", "/oauth2/authorize"): "HostedAuthorize"
    case ("POST", "/oauth2/token"): "HostedToken"
    case ("POST", "/oauth2/revoke"): "HostedRevoke"
    case ("GET", "/logout"): "HostedLogout"
    default: nil
    }
  }

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, at now: Date
  ) -> HTTPReply {
    let call = HostedCall(request: request, now: now)
    do throws(OAuthFault) {
      return switch operation(of: request) {
      case "HostedAuthorize": try call.authorize(in: &state)
      case "HostedToken": try call.token(in: &state)
      case "HostedRevoke": try call.revoke(in: &state)
      default: try call.logout(in: &state)
      }
    } catch {
      return error.reply
    }
  }
}

/// A code of the Hosted UI, bound to the parameters for which it was given.
struct HostedCode: Sendable {
  let client: String
  let redirectURI: String
  let challenge: String?
  let nonce: String?
  let scopes: [String]
  let username: String
  /// The browser's session, through which the code came.
  var sso: String?
  let began: Date
  var isUsed = false

  /// Cognito's codes last five minutes.
  func isOver(at now: Date) -> Bool { now.timeIntervalSince(began) >= 300 }
}

/// One request to the Hosted UI.
struct HostedCall {
  private static let scopes: Set = [
    "openid", "email", "phone", "profile", UserPool.accountScope,
  ]

  let request: HTTPRequest
  let now: Date

  // MARK: The browser

  func authorize(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try OAuthForm(request.query)
    let (pool, client) = try self.client(form.required("client_id"), state)
    let uri = try form.required("redirect_uri")
    // Cognito shows its own page, because nothing may be sent to an unregistered address.
    guard client.callbackURLs.contains(where: { $0.utf8.elementsEqual(uri.utf8) }) else {
      throw OAuthFault("redirect_mismatch", "An error was encountered with the requested page.")
    }
    var parameters: [(String, String)] = []
    do throws(OAuthFault) {
      guard let user = signedIn(form, pool) else { return page }
      var code = try code(form, client, user, uri)
      code.sso = try? state.withUserPool(pool.id, at: now) { pool throws(ServiceError) in
        pool.browserSession(of: user.username, at: client)
      }
      let name = state.random.uuid()
      state.userPools[pool.id]?.hosted.codes[name] = code
      parameters.append(("code", name))
    } catch {
      parameters = [("error", error.name), ("error_description", error.description)]
    }
    if let value = form["state"] { parameters.append(("state", value)) }
    let query = parameters.map { formEncoded($0.0) + "=" + formEncoded($0.1) }
      .joined(separator: "&")
    return HTTPReply(
      status: 302,
      headers: [
        HTTPField("Location", uri + "?" + query), HTTPField("Cache-Control", "no-store"),
      ])
  }

  private func code(
    _ form: OAuthForm, _ client: AppClient, _ user: PoolUser, _ uri: String
  ) throws(OAuthFault) -> HostedCode {
    guard try form.required("response_type") == "code" else {
      throw OAuthFault("unauthorized_client", "implicit flow is off")
    }
    let method = form["code_challenge_method"]
    let challenge = form["code_challenge"]
    guard challenge == nil && method == nil || challenge != nil && method == "S256" else {
      throw .invalidRequest("code_challenge_method must be S256")
    }
    // If the request has no scopes, it gets all scopes of the client.
    let asked = (form["scope"] ?? "").split(separator: " ").map(String.init)
    let scopes = asked.isEmpty ? HostedCall.scopes.sorted() : asked
    guard scopes.allSatisfy(HostedCall.scopes.contains) else {
      throw OAuthFault("invalid_scope", "invalid_scope")
    }
    guard
      scopes.contains("openid") || !scopes.contains(where: ["email", "phone", "profile"].contains)
    else { throw OAuthFault("invalid_scope", "openid is missing") }
    if let provider = form["identity_provider"], provider != "COGNITO" {
      throw .invalidRequest("Login pages unavailable")
    }
    return HostedCode(
      client: client.id, redirectURI: uri, challenge: challenge, nonce: form["nonce"],
      scopes: scopes, username: user.username, began: now)
  }

  /// The user, who signed in by the control path, or by name and password on the page.
  private func signedIn(_ form: OAuthForm, _ pool: UserPool) -> PoolUser? {
    guard request.method == "POST" else {
      return form["prompt"] == "login" && pool.hosted.asksAnew
        ? nil : pool.hosted.signedInAs.flatMap(pool.find)
    }
    guard let form = try? OAuthForm(String(decoding: request.body, as: UTF8.self)),
      let user = form["username"].flatMap(pool.find), !user.isDisabled,
      pool.isPassword(form["password"] ?? "", of: user)
    else { return nil }
    return user
  }

  private var page: HTTPReply {
    let page =
      "<!DOCTYPE html><html><head><title>Sandbox user pool</title></head><body>"
      + "<form method=\"post\"><input name=\"username\"><input name=\"password\" type=\"password\">"
      + "<button>Sign in</button></form></body></html>"
    return HTTPReply(
      headers: [HTTPField("Content-Type", "text/html; charset=utf-8")], body: Array(page.utf8))
  }

  /// Ends the browser's session, but revokes no token.
  func logout(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try OAuthForm(request.query)
    let (pool, client) = try self.client(form.required("client_id"), state)
    let target = try form.required("logout_uri")
    guard client.logoutURLs.contains(target) else {
      throw .invalidRequest("logout_uri is not registered")
    }
    state.userPools[pool.id]?.endBrowserSession()
    return HTTPReply(status: 302, headers: [HTTPField("Location", target)])
  }

  // MARK: The client

  func token(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try form()
    let (pool, client) = try authenticated(form, state)
    switch try form.required("grant_type") {
    case "authorization_code": return try exchange(form, client, pool.id, in: &state)
    case "refresh_token": return try renew(form, client, pool.id, in: &state)
    // Cognito has no device codes.
    default: throw OAuthFault("unsupported_grant_type", "")
    }
  }

  private func exchange(
    _ form: OAuthForm, _ client: AppClient, _ id: String, in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    let name = try form.required("code")
    guard let code = state.userPools[id]?.hosted.codes[name], code.client == client.id,
      !code.isUsed
    else { throw OAuthFault("invalid_grant", "") }
    state.userPools[id]?.hosted.codes[name]?.isUsed = true
    guard !code.isOver(at: now), form["redirect_uri"] == code.redirectURI else {
      throw OAuthFault("invalid_grant", "")
    }
    let digest = form["code_verifier"].map { base64URL(Cryptography.sha256(Array($0.utf8))) }
    guard digest == code.challenge else { throw OAuthFault("invalid_grant", "") }
    return try answer(id, in: &state) { pool throws(ServiceError) in
      guard let user = pool.user(code.username), !user.isDisabled else { throw .unknownUser }
      let session = pool.openSession(
        of: user.username, at: client, began: code.began, through: code.sso)
      var tokens = try pool.hostedTokens(of: session, user, client, code)
      tokens["refresh_token"] = .string(
        pool.sessions.newToken(for: session.id, random: &pool.random))
      return tokens
    }
  }

  private func renew(
    _ form: OAuthForm, _ client: AppClient, _ id: String, in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    let token = try form.required("refresh_token")
    return try answer(id, in: &state) { pool throws(ServiceError) in
      guard let found = pool.sessions.session(of: token, at: pool.now),
        found.session.client == client.id, !found.session.isRevoked, !found.isReused,
        pool.now < found.session.expiration, let user = pool.user(found.session.username),
        !user.isDisabled
      else { throw .invalidRefreshToken }
      pool.sessions.touch(found.session.id, at: pool.now, by: pool.agent)
      var tokens = try pool.hostedTokens(of: found.session, user, client, nil)
      if client.rotatesTokens {
        pool.sessions.supersede(
          token, until: pool.now.addingTimeInterval(Double(client.graceSeconds)))
        tokens["refresh_token"] = .string(
          pool.sessions.newToken(for: found.session.id, random: &pool.random))
      }
      return tokens
    }
  }

  /// The pool's answer. A refusal becomes an invalid grant, without a reason.
  private func answer(
    _ id: String, in state: inout SandboxState,
    _ body: (inout UserPool) throws(ServiceError) -> [String: JSON]
  ) throws(OAuthFault) -> HTTPReply {
    do throws(ServiceError) {
      let tokens = try state.withUserPool(id, at: now, body)
      return HTTPReply(
        headers: [HTTPField("Cache-Control", "no-store")], json: .object(tokens))
    } catch {
      throw OAuthFault("invalid_grant", "")
    }
  }

  func revoke(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try form()
    let (pool, client) = try authenticated(form, state)
    let token = try form.required("token")
    guard client.allowsRevocation else { throw .invalidRequest("") }
    guard token.split(separator: ".").count != 3 else {
      throw OAuthFault("unsupported_token_type", "")
    }
    if let found = pool.sessions.session(of: token, at: now) {
      guard found.session.client == client.id else { throw .invalidClient("") }
      state.userPools[pool.id]?.sessions.revoke(found.session.id)
    }
    return HTTPReply()
  }

  // MARK: Who asks

  private func form() throws(OAuthFault) -> OAuthForm {
    let type = request.header("Content-Type")?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded"), request.query.isEmpty else {
      throw .invalidRequest("")
    }
    return try OAuthForm(String(decoding: request.body, as: UTF8.self))
  }

  private func client(
    _ id: String, _ state: SandboxState
  ) throws(OAuthFault) -> (UserPool, AppClient) {
    for pool in state.userPools.values {
      if let client = pool.clients[id] { return (pool, client) }
    }
    throw OAuthFault("invalid_client", "")
  }

  /// Authenticates by Basic or in the body. A public client only names itself.
  private func authenticated(
    _ form: OAuthForm, _ state: SandboxState
  ) throws(OAuthFault) -> (UserPool, AppClient) {
    var (id, secret) = (form["client_id"], form["client_secret"])
    if let header = request.header("Authorization") {
      let pair =
        header.hasPrefix("Basic ")
        ? Data(base64Encoded: String(header.dropFirst(6))).map {
          String(decoding: $0, as: UTF8.self).split(separator: ":", maxSplits: 1).map(String.init)
        } : nil
      guard let pair, pair.count == 2, id == nil || id == pair[0], secret == nil else {
        throw OAuthFault("invalid_client", "")
      }
      (id, secret) = (pair[0], pair[1])
    }
    guard let id else { throw .invalidRequest("") }
    let (pool, client) = try self.client(id, state)
    guard client.hasSecret(secret) else { throw OAuthFault("invalid_client", "") }
    return (pool, client)
  }
}

/// The state of a pool's Hosted UI.
struct HostedState: Sendable {
  /// The user who is signed in at the browser; if nil, the page asks.
  var signedInAs: String?
  /// The browser's own session, where the pool tracks sessions.
  var browser: String?
  /// All of them.
  var sso: [String: SSOSession] = [:]
  /// Whether `prompt=login` asks a user who is already signed in.
  var asksAnew = true
  var codes: [String: HostedCode] = [:]
}

extension UserPool {
  /// Tokens by their names in OAuth. Without `openid` there is no ID token.
  ///
  /// - Parameter code: the code for the first tokens; nil at a renewal.
  fileprivate mutating func hostedTokens(
    of session: PoolSession, _ user: PoolUser, _ client: AppClient, _ code: HostedCode?
  ) throws(ServiceError) -> [String: JSON] {
    let plain = try tokens(of: session, user, client)
    var tokens: [String: JSON] = [
      "token_type": "Bearer", "expires_in": plain["ExpiresIn"] ?? 3600,
    ]
    tokens["access_token"] = plain["AccessToken"]
    tokens["id_token"] = plain["IdToken"]
    guard let code else { return tokens }
    if !code.scopes.contains("openid") { tokens["id_token"] = nil }
    if let nonce = code.nonce, let text = tokens["id_token"]?.text {
      var claims = (try? TokenIssuer.claims(in: text).members) ?? [:]
      claims["nonce"] = .string(nonce)
      tokens["id_token"] = .string(try signed(.object(claims), .id))
    }
    if let text = tokens["access_token"]?.text {
      var claims = (try? TokenIssuer.claims(in: text).members) ?? [:]
      claims["scope"] = .string(code.scopes.joined(separator: " "))
      tokens["access_token"] = .string(try signed(.object(claims), .access))
    }
    return tokens
  }
}

extension SandboxState {
  /// `POST /control/user-pool/hosted`: sets the user who is signed in at the browser.
  mutating func setHosted(_ reader: FieldReader, in id: String) throws(ServiceError) -> JSON {
    var fields = reader
    _ = try fields.optionalText("UserPool")
    let user = try fields.optionalText("SignedInAs")
    let isOut = try fields.bool("SignedOut") ?? false
    let asksAnew = try fields.bool("AsksAnew")
    try fields.finish()
    if let user {
      guard userPools[id]?.find(user) != nil else { throw fields.fault("SignedInAs", "is no user") }
      userPools[id]?.hosted.signedInAs = user
    }
    if isOut { userPools[id]?.endBrowserSession() }
    if let asksAnew { userPools[id]?.hosted.asksAnew = asksAnew }
    return ["SignedInAs": userPools[id]?.hosted.signedInAs.map { .string($0) } ?? .null]
  }
}
