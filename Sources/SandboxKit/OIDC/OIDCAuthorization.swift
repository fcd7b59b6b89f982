import FoundationEssentials

/// The authorization endpoint: the browser's side.
extension OIDCCall {
  /// The browser's request, after the checks that never redirect.
  private struct Asked {
    let client: OIDCClient
    let redirectURI: String
    /// The state as it came, because it goes back byte for byte.
    let state: String?
  }

  func authorize(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try OAuthForm(request.query)
    let asked = try target(form, state.oidc)
    do throws(OAuthFault) {
      return try grant(form, asked, in: &state)
    } catch {
      // Only these errors go to the redirect URI.
      return redirect(
        asked, [("error", error.name), ("error_description", error.description)], &state.oidc)
    }
  }

  /// A wrong client or redirect URI is reported here, because a redirect to it would be an open
  /// redirect.
  private func target(_ form: OAuthForm, _ provider: OIDCProvider) throws(OAuthFault) -> Asked {
    let id = try form.required("client_id")
    guard let client = provider.clients[id] else {
      throw .invalidRequest("client \(id) is not known")
    }
    let uri = try form.required("redirect_uri")
    guard isRegistered(uri, client, provider.settings.redirectRule) else {
      throw .invalidRequest("redirect_uri is not registered")
    }
    let state = form["state"]
    guard state.map({ $0.utf8.count <= 512 }) ?? true else {
      throw .invalidRequest("state is longer than 512 bytes")
    }
    return Asked(client: client, redirectURI: uri, state: state)
  }

  private func isRegistered(
    _ uri: String, _ client: OIDCClient, _ rule: OIDCSettings.RedirectRule
  ) -> Bool {
    if client.redirectURIs.contains(where: { $0.utf8.elementsEqual(uri.utf8) }) { return true }
    guard rule == .loopback else { return false }
    // http://127.0.0.1:PORT/PATH is allowed if http://127.0.0.1/PATH is registered.
    for opening in ["http://127.0.0.1:", "http://[::1]:"] where uri.hasPrefix(opening) {
      let rest = uri.dropFirst(opening.count)
      let port = rest.prefix { $0.isASCII && $0.isNumber }
      guard let number = UInt16(port), number > 0 else { return false }
      return client.redirectURIs.contains(String(opening.dropLast() + rest.dropFirst(port.count)))
    }
    return false
  }

  private func grant(
    _ form: OAuthForm, _ asked: Asked, in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    if state.oidc.settings.takes(.errorResponse) {
      throw OAuthFault("access_denied", "The user said no\u{1B}[2J.")
    }
    guard try form.required("response_type") == "code" else {
      throw OAuthFault("unsupported_response_type", "only code is offered")
    }
    guard asked.client.grants.contains(.code) else {
      throw OAuthFault("unauthorized_client", "the client may not use codes")
    }
    let challenge = try form.required("code_challenge")
    guard form["code_challenge_method"] == "S256" else {
      throw .invalidRequest("code_challenge_method must be S256")
    }
    guard base64URLDecoded(challenge)?.count == 32 else {
      throw .invalidRequest("code_challenge is no SHA-256")
    }
    let scopes = (form["scope"] ?? "").split(separator: " ").map(String.init)
    guard scopes.contains("openid") else { throw OAuthFault("invalid_scope", "openid is missing") }
    let prompt = form["prompt"]
    guard let user = signedIn(state, prompt: prompt) else {
      guard prompt != "none" else { throw OAuthFault("login_required", "nobody is signed in") }
      return signInPage
    }
    let code = state.random.text(43, of: OIDCCall.alphabet)
    state.oidc.codes[code] = OIDCCode(
      client: asked.client.id, redirectURI: asked.redirectURI, challenge: challenge,
      nonce: form["nonce"], scopes: scopes, user: user, signedIn: now,
      expiration: now.addingTimeInterval(Double(state.oidc.settings.codeLifetime)))
    return redirect(asked, [("code", code)], &state.oidc)
  }

  static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The user of the browser, who signed in by the control path or by the form of the page.
  private func signedIn(_ state: SandboxState, prompt: String?) -> String? {
    if request.method == "POST",
      let form = try? OAuthForm(String(decoding: request.body, as: UTF8.self)),
      let name = form["username"], let password = form["password"],
      let user = state.users.existing(name), !user.isDisabled, user.password == password
    {
      return name
    }
    return request.method == "GET" && prompt != "login" ? state.oidc.settings.signedInAs : nil
  }

  private var signInPage: HTTPReply {
    let page = """
      <!DOCTYPE html><html><head><title>Sandbox sign-in</title></head><body>
      <form method="post"><input name="username"><input name="password" type="password">
      <button>Sign in</button></form></body></html>
      """
    return HTTPReply(
      headers: [
        HTTPField("Content-Type", "text/html; charset=utf-8"),
        HTTPField("Cache-Control", "no-store"),
      ], body: Array(page.utf8))
  }

  private func redirect(
    _ asked: Asked, _ parameters: [(String, String)], _ provider: inout OIDCProvider
  ) -> HTTPReply {
    var all = parameters
    if provider.settings.takes(.secondCode) { all.append(("code", "second")) }
    if let state = asked.state { all.append(("state", state)) }
    if provider.settings.takes(.responseIssuer) {
      all.append(("iss", "https://evil.example/"))
    } else if provider.settings.namesIssuer, !provider.settings.takes(.noResponseIssuer) {
      all.append(("iss", issuer(provider.settings)))
    }
    let query = all.map { formEncoded($0.0) + "=" + formEncoded($0.1) }.joined(separator: "&")
    let separator = asked.redirectURI.contains("?") ? "&" : "?"
    return HTTPReply(
      status: 302,
      headers: [
        HTTPField("Location", asked.redirectURI + separator + query),
        HTTPField("Cache-Control", "no-store"), HTTPField("Referrer-Policy", "no-referrer"),
      ])
  }
}

/// `application/x-www-form-urlencoded`: a space is `+`.
func formEncoded(_ text: String) -> String {
  var encoded = ""
  for byte in text.utf8 {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "*"):
      encoded.unicodeScalars.append(Unicode.Scalar(byte))
    case UInt8(ascii: " "): encoded += "+"
    default: encoded += "%" + hexadecimal([byte]).uppercased()
    }
  }
  return encoded
}
