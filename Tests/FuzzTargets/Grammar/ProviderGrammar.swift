extension Dice {
  private static let oauthErrors = [
    "authorization_pending", "slow_down", "access_denied", "expired_token", "invalid_grant",
    "invalid_client", "invalid_request", "temporarily_unavailable", "server_error",
    "interaction_required", "no_such_error", "a b", "",
  ]

  /// A reply of an OpenID Connect provider.
  mutating func providerReply() -> String {
    if once(in: 8) { return once(in: 4) ? page() : refusal() }
    switch number(4) {
    case 0: return answer(written(disturbed(document(), once: 5)))
    case 1: return answer(written(disturbed(deviceGrant(), once: 5)))
    case 2:
      let members: [(name: String, value: JSONText)] = [
        ("error", .string(pick(Self.oauthErrors))),
        ("error_description", .string(pick(["", "said so", "a\u{1B}[2Jb", "é"]))),
      ]
      return answer(
        written(disturbed(members, once: 6)), status: pick([400, 400, 401, 403, 429, 503]))
    default: return answer(written(disturbed(grantedTokens(), once: 6)))
    }
  }

  private mutating func endpoint(_ name: String) -> JSONText {
    .string(
      once(in: 12)
        ? pick([
          "http://login.example.com/\(name)", "http://127.0.0.1/x", "javascript:alert(1)", "",
          "https://", "https://login.example.com/a b", "https://evil.example/é",
        ]) : "https://login.example.com/\(name)")
  }

  private mutating func document() -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = [
      (
        "issuer",
        .string(
          once(in: 8)
            ? pick(["https://login.example.com", "https://evil.example/", ""]) : FuzzTarget.issuer)
      ), ("authorization_endpoint", endpoint("authorize")), ("token_endpoint", endpoint("token")),
    ]
    for (name, path) in [
      ("device_authorization_endpoint", "device"), ("revocation_endpoint", "revoke"),
      ("end_session_endpoint", "logout"),
    ] where once(in: 2) { members.append((name, endpoint(path))) }
    if once(in: 3) {
      members.append(
        (
          "authorization_response_iss_parameter_supported",
          .raw(pick(["true", "false", "1", "null"]))
        ))
    }
    return members
  }

  private mutating func deviceGrant() -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = [
      ("device_code", .string(text("abcXYZ019-_", 1...40))),
      ("user_code", .string(once(in: 10) ? pick(["", "a\nb", "é"]) : text("BCDFGHJK-", 4...9))),
      (pick(["verification_uri", "verification_url"]), endpoint("activate")),
      (
        "expires_in",
        .raw(once(in: 8) ? pick(["0", "-1", "1e9", "\"600\"", "null", "\"soon\""]) : "600")
      ),
    ]
    if once(in: 2) { members.append(("interval", .raw(pick(["5", "0", "-1", "1e9", "null"])))) }
    if once(in: 2) { members.append(("verification_uri_complete", endpoint("activate?c=1"))) }
    return members
  }

  private mutating func grantedTokens() -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = [
      ("access_token", .string(text("abcXYZ019-_", 1...60))),
      ("token_type", .string(pick(["Bearer", "bearer", "Bearer", "mac"]))),
      ("id_token", .string(idToken())),
    ]
    if once(in: 2) { members.append(("refresh_token", .string(text("abc019-_=", 1...80)))) }
    if once(in: 2) {
      members.append(("expires_in", .raw(pick(["3600", "\"3600\"", "-1", "1e9"]))))
    }
    return members
  }

  private mutating func idToken() -> String {
    var claims: [(name: String, value: JSONText)] = [
      ("iss", .string(once(in: 10) ? "https://evil.example/" : FuzzTarget.issuer)),
      ("sub", .string(once(in: 10) ? pick(["mallory", "", "é"]) : "alice")),
      (
        "aud",
        once(in: 6)
          ? .raw(
            pick([
              #"["client-1"]"#, #"["client-1","other"]"#, "[]", #""other""#, "null",
              #"["client-1",7]"#, #"["project-1","client-1"]"#, #"["project-1"]"#,
              #"["client-1","project-1","other"]"#,
            ])) : .string("client-1")
      ),
      ("exp", .raw(once(in: 10) ? pick(["1699999999", "0", "\"x\"", "1e99"]) : "1700003600")),
      ("iat", .raw(once(in: 10) ? pick(["1700009999", "null"]) : "1700000000")),
    ]
    if once(in: 3) {
      claims.append(("azp", .string(pick(["client-1", "client-1", "project-1", "other"]))))
    }
    if once(in: 4) { claims.append(("nonce", .raw(pick([#""n-1""#, #""other""#, "7", "null"])))) }
    let header = #"{"alg":"\#(once(in: 12) ? pick(["none", "None", "HS256", ""]) : "RS256")"}"#
    let parts = [header, written(disturbed(claims, once: 8))]
      .map { SecondBase64.encode(Array($0.utf8), last: "-_") }
    return parts.joined(separator: ".") + ".c2ln"
  }

  /// The query that a browser brings.
  mutating func authorizationResponse() -> String {
    var pairs = ["state=\(encoded(once(in: 12) ? "another" : FuzzTarget.authorizationState))"]
    if !once(in: 12) {
      pairs.append(
        "iss=\(encoded(once(in: 10) ? "https://evil.example/" : FuzzTarget.issuer))")
    }
    if once(in: 6) {
      pairs.append("error=\(encoded(pick(Self.oauthErrors)))")
      pairs.append("error_description=\(encoded(pick(["no", "a\u{1B}[2J", "é\n"])))")
    } else {
      pairs.append(
        "code=\(encoded(once(in: 12) ? pick(["", "\n", "a b"]) : text("abc019-_.", 1...60)))")
    }
    if once(in: 4) { pairs.append("session_state=\(text("abc019.", 0...20))") }
    if once(in: 8) { pairs.append(pick(pairs)) }
    if once(in: 12) { pairs.append(pick(["", "%", "=", "a%zz=1", "é=1"])) }
    return pairs.shuffled(using: &self).joined(separator: "&")
  }

  /// Letters and digits now and then as `%XX`, the rest always.
  private mutating func encoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      let isPlain = (SecondRules.letters + SecondRules.digits + "-._~").utf8.contains(byte)
      if isPlain, !once(in: 20) {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: once(in: 2))
        encoded += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      }
    }
    return encoded
  }
}
