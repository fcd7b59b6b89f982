/// A backend of type `aws-sample`: AWS's sample server for developer authentication
/// (amazon-cognito-developer-authentication-sample).
///
/// Requests are signed with a secret, and replies are encrypted with it. Neither contains the
/// secret, so the protocol works over plain HTTP.
public struct SampleServer: Sendable, Equatable {
  /// The lengths of a user name that the server's own rules allow.
  public static let usernameLengths = 3...128
  public static let passwordLengths = 6...128

  /// The backend's name in the configuration.
  public let backend: String
  /// Without a slash at its end.
  public let url: String
  /// Lower-case.
  let appName: String
  /// The URL's host, a part of the salt.
  let host: String

  /// - Parameter url: the server's base URL, before `/login` and `/gettoken`.
  public init(
    backend: String, url: String, appName: String = AWSSampleBackendSettings.standardAppName
  ) throws(InvalidInput) {
    guard let parts = try? HTTPURL(url), parts.query == nil else {
      throw InvalidInput(field: "url", reason: "is not an http:// or https:// URL")
    }
    self.backend = backend
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.appName = appName.lowercased()
    self.host = parts.host
  }

  func request(_ path: String, _ form: FormBody) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: url + path, headers: [HTTPHeader("Content-Type", FormBody.contentType)],
      body: Secret(form.bytes))
  }

  /// Decrypts `base64(IV ‖ ciphertext)`, which ends in a line break.
  func open(
    _ reply: HTTPReply, key: Secret, cipher: some BlockCipher
  ) throws(UpstreamFailure) -> Secret {
    let upstream = Upstream.backend(backend)
    guard reply.body.count <= Limits.Upstream.backendReplyBytes else {
      throw .transport(.tooLarge, from: upstream)
    }
    let text = reply.body.bytes.filter { !$0.isLineBreak && $0 != UInt8(ascii: " ") }
    return try checked(upstream) { () throws(InvalidInput) in
      guard let bytes = Base64.decode(text, .standard), bytes.count >= 32,
        bytes.count.isMultiple(of: 16), let keyBytes = Hex.decode(key.bytes),
        let plain = cipher.decryptAES128CBC(
          Array(bytes[16...]), key: keyBytes, iv: Array(bytes[..<16]))
      else { throw InvalidInput(field: "the reply", reason: "cannot be decrypted") }
      return Secret(plain)
    }
  }
}

extension SampleServer {
  /// A sign-in in progress. It holds a hash of the password, not the password.
  public struct SignIn: Sendable, Equatable {
    let username: String
    let uid: String
    /// The hash that the server stores: 64 hexadecimal digits.
    let salted: Secret
  }

  /// - Parameter uid: the result of ``SampleSession/makeUID(using:)``.
  /// - Throws: if the user name or the password breaks the server's own rules.
  public func signIn(
    username: String, password: Secret, uid: String, digests: some Digests
  ) throws(InvalidInput) -> SignIn {
    try Self.check(username, password)
    let salt = Array((username + appName + host).utf8)
    let salted = Hex.encode(digests.hmacSHA256(key: password.bytes, message: salt))
    return SignIn(username: username, uid: uid, salted: Secret(salted))
  }

  /// - Throws: if nobody at the server can have this user name or password.
  static func check(_ username: String, _ password: Secret) throws(InvalidInput) {
    guard usernameLengths.contains(username.utf8.count),
      username.containsOnlyLettersDigits(or: "_.@")
    else {
      throw InvalidInput(
        field: "username", reason: "is not 3 to 128 letters, digits, '_', '.' or '@'")
    }
    guard passwordLengths.contains(UTF8Sequence.codePoints(password.bytes)) else {
      throw InvalidInput(field: "password", reason: "is not 6 to 128 characters long")
    }
  }

  /// `/login`, signed at `now`. The server's clock may differ by 15 minutes.
  public func request(_ signIn: SignIn, digests: some Digests, now: WallTime) -> HTTPRequest {
    let timestamp = now.iso8601
    let signature = digests.hmacSHA256(key: signIn.salted.bytes, message: Array(timestamp.utf8))
    var form = FormBody()
    form.append("username", signIn.username)
    form.append("timestamp", timestamp)
    form.append("uid", signIn.uid)
    form.append("signature", Secret(Hex.encode(signature)))
    return request("/login", form)
  }

