/// A client of a provider: makes requests to the token endpoint and to the provider's other
/// endpoints, and reads replies (RFC 6749, 7009, 7523, 7636, 8628; OpenID Connect Core 1.0).
public struct OIDCClient: Sendable, Equatable {
  /// The backend's name in the configuration, for messages.
  public let backend: String
  public let provider: ProviderMetadata
  public let id: String
  public let authentication: ClientAuthentication
  /// For whom an ID token may be beside the client.
  public let trustedAudiences: [String]
  /// Whether programs of this host get its ID tokens.
  public let vendsIDTokens: Bool

  /// - Throws: if the id or the secret cannot be sent.
  public init(
    backend: String, provider: ProviderMetadata, id: String, authentication: ClientAuthentication,
    trustedAudiences: [String] = [], vendsIDTokens: Bool = false
  ) throws(InvalidInput) {
    guard (1...Limits.OIDC.clientIDBytes).contains(id.utf8.count),
      id.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else {
      throw InvalidInput(
        field: "client_id", reason: "is not 1 to \(Limits.OIDC.clientIDBytes) printable characters")
    }
    if let secret = authentication.secret {
      guard (1...Limits.OIDC.clientSecretBytes).contains(secret.count),
        secret.bytes.allSatisfy({ (0x20...0x7E).contains($0) })
      else {
        throw InvalidInput(
          field: "client_secret_file", reason: "holds no client secret of printable characters")
      }
    }
    self.backend = backend
    self.provider = provider
    self.id = id
    self.authentication = authentication
    self.trustedAudiences = trustedAudiences
    self.vendsIDTokens = vendsIDTokens
  }

  var upstream: Upstream { .backend(backend) }

  /// A POST of a form, with the client's authentication.
  func request(_ url: HTTPURL, _ parameters: (inout FormBody) -> Void) -> HTTPRequest {
    var form = FormBody()
    parameters(&form)
    var headers = [
      HTTPHeader("Content-Type", FormBody.contentType), HTTPHeader("Accept", "application/json"),
    ]
    authentication.append(to: &form, &headers, id: id)
    return HTTPRequest(method: .post, url: url.text, headers: headers, body: Secret(form.bytes))
  }
}

/// How a client authenticates (OpenID Connect Core 1.0, 9).
public enum ClientAuthentication: Sendable, Equatable {
  /// A public client. PKCE replaces a secret.
  case none
  /// `client_secret_basic`.
  case basic(Secret)
  /// `client_secret_post`.
  case post(Secret)
  /// `private_key_jwt`: an assertion that was signed for one request.
  case privateKeyJWT(ClientAssertion)

  public enum Method: String, Sendable, CaseIterable {
    case none
    case basic
    case post
    case privateKeyJWT = "private-key-jwt"
  }

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] {
    switch self {
    case .none: []
    case .basic(let secret), .post(let secret): [secret]
    case .privateKeyJWT(let assertion): [assertion.token]
    }
  }

  fileprivate var secret: Secret? {
    switch self {
    case .basic(let secret), .post(let secret): secret
    case .none, .privateKeyJWT: nil
    }
  }

  /// Only one way is used: a provider refuses a client that authenticates in two ways at once (RFC
  /// 6749, 2.3).
  fileprivate func append(to form: inout FormBody, _ headers: inout [HTTPHeader], id: String) {
    switch self {
    case .none: form.append("client_id", id)
    case .basic(let secret):
      headers.append(HTTPHeader("Authorization", Self.basic(id, secret)))
    case .post(let secret):
      form.append("client_id", id)
      form.append("client_secret", secret)
    case .privateKeyJWT(let assertion):
      form.append("client_id", id)
      form.append(
        "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      form.append("client_assertion", assertion.token)
    }
  }

  /// RFC 6749, 2.3.1: both are form-encoded before they are joined. Some servers do not decode
  /// them. That matters only for characters other than letters, digits and `-._~`.
  static func basic(_ id: String, _ secret: Secret) -> Secret {
    var pair: [UInt8] = []
    PercentEncoding.append(id.utf8, to: &pair)
    pair.append(UInt8(ascii: ":"))
    PercentEncoding.append(secret.bytes, to: &pair)
    return Secret(Array("Basic ".utf8) + Base64.encode(pair))
  }
}
