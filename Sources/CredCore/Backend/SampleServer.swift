/// AWS's sample server for developer authentication: `type = aws-sample`.
///
/// Its requests are signed with a secret instead of carrying it, its replies encrypted with it, so
/// that it can be used over plain HTTP. (amazon-cognito-developer-authentication-sample)
public struct SampleServer: Sendable, Equatable {
  /// In characters; longer ones are refused by the server's own rules.
  public static let usernameLengths = 3...128
  public static let passwordLengths = 6...128
  public static let defaultAppName = "awscognitodeveloperauthenticationsample"

  /// The backend's name in the configuration.
  public let backend: String
  /// Without a slash at its end.
  public let url: String
  /// Lower-case.
  let appName: String
  /// The server's name as it goes into the salt.
  let host: String

  /// - Parameter url: the server's base URL, to which `/login` and `/gettoken` are added.
  /// - Parameter host: the name the server knows itself by, where it is not the URL's.
  public init(
    backend: String, url: String, appName: String = Self.defaultAppName, host: String? = nil
  ) throws(InvalidInput) {
    guard let parts = URLParts(url), parts.query.isEmpty else {
      throw InvalidInput(field: "url", reason: "is not an http:// or https:// URL")
    }
    self.backend = backend
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.appName = appName.lowercased()
    self.host = host?.lowercased() ?? parts.host
  }

  func request(_ path: String, _ form: FormBody) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: url + path, headers: [HTTPHeader("Content-Type", FormBody.contentType)],
      body: Secret(form.bytes))
  }

  /// Decrypts `base64(IV ‖ ciphertext)` and its line break.
  func open(
    _ reply: HTTPReply, key: Secret, cipher: some BlockCipher
  ) throws(UpstreamFailure) -> Secret {
    let upstream = Upstream.backend(backend)
    guard reply.body.count <= Limits.backendReplyBytes else {
      throw .transport(.tooLarge, from: upstream)
    }
    let text = reply.body.bytes.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0x20 }
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