  /// Reads the reply to `/login`: `{"key": …}`, encrypted with the hash of the password.
  public func session(
    from reply: HTTPReply, of signIn: SignIn, cipher: some BlockCipher
  ) throws(UpstreamFailure) -> SampleSession {
    let upstream = Upstream.backend(backend)
    guard reply.isSuccess, !reply.isWebPage else { throw .signIn(reply, from: upstream) }
    let key = Secret(Array(signIn.salted.bytes.prefix(32)))
    let plain = try open(reply, key: key, cipher: cipher)
    let object = try JSONReply.object(
      plain, limit: Limits.Upstream.backendReplyBytes, limits: Self.jsonLimits, from: upstream)
    return try checked(upstream) { () throws(InvalidInput) in
      let key = try object.requiredSecret("key")
      guard SampleSession.isKey(key.bytes) else {
        throw InvalidInput(field: "key", reason: "is not 32 hexadecimal digits")
      }
      return SampleSession(uid: signIn.uid, key: key)
    }
  }

  /// The server writes a comma after the last member.
  static var jsonLimits: JSONLimits { JSONLimits(allowsTrailingComma: true) }
}

extension SampleServer {
  /// `/registeruser`. This request contains the password itself.
  ///
  /// - Throws: if the user name or the password breaks the server's own rules.
  public func request(_ signUp: SignUp) throws(InvalidInput) -> HTTPRequest {
    try Self.check(signUp.username, signUp.password)
    var form = FormBody()
    form.append("username", signUp.username)
    form.append("password", signUp.password)
    return request("/registeruser", form)
  }

  /// Reads the reply to `/registeruser`.
  public func signUpResult(
    from reply: HTTPReply, to signUp: SignUp
  ) throws(UpstreamFailure) -> SignUpResult {
    guard reply.isSuccess, !reply.isWebPage else {
      throw .signUp(
        reply, from: .backend(backend), said: reply.explanation(hiding: [signUp.password]))
    }
    return SignUpResult()
  }
}

extension SampleServer {
  /// `/gettoken`, signed at `now`: the user's own login first, then the logins to link.
  public func request(
    _ query: TokenQuery, session: SampleSession, digests: some Digests, now: WallTime
  ) -> HTTPRequest {
    let timestamp = now.iso8601
    var signed = Array(timestamp.utf8)
    var form = FormBody()
    form.append("uid", session.uid)
    form.append("timestamp", timestamp)
    let own = [(query.developerProvider, Secret(query.userIdentifier))]
    let logins = own + query.logins.logins.map { ($0.provider, $0.token) }
    for (index, (provider, token)) in logins.enumerated() {
      form.append("provider\(index + 1)", provider)
      form.append("token\(index + 1)", token)
      signed += Array(provider.utf8) + token.bytes
    }
    if let identity = query.identity {
      form.append("identityId", identity.description)
      signed += Array(identity.description.utf8)
    }
    let signature = digests.hmacSHA256(key: session.key.bytes, message: signed)
    form.append("signature", Secret(Hex.encode(signature)))
    return request("/gettoken", form)
  }

  /// Reads the reply to `/gettoken`. A 401 means that the key is no longer valid: the user must
  /// sign in again.
  public func reply(
    _ reply: HTTPReply, to query: TokenQuery, session: SampleSession, cipher: some BlockCipher
  ) throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(backend)
    guard reply.isSuccess, !reply.isWebPage else {
      let sent = query.logins.logins.map(\.token) + [session.key]
      throw .backend(reply, from: upstream, said: reply.explanation(hiding: sent))
    }
    let plain = try open(reply, key: session.key, cipher: cipher)
    return try query.reply(
      from: plain, limit: Limits.Upstream.backendReplyBytes, limits: Self.jsonLimits,
      serverTime: reply.date,
      from: upstream)
  }
}

/// The result of a sign-in at the sample server: a device's id and its key. A later sign-in with
/// the same id makes the key invalid.
public struct SampleSession: Sendable, Equatable {
  /// 32 lower-case hexadecimal digits.
  public let uid: String
  /// 32 hexadecimal digits. The text is the key for signatures; the 16 bytes that it encodes are
  /// the key for decryption.
  public let key: Secret

  init(uid: String, key: Secret) {
    self.uid = uid
    self.key = key
  }

  /// Reads ``packed``; nil for any other text.
  public init?(packed: Secret) {
    let parts = packed.bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 2, let uid = String(validating: parts[0], as: UTF8.self),
      uid.utf8.count == 32, Hex.decode(parts[0]) != nil, Self.isKey(parts[1])
    else { return nil }
    self.uid = uid
    self.key = Secret(Array(parts[1]))
  }

  /// `uid:key`, which takes the place of a session token of other backends.
  public var packed: Secret {
    Secret(Array(uid.utf8) + [UInt8(ascii: ":")] + key.bytes)
  }

  /// A new id for this host and user.
  public static func makeUID(using generator: inout some RandomNumberGenerator) -> String {
    let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    return String(decoding: Hex.encode(bytes), as: UTF8.self)
  }

  static func isKey(_ text: some Collection<UInt8>) -> Bool {
    text.count == 32 && Hex.decode(text) != nil
  }
}
