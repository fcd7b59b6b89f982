import CredCore

/// The second reading of a successful reply: its values as texts, in the order of the manual; nil if
/// it must be refused.
struct SecondReply {
  let reply: HTTPReply
  /// The body, if it is a JSON object.
  let json: SecondJSONReading

  init(_ reply: HTTPReply, limits: JSONLimits = .standard) {
    self.reply = reply
    let bytes = reply.body.bytes
    let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    json = SecondJSONReading(Array(bytes[mark...]), limits: limits)
  }

  /// A body in JSON that came by another way than a reply's.
  init(body: [UInt8], date: String? = nil, limits: JSONLimits = .standard) {
    let headers = date.map { [HTTPReply.Header(name: "Date", value: $0)] } ?? []
    self.init(HTTPReply(status: 200, headers: headers, body: Secret(body)), limits: limits)
  }

  var object: SecondJSON? { json.value?.object == nil ? nil : json.value }

  /// Whether a web page came.
  var isPage: Bool {
    let all = String(decoding: reply.body.bytes, as: UTF8.self).unicodeScalars
    let text = all.dropFirst(all.first == "\u{FEFF}" ? 1 : 0)
      .drop { $0 == " " || ("\u{9}"..."\u{D}").contains($0) }
    let start = String(String.UnicodeScalarView(text.prefix(14))).lowercased()
    return ["<!doctype html", "<html", "<head"].contains { start.hasPrefix($0) }
  }

  func header(_ name: String) -> String? {
    reply.headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  var date: WallTime? { header("Date").flatMap(SecondTime.httpDate) }

  var retryAfter: Duration? {
    header("Retry-After").flatMap { SecondTime.retryAfter($0, now: date) }
      .map { min($0, .seconds(3600)) }
  }

  private var isOfAWS: Bool { reply.status == 200 && !isPage && reply.body.count <= 65_536 }

  private var isOfBackend: Bool {
    (200..<300).contains(reply.status) && !isPage && reply.body.count <= 262_144
  }
}

// MARK: Cognito

extension SecondReply {
  /// GetId.
  var identity: [String?]? {
    guard isOfAWS, let id = object?["IdentityId"]?.text, SecondRules.isIdentityID(id) else {
      return nil
    }
    return [id]
  }

  /// GetOpenIdToken and GetOpenIdTokenForDeveloperIdentity.
  var token: [String?]? {
    guard let id = identity, let token = object?["Token"]?.text, SecondRules.isToken(token) else {
      return nil
    }
    return id + [token, date.map { "\($0)" }]
  }

  /// GetCredentialsForIdentity.
  var credentials: [String?]? {
    guard let id = identity, let members = object?["Credentials"],
      let key = members["AccessKeyId"]?.text, let secret = members["SecretKey"]?.text,
      let session = members["SessionToken"]?.text,
      let expiration = SecondToken.time(members["Expiration"]?.number)
    else { return nil }
    return Self.credentials(key, secret, session, expiration, date).map { id + $0 }
  }

  static func credentials(
    _ key: String, _ secret: String, _ session: String, _ expiration: WallTime, _ date: WallTime?
  ) -> [String?]? {
    let words = SecondRules.letters + SecondRules.digits + "_"
    guard SecondRules.isMade(key, of: words, 16...128), SecondRules.isVisible(secret, 1...Int.max),
      SecondRules.isVisible(session, 1...Int.max)
    else { return nil }
    if let date {
      let left = expiration.milliseconds - date.milliseconds
      guard left > 0, left <= 48 * 3_600_000 else { return nil }
    }
    return [key, secret, session, "\(expiration)", date.map { "\($0)" }]
  }
}

// MARK: Backends

extension SecondReply {
  /// The values of a member in either spelling; two if it is there in both.
  private func either(_ name: String) -> [SecondJSON] {
    let lower = name.prefix(1).lowercased() + name.dropFirst()
    return [object?[name], object?[lower]].compactMap { $0 }
  }

  /// A token callback's answer for a pool.
  func callback(pool: String) -> [String?]? {
    let (ids, tokens, pools) = (either("IdentityId"), either("Token"), either("IdentityPoolId"))
    guard isOfBackend, object != nil, ids.count == 1, tokens.count == 1, pools.count <= 1,
      let id = ids[0].text, SecondRules.isIdentityID(id), let token = tokens[0].text,
      SecondRules.isToken(token),
      id.prefix(while: { $0 != ":" }) == pool.prefix(while: { $0 != ":" })
    else { return nil }
    if let named = pools.first, named != .null, named.text != pool { return nil }
    if let audience = SecondToken(Array(token.utf8))?.audience, SecondRules.isPoolID(audience),
      audience != pool
    {
      return nil
    }
    return [id, token, date.map { "\($0)" }]
  }

  /// The answer of a `login_url`.
  var session: [String?]? {
    let (tokens, users) = (either("SessionToken"), either("DeveloperUserIdentifier"))
    guard isOfBackend, tokens.count == 1, users.count <= 1, let token = tokens[0].text,
      SecondRules.isVisible(token, 1...Int.max)
    else { return nil }
    guard let user = users.first, user != .null else { return [token, nil] }
    guard let name = user.fullText, name.unicodeScalars.count <= 1024 else { return nil }
    return [token, name]
  }

  /// The output of a credential_process.
  var processOutput: [String?]? {
    guard object?["Version"] == .number(1), let key = object?["AccessKeyId"]?.fullText,
      let secret = object?["SecretAccessKey"]?.fullText
    else { return nil }
    var expiration: WallTime?
    if let value = object?["Expiration"], value != .null {
      guard let text = value.text, let time = SecondTime.iso8601(text) else { return nil }
      expiration = time
    }
    return [key, secret, object?["SessionToken"]?.text, expiration.map { "\($0)" }]
  }
}

// MARK: Files

/// The second reading of a section of a file like `~/.aws/credentials`.
enum SecondKeyFile {
  static func keys(_ bytes: [UInt8], section: String) -> [String?]? {
    let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }.map { trimmed(Array($0)) }
    var isInside = false
    var values: [String: [UInt8]] = [:]
    for line in lines {
      if line.first == UInt8(ascii: "[") {
        isInside = line == Array("[\(section)]".utf8)
      } else if isInside, line.first != UInt8(ascii: "#"),
        let place = line.firstIndex(of: UInt8(ascii: "="))
      {
        let name = String(decoding: trimmed(Array(line[..<place])), as: UTF8.self).lowercased()
        values[name] = trimmed(Array(line[(place + 1)...]))
      }
    }
    guard let id = values["aws_access_key_id"].flatMap({ String(validating: $0, as: UTF8.self) }),
      let key = values["aws_secret_access_key"], !id.isEmpty, !key.isEmpty
    else { return nil }
    return [id, "\(key)", values["aws_session_token"].map { "\($0)" }]
  }

  private static func trimmed(_ line: [UInt8]) -> [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    return Array(line.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
