import FoundationEssentials

/// Authenticates the client (RFC 6749, 2.3; RFC 7523).
extension OIDCCall {
  private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  /// The client. It must authenticate exactly in the registered way.
  func authenticated(
    _ form: OAuthForm, _ provider: inout OIDCProvider
  ) throws(OAuthFault) -> OIDCClient {
    let header = request.header("Authorization")
    let ways = [header != nil, form["client_secret"] != nil, form["client_assertion"] != nil]
    guard ways.count(where: { $0 }) <= 1 else {
      throw .invalidRequest("the client proves itself in more than one way")
    }
    let (id, secret) = try basic(header) ?? (form["client_id"] ?? "", form["client_secret"])
    if let other = form["client_id"], other != id {
      throw .invalidClient("client_id is another one than that of Authorization")
    }
    guard let client = provider.clients[id] else {
      throw .invalidClient("client \(id) is not known")
    }
    let used: OIDCClient.Authentication =
      header != nil
      ? .basic
      : form["client_secret"] != nil ? .post : form["client_assertion"] != nil ? .privateKey : .none
    guard client.authentication == used else {
      throw .invalidClient("the client is registered for \(client.authentication.rawValue)")
    }
    switch used {
    case .none: break
    case .basic, .post:
      guard let expected = client.secret, let secret, Cryptography.areEqual(expected, secret) else {
        throw .invalidClient("the secret is wrong")
      }
    case .privateKey: try check(form, client, &provider)
    }
    return client
  }

  private func basic(_ header: String?) throws(OAuthFault) -> (String, String?)? {
    guard let header else { return nil }
    guard header.lowercased().hasPrefix("basic "),
      let data = Data(base64Encoded: String(header.dropFirst(6)))
    else { throw .invalidClient("Authorization is not Basic") }
    let pair = String(decoding: data, as: UTF8.self)
      .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard pair.count == 2, let id = percentDecoded(pair[0], plusIsSpace: true),
      let secret = percentDecoded(pair[1], plusIsSpace: true)
    else { throw .invalidClient("Authorization has no id and secret") }
    return (id, secret)
  }

  private func isValid(
    _ signature: [UInt8], of message: [UInt8], by algorithm: String?, keyPEM pem: [UInt8]
  ) -> Bool {
    switch algorithm {
    case "RS256": (try? RSAKey(pem: pem))?.isValid(signature, of: message, .sha256) ?? false
    case "ES256": Cryptography.isValid(signature, of: message, byP256KeyIn: pem)
    default: false
    }
  }

  private func check(
    _ form: OAuthForm, _ client: OIDCClient, _ provider: inout OIDCProvider
  ) throws(OAuthFault) {
    guard form["client_assertion_type"] == OIDCCall.assertionType,
      let assertion = form["client_assertion"]
    else { throw .invalidClient("client_assertion_type is wrong") }
    let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = base64URLDecoded(parts[0]).flatMap(JSON.init(parsing:)),
      let claims = base64URLDecoded(parts[1]).flatMap(JSON.init(parsing:)),
      let signature = base64URLDecoded(parts[2])
    else { throw .invalidClient("the assertion is no JWT") }
    let message = Array((parts[0] + "." + parts[1]).utf8)
    guard let pem = client.keyPEM,
      isValid(signature, of: message, by: header["alg"]?.text, keyPEM: Array(pem.utf8))
    else { throw .invalidClient("the assertion's signature is wrong") }
    guard claims["iss"]?.text == client.id, claims["sub"]?.text == client.id else {
      throw .invalidClient("iss and sub must be the client")
    }
    guard claims["aud"]?.text == base + OIDCService.prefix + "/token" else {
      throw .invalidClient("aud must be the token endpoint")
    }
    guard let expiry = claims["exp"]?.integer, expiry > now.epochSeconds,
      expiry <= now.epochSeconds + 300
    else { throw .invalidClient("exp must be within five minutes") }
    guard let id = claims["jti"]?.text, id.utf8.count >= 16,
      provider.assertions.insert(id).inserted
    else { throw .invalidClient("jti is short, or was used before") }
  }
}
