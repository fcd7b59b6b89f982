import FoundationEssentials

/// The device authorization grant (RFC 8628).
extension OIDCCall {
  func startDevice(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try form()
    let client = try authenticated(form, &state.oidc)
    guard client.grants.contains(.device) else {
      throw OAuthFault("unauthorized_client", "the client may not use device codes")
    }
    let scopes = (form["scope"] ?? "").split(separator: " ").map(String.init)
    guard scopes.contains("openid") else { throw OAuthFault("invalid_scope", "openid is missing") }
    let letters = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
    let userCode = state.random.text(4, of: letters) + "-" + state.random.text(4, of: letters)
    let code = "dc_" + state.random.text(48, of: OIDCCall.alphabet)
    let settings = state.oidc.settings
    state.oidc.devices[code] = OIDCDeviceCode(
      client: client.id, userCode: userCode, scopes: scopes,
      expiration: now.addingTimeInterval(Double(settings.deviceLifetime)),
      interval: settings.deviceInterval)
    let page = base + OIDCService.prefix + "/activate"
    var members: [String: JSON] = [
      "device_code": .string(code), "user_code": .string(userCode),
      "verification_uri": .string(page),
      "verification_uri_complete": .string(page + "?user_code=" + userCode),
      "interval": .number(Double(settings.deviceInterval)),
    ]
    switch settings.deviceLifetimeForm {
    case .number: members["expires_in"] = .number(Double(settings.deviceLifetime))
    case .text: members["expires_in"] = .string(String(settings.deviceLifetime))
    case .none: break
    }
    return HTTPReply(
      headers: [HTTPField("Cache-Control", "no-store")], json: .object(members))
  }

  func poll(
    _ form: OAuthForm, _ client: OIDCClient, in state: inout SandboxState
  ) throws(OAuthFault) -> HTTPReply {
    let value = try form.required("device_code")
    guard var code = state.oidc.devices[value], code.client == client.id else {
      throw .invalidGrant("the device code is not known")
    }
    guard now < code.expiration else {
      throw OAuthFault("expired_token", "the device code has expired")
    }
    let isEarly = code.lastPoll.map { now.timeIntervalSince($0) < Double(code.interval) } ?? false
    code.lastPoll = now
    if isEarly {
      code.earlyPolls += 1
      // From now on, each question must wait longer.
      code.interval += 5
      if code.earlyPolls > 1 { state.oidc.count("RepeatedEarlyPolls") }
    }
    state.oidc.devices[value] = code
    if isEarly { throw OAuthFault("slow_down", "asked too often") }
    switch code.state {
    case .pending: throw OAuthFault("authorization_pending", "the user has not typed the code yet")
    case .denied: throw OAuthFault("access_denied", "the user said no")
    case .used: throw .invalidGrant("the device code was used before")
    case .approved(let user):
      state.oidc.devices[value]?.state = .used
      let family = newFamily(client, user, code.scopes, now, &state)
      return try tokens(of: family, nonce: nil, isRenewal: false, client, in: &state)
    }
  }

  /// The page for the code. A GET shows a form; a POST sends the code, a name and a password.
  func activate(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    guard request.method == "POST" else {
      let page =
        "<!DOCTYPE html><html><body><form method=\"post\"><input name=\"user_code\">"
        + "<input name=\"username\"><input name=\"password\" type=\"password\">"
        + "<button name=\"action\" value=\"approve\">Yes</button></form></body></html>"
      return HTTPReply(
        headers: [HTTPField("Content-Type", "text/html; charset=utf-8")], body: Array(page.utf8))
    }
    let form = try OAuthForm(String(decoding: request.body, as: UTF8.self))
    guard let name = form["username"], let user = state.users.existing(name), !user.isDisabled,
      user.password == form["password"]
    else { throw OAuthFault("access_denied", "wrong name or password", status: 403) }
    try state.oidc.decide(
      form.required("user_code"), form["action"] == "deny" ? .denied : .approved(user: name),
      at: now)
    return HTTPReply(
      headers: [HTTPField("Content-Type", "text/plain")], body: Array("Go back.\n".utf8))
  }
}

extension OIDCProvider {
  /// Takes a user's answer to a code. Typed codes may be in upper or lower case, and dashes are
  /// ignored.
  mutating func decide(
    _ userCode: String, _ answer: OIDCDeviceCode.State, at now: Date
  ) throws(OAuthFault) {
    let plain = { (text: String) in text.uppercased().filter { $0 != "-" && $0 != " " } }
    guard
      let key = devices.first(where: { plain($0.value.userCode) == plain(userCode) })?.key,
      let code = devices[key], code.state == .pending, now < code.expiration
    else { throw OAuthFault("invalid_request", "there is no such code") }
    devices[key]?.state = answer
  }
}
