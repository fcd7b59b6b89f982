extension SampleServer {
  /// A sign-in under way. It holds what the password was turned into, not the password.
  public struct SignIn: Sendable, Equatable {
    let username: String
    let uid: String
    /// What the server stores: 64 hexadecimal digits.
    let salted: Secret
  }

  /// - Parameter uid: from ``SampleSession/makeUID(using:)``.
  /// - Throws: where user name or password break the server's own rules.
  public func signIn(
    username: String, password: Secret, uid: String, digests: some Digests
  ) throws(InvalidInput) -> SignIn {
    guard Self.usernameLengths.contains(username.utf8.count),
      username.holdsOnlyLettersDigits(or: "_.@")
    else {
      throw InvalidInput(
        field: "username", reason: "is not 3 to 128 letters, digits, '_', '.' or '@'")
    }
    guard Self.passwordLengths.contains(LoginsMap.characters(password.bytes)) else {
      throw InvalidInput(field: "password", reason: "is not 6 to 128 characters long")
    }
    let salt = Array((username + appName + host).utf8)
    let salted = Hex.encode(digests.hmacSHA256(key: password.bytes, message: salt))
    return SignIn(username: username, uid: uid, salted: Secret(salted))
  }

  /// `/login`, signed at `now`; the server takes it within 15 minutes of its own clock.
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

  /// Reads the answer: `{"key": …}`, encrypted with what the password was turned into.
  public func session(
    from reply: HTTPReply, of signIn: SignIn, cipher: some BlockCipher
  ) throws(UpstreamFailure) -> SampleSession {
    let upstream = Upstream.backend(backend)
    guard reply.isSuccess, !reply.looksLikeHTML else { throw .signIn(reply, from: upstream) }
    let key = Secret(Array(signIn.salted.bytes.prefix(32)))
    let plain = try open(reply, key: key, cipher: cipher)
    let object = try JSONReply.object(
      plain, limit: Limits.backendReplyBytes, limits: Self.jsonLimits, from: upstream)
    return try checked(upstream) { () throws(InvalidInput) in
      let key = try object.requiredSecret("key")
      guard SampleSession.isKey(key.bytes) else {
        throw InvalidInput(field: "key", reason: "is not 32 hexadecimal digits")
      }
      return SampleSession(uid: signIn.uid, key: key)
    }
  }

  /// The server puts a comma after the last member.
  static var jsonLimits: JSONLimits { JSONLimits(allowsTrailingComma: true) }
}
