/// The URL that a browser opens to sign in (OpenID Connect Core 1.0, 3.1.2.1; RFC 7636; Cognito's
/// `/oauth2/authorize`).
public struct AuthorizationRequest: Sendable, Equatable {
  /// The question that the provider must put to a user who is signed in there already.
  public enum Prompt: String, Sendable, CaseIterable {
    case login
    case selectAccount = "select_account"
    case consent
  }

  public var clientID: String
  /// The redirect URI as registered with the provider, byte for byte.
  public var redirectURI: String
  public var scopes: [String]
  /// The upstream provider to which a user pool sends the browser.
  public var identityProvider: String?
  /// The upstream provider, by an alias.
  public var idpIdentifier: String?
  public var prompt: Prompt?
  /// Parameters of the configuration (`authorize.NAME`). None has the name of an
  /// ``AuthorizationParameter``.
  public var more: [AuthorizationParameter] = []

  public init(clientID: String, redirectURI: String, scopes: [String]) {
    self.clientID = clientID
    self.redirectURI = redirectURI
    self.scopes = scopes
  }

  /// - Parameter challenge: the result of ``AuthorizationSecrets/challenge(digests:)``.
  /// - Throws: if the URL is longer than browsers and servers accept.
  func url(
    at endpoint: HTTPURL, _ secrets: AuthorizationSecrets, challenge: String
  ) throws(InvalidInput) -> Secret {
    var form = FormBody()
    form.append("response_type", "code")
    form.append("client_id", clientID)
    form.append("redirect_uri", redirectURI)
    if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
    form.append("state", secrets.state)
    form.append("nonce", secrets.nonce)
    form.append("code_challenge", challenge)
    form.append("code_challenge_method", "S256")
    if let identityProvider { form.append("identity_provider", identityProvider) }
    if let idpIdentifier { form.append("idp_identifier", idpIdentifier) }
    if let prompt { form.append("prompt", prompt.rawValue) }
    // The request's prompt replaces the configuration's.
    for parameter in more where prompt == nil || parameter.name != "prompt" {
      form.append(parameter.name, parameter.value)
    }
    return try endpoint.adding(form, "authorization_endpoint")
  }
}

/// A parameter that the operator added: `authorize.NAME` or `logout.NAME`.
public struct AuthorizationParameter: Sendable, Equatable {
  public let name: String
  public let value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  /// Parameters that credd sets itself, or that would change the meaning of a sign-in.
  static let reserved: Set = [
    "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce",
    "code_challenge", "code_challenge_method", "request", "request_uri", "id_token_hint",
  ]

  /// - Throws: if credd sets the parameter itself, or if its name or value is not valid.
  static func checkAuthorization(name: String, value: String) throws(InvalidValue) {
    try check(name: name, value: value)
    guard !reserved.contains(name) else {
      throw InvalidValue("credd sets the parameter '\(name)' itself")
    }
    let prompts = AuthorizationRequest.Prompt.allCases.map(\.rawValue)
    guard name != "prompt" || prompts.contains(value) else {
      throw InvalidValue(
        "\(value.singleQuoted) is not known; known are \(prompts.joined(separator: ", "))")
    }
  }

  /// Checks a parameter `logout.NAME`.
  static func checkLogout(name: String, value: String) throws(InvalidValue) {
    try check(name: name, value: value)
    // The browser's history would keep a token in a URL.
    guard !["id_token_hint", "client_id"].contains(name) else {
      throw InvalidValue("credd sends the parameter '\(name)' as it has to be, or not at all")
    }
  }

  private static func check(name: String, value: String) throws(InvalidValue) {
    guard (1...64).contains(name.utf8.count), name.containsOnlyLettersDigits(or: "_.-") else {
      throw InvalidValue("not a parameter's name")
    }
    guard value.utf8.count <= 1024,
      value.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { throw InvalidValue("is longer than 1024 bytes, or holds a control character") }
  }
}

extension HTTPURL {
  /// The URL with a form added to its query, as text for a browser.
  ///
  /// - Throws: if the URL is too long.
  func adding(_ form: FormBody, _ name: String) throws(InvalidInput) -> Secret {
    var bytes = Array(text.utf8)
    let separator = query == nil ? "?" : query?.isEmpty ?? true ? "" : "&"
    bytes += separator.utf8
    bytes += form.bytes
    guard bytes.count <= Limits.OIDC.urlBytes else {
      throw InvalidInput(
        field: name,
        reason: "becomes a URL of over \(Limits.OIDC.urlBytes) bytes with its parameters")
    }
    return Secret(bytes)
  }

  /// The first parameter of the URL's query that credd sets itself; nil if there is none.
  var reservedParameter: String? {
    guard let query else { return nil }
    return query.utf8.split(separator: UInt8(ascii: "&")).lazy.compactMap { pair in
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      return PercentEncoding.decodeForm(name).map { String(decoding: $0, as: UTF8.self) }
    }.first { AuthorizationParameter.reserved.contains($0) }
  }
}

/// A redirect URI of the configuration.
public struct RedirectURI: Sendable, Hashable, CustomStringConvertible {
  /// The URI as it is sent to the provider. If it has no port, a port is added.
  public let description: String
  /// Whether any port is allowed (RFC 8252, 7.3).
  public let takesAnyPort: Bool
  let url: HTTPURL

  /// - Parameter backend: the path of a URI that has neither port nor path.
  /// - Throws: if the URI is neither https nor http on loopback, or has a query.
  public init(_ text: String, backend: String) throws(InvalidValue) {
    let url = try HTTPURL(text)
    guard url.query == nil else { throw InvalidValue("a redirect URI here has no query ('?')") }
    guard url.isEncrypted || url.isLoopback else {
      throw InvalidValue(
        "a redirect URI is http:// on localhost, 127.0.0.1 or [::1], or https://")
    }
    takesAnyPort = !url.isEncrypted && !url.namesPort
    // A URI with a port is registered exactly so.
    description =
      takesAnyPort && url.path == "/" ? "\(url.origin)/\(backend)" : url.text
    self.url = try HTTPURL(description)
  }

  /// Whether a client may sign in with this URI. It must be equal, or equal except for the port.
  public func accepts(_ requested: String) -> Bool {
    if requested.utf8.elementsEqual(description.utf8) { return true }
    guard takesAnyPort, let other = try? HTTPURL(requested), other.namesPort else { return false }
    let port = other.authority.utf8.reversed().prefix { $0 != UInt8(ascii: ":") }.reversed()
    let expected =
      "http://\(url.authority):\(String(decoding: Array(port), as: UTF8.self))\(url.path)"
    return requested.utf8.elementsEqual(expected.utf8)
  }

  public static func == (one: Self, other: Self) -> Bool {
    one.description.utf8.elementsEqual(other.description.utf8)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

extension HTTPURL {
  /// Whether the authority has a port.
  var namesPort: Bool {
    // The colons of an IPv6 address are within its brackets.
    let afterHost = authority.utf8.drop { $0 != UInt8(ascii: "]") }
    return (afterHost.isEmpty ? authority.utf8[...] : afterHost).contains(UInt8(ascii: ":"))
  }
}
