/// A backend of type `http`.
public struct HTTPBackendSettings: Sendable, Equatable {
  public var url: URLTemplate
  public var method = HTTPRequest.Method.post
  /// A file whose content is sent as `Authorization: Bearer`.
  public var bearerTokenFile: String?
  /// PEM file of certificate authorities. They replace the system's authorities.
  public var caFile: String?
  /// PEM file, which may hold the key too.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Path of a socket to which credd connects instead of the URL's host.
  public var unixSocket: String?
  /// Headers of every request, in the order of the file. No name occurs twice, whether in upper or
  /// lower case.
  public var headers: [HTTPHeader] = []
  /// Sent like ``headers``, with which they share no name.
  public var headerFiles: [ValueFile] = []
  /// The URL of sign-ins with a password; nil if the backend trusts the host.
  public var loginURL: URLTemplate?
  /// The URL that `logout` with `global` calls.
  public var logoutURL: URLTemplate?
  /// The URL at which users make accounts; nil if they cannot.
  public var registerURL: URLTemplate?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init(url: URLTemplate) {
    self.url = url
  }

  init() {
    self.init(url: URLTemplate(unread: ()))
  }
}

extension BackendType {
  public static let http = BackendType("http")
}

extension HTTPBackendSettings: BackendKind {
  public static var type: BackendType { .http }
  public static var storedWord: String { "http" }

  public var takesPasswords: Bool { loginURL != nil }
  /// With `method = GET` a backend gets only the URL, and so no logins.
  public var takesLogins: Bool { method != .get }
  public var reportsSignOut: Bool { logoutURL != nil }
  public var sendsUserIdentifier: Bool { method == .post }

  public func needsUserName(userIdentifier: Template) -> Bool {
    url.needsUserName || (sendsUserIdentifier && loginURL == nil && userIdentifier.needsUserName)
  }

  public var accountActions: [AccountAction] { registerURL == nil ? [] : [.signUp] }

  public func refusalOfSignUp(_ signUp: SignUp, at backend: String) -> ProtocolError? {
    registerURL == nil ? .noRegisterURL(at: backend) : nil
  }

  public var origin: String? { url.sample.origin + "/" }

  public var namedFiles: [NamedFile] {
    [
      NamedFile("bearer_token_file", bearerTokenFile, .secret(.line)),
      NamedFile("ca_file", caFile, .authorities),
      NamedFile("client_certificate", clientCertificate, .pem("CERTIFICATE")),
      NamedFile("client_key", clientKey, .pem("PRIVATE KEY")),
      NamedFile("unix_socket", unixSocket, .socket),
    ].compactMap(\.self) + headerFiles.compactMap(\.namedFile)
  }

  public var valueKeys: [String] {
    headers.map(\.name).filter { !Self.openHeaders.contains($0.lowercased()) }
      .map { "header.\($0)" }
  }

  /// Headers that hold no secret: they say what the client is, and what it takes.
  private static let openHeaders: Set = [
    "accept", "accept-encoding", "accept-language", "cache-control", "user-agent",
  ]

  public var clientIdentity: ClientIdentity? {
    clientCertificate.map { certificate in
      ClientIdentity(
        certificate: certificate, key: clientKey == nil ? "client_certificate" : "client_key",
        privateKey: clientKey ?? certificate, isOneFile: clientKey == nil)
    }
  }

  public func addressSettings(of issuer: ProviderIssuer?) -> [String?] {
    // The URL of sign-outs may be added or changed, as long as it is at the same server.
    let logout = logoutURL?.sample.origin
    return [
      url.template.text, loginURL?.template.text, logout == url.sample.origin ? nil : logout,
      unixSocket, caFile,
    ]
  }
}

extension HTTPBackendSettings: ConfiguredBackend {
  static let canSendCaller = true

  static let rows: [ConfigurationKey<HTTPBackendSettings>] = [
    .init("url", \.url, .url, required: true),
    .init("method", \.method, .choice, standard: "POST"),
    .init("bearer_token_file", \.bearerTokenFile, .path),
    .init("ca_file", \.caFile, .path),
    .init("client_certificate", \.clientCertificate, .path),
    .init("client_key", \.clientKey, .path),
    .init("unix_socket", \.unixSocket, .socketPath),
    .init("login_url", \.loginURL, .url),
    .init("logout_url", \.logoutURL, .url),
    .init("register_url", \.registerURL, .url),
    .init("allow_plain_http", \.allowPlainHTTP, .yesNo, standard: "no"),
    .init(family: "header.", syntax: "a text") { value, name, settings throws(InvalidValue) in
      try settings.checkHeader(name)
      settings.headers.append(HTTPHeader(name, Secret(try value.text())))
    },
    .init(filesOf: "header_file.") { file, settings throws(InvalidValue) in
      try settings.checkHeader(file.name)
      settings.headerFiles.append(file)
    },
  ]

  /// - Throws: if it can be no further header.
  private func checkHeader(_ name: String) throws(InvalidValue) {
    guard name.isHeaderName else { throw InvalidValue("not a header's name") }
    let lowercased = name.lowercased()
    guard !Self.headersOfCredd.contains(lowercased) else {
      throw InvalidValue("credd sets this header itself")
    }
    let names = headers.map(\.name) + headerFiles.map(\.name)
    guard !names.contains(where: { $0.lowercased() == lowercased }) else {
      throw InvalidValue("duplicate header: case does not count in names of headers")
    }
    guard names.count < Limits.Configuration.headers else {
      throw InvalidValue("more than \(Limits.Configuration.headers) headers")
    }
  }

  /// A wrong Content-Type, for example, makes a backend refuse the body or read it as something else.
  private static let headersOfCredd: Set = [
    "host", "content-length", "content-type", "transfer-encoding", "connection",
    "credd-host-authorization",
  ]

  func check(_ section: INISection, _ reader: inout ConfigurationReader) {
    // With a Unix socket, no request leaves the host.
    let isAllowed = allowPlainHTTP || section["unix_socket"] != nil
    reader.refusePlainHTTP("url", url.sample, section, isAllowed: isAllowed)
    reader.refusePlainHTTP("login_url", loginURL?.sample, section, isAllowed: isAllowed)
    reader.refusePlainHTTP("logout_url", logoutURL?.sample, section, isAllowed: isAllowed)
    reader.refusePlainHTTP("register_url", registerURL?.sample, section, isAllowed: isAllowed)
    reader.require("client_certificate", with: "client_key", section)
    let ofTokens = ["authorization", HTTPBackend.hostHeader.lowercased()]
    let configured =
      headers.map { ($0.name, "header.\($0.name)") } + headerFiles.map { ($0.name, $0.key) }
    for (name, own) in configured where ofTokens.contains(name.lowercased()) {
      for key in ["bearer_token_file", "login_url"] where section[key] != nil {
        reader.diagnostics.error(
          at: section.position(of: own), "\(own): '\(key)' sets this header already")
      }
    }
  }
}
