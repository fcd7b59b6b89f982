import CredCore

/// Cognito and STS.
extension HistoryUpstreams {
  func cognito(_ operation: String, _ body: JSONValue?) -> HTTPReply {
    if operation == "GetOpenIdTokenForDeveloperIdentity" {
      let reply = callback(
        body, body?["Logins"]?[HistoryConfiguration.provider]?.text, nil, "cognito")
      // A backend says it by its status, Cognito by a name.
      return reply.status == 409
        ? .cognito("Logins are linked to another identity.", "ResourceConflictException") : reply
    }
    var login: Token?
    if case .object(let logins) = body?["Logins"], let first = logins.first {
      guard let (number, found) = (first.value.text).flatMap(sent) else {
        return .cognito("Invalid login token. Not a valid OpenId Connect identity token.")
      }
      pools.judgeUse(of: number)
      // Identity pools want the key of a token's own issuer: nothing less helps a client.
      if let issuer = pools.issuers[number], issuer != "https://\(first.key)" {
        return .cognito("Invalid login token. Issuer doesn't match providerName")
      }
      guard found.ends > world.now else {
        return .cognito("Invalid login token. Token expired: 1 >= 0")
      }
      login = found
    }
    let asked = body?["IdentityId"]?.text
    let pool = asked.flatMap { identities[$0]?.pool } ?? body?["IdentityPoolId"]?.text ?? ""
    let logins = body?["Logins"]
    if !accounts(in: logins).isEmpty, let refusal = join(logins, in: pool, asked: asked) {
      return refusal
    }
    switch operation {
    case "GetId": return getID(body?["IdentityPoolId"]?.text ?? "", login)
    case "GetCredentialsForIdentity", "GetOpenIdToken":
      guard let asked, let identity = identities[asked] else {
        return .cognito("Identity not found.", "ResourceNotFoundException")
      }
      guard isAllowed(login, asked, identity) else {
        return .cognito("Access to Identity is forbidden.")
      }
      let persons = login == nil ? identity.persons : login?.persons
      if operation == "GetOpenIdToken" {
        return .plain(200, developerToken(asked, identity.pool, persons))
      }
      return credentials(asked, identity, persons)
    default: return .plain(400, "{}")
    }
  }

  func isAllowed(_ login: Token?, _ asked: String, _ identity: Identity) -> Bool {
    guard let login else { return identity.isGuest }
    if login.identity == asked { return true }
    return known["\(identity.pool) \(login.identity)"] == asked
  }

  func getID(_ pool: String, _ login: Token?) -> HTTPReply {
    let text =
      login.map { identity(of: $0.identity, pool: pool, $0.persons) }
      ?? newIdentity(pool, isGuest: true, persons: nil)
    return .plain(200, #"{"IdentityId":"\#(text)"}"#)
  }

  func credentials(_ text: String, _ identity: Identity, _ persons: Set<Int>?) -> HTTPReply {
    let (number, ends) = newKeys(text, identity.pool, persons)
    return .plain(
      200,
      """
      {"IdentityId":"\(text)","Credentials":{"AccessKeyId":"\(Self.keyID(number))",\
      "SecretKey":"\(HistorySecret.text(number))","SessionToken":"\(HistorySecret.text(number))",\
      "Expiration":\(ends.milliseconds / 1000)}}
      """)
  }

  /// The id of credentials, from which the answer's reader gets the number again.
  static func keyID(_ number: Int) -> String { "ASIA\(1_000_000_000_000 + number)" }

  static func number(ofKey id: String) -> Int? {
    Int(id.dropFirst(4)).map { $0 - 1_000_000_000_000 }
  }

  func role(_ form: String) -> HTTPReply {
    guard let token = sent(form)?.token else { return .sts("InvalidIdentityToken") }
    guard token.ends > world.now else { return .sts("ExpiredTokenException") }
    let (number, ends) = newKeys(token.identity, token.pool, token.persons)
    let (secret, result) = (HistorySecret.text(number), "AssumeRoleWithWebIdentityResult")
    return .plain(
      200,
      """
      <AssumeRoleWithWebIdentityResponse><\(result)><Credentials>\
      <AccessKeyId>\(Self.keyID(number))</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>\
      <SessionToken>\(secret)</SessionToken><Expiration>\(ends.iso8601)</Expiration></Credentials>\
      <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/app/user</Arn>\
      </AssumedRoleUser></\(result)></AssumeRoleWithWebIdentityResponse>
      """)
  }
}
