internal import CredCore

extension MobileConfiguration {
  /// How an app signs in its users with a browser: `OAuth` of `Auth`, for a user pool's Hosted UI,
  /// or with custom URLs for another provider, such as Auth0.
  struct BrowserSignIn: Equatable {
    /// The address to which browsers of a host come back; it must be registered.
    static let localRedirectURI = "http://localhost:8976/"

    /// A parameter of the URLs that a browser opens.
    struct Parameter: Equatable {
      var name: String
      var value: String
    }

    /// A provider that is no user pool.
    struct Provider: Equatable {
      /// Whether the provider's URLs have Auth0's paths.
      var isAuth0: Bool
      /// The URLs that differ from Auth0's.
      var endpoints: [Parameter] = []
      var authorize: [Parameter] = []
      var logout: [Parameter] = []
      /// Parameters of the file that cannot stand in a configuration, or lead to an app.
      var dropped: [Parameter] = []
    }

    /// A host's name.
    var domain: String
    var clientID: String?
    /// Whether the file has a client secret. The secret itself is not read.
    var hasSecret: Bool
    /// The redirect URIs to which a browser of a host can come back.
    var redirectURIs: [String]
    var logoutRedirectURI: String?
    /// Where the app comes back to after a sign-out, if no browser of a host can go there.
    var appLogoutURI: String?
    var scopes: [String]
    /// The provider; nil for a Hosted UI.
    var provider: Provider?
  }
}

extension MobileConfiguration.BrowserSignIn {
  /// - Throws: for a value that is not a valid domain, URL, client id or scope.
  init(_ oauth: ImportedObject) throws(ImportError) {
    domain = try Self.domain(oauth.required("WebDomain"))
    clientID = try oauth.text("AppClientId").map { text throws(ImportError) in
      guard (1...255).contains(text.text.utf8.count), text.text.isPlainValue else {
        throw text.error("must be a client's id: letters and digits")
      }
      return text.text
    }
    hasSecret = try oauth.text("AppClientSecret")?.text.isEmpty == false
    redirectURIs = try Self.webURLs(oauth.text("SignInRedirectURI")).filter(\.isOfThisHost)
    let signOut = try oauth.text("SignOutRedirectURI")
    logoutRedirectURI = Self.webURLs(signOut).first
    appLogoutURI = logoutRedirectURI == nil ? signOut?.text : nil
    scopes = try oauth.texts("Scopes")
    if !scopes.contains("openid") { scopes.insert("openid", at: 0) }
    provider = try Self.provider(oauth, domain)
  }

  /// For a Hosted UI, an app's file has only the domain.
  private static func provider(
    _ oauth: ImportedObject, _ domain: String
  ) throws(ImportError) -> MobileConfiguration.BrowserSignIn.Provider? {
    let urls = [
      ("authorization_endpoint", try oauth.text("SignInURI"), "/authorize"),
      ("token_endpoint", try oauth.text("TokenURI"), "/oauth/token"),
      ("end_session_endpoint", try oauth.text("SignOutURI"), ""),
    ]
    guard urls.contains(where: { $0.1 != nil }) else { return nil }
    var provider = MobileConfiguration.BrowserSignIn.Provider(
      isAuth0: domain.hasSuffix(".auth0.com"))
    for case (let name, let url?, let usual) in urls {
      guard let checked = try? HTTPURL(url.text), checked.isEncrypted, url.text.isPlainValue else {
        throw url.error("must be a URL, https://")
      }
      if checked.text != "https://\(domain)\(usual)" {
        provider.endpoints.append(Parameter(name: name, value: checked.text))
      }
    }
    let authorize = try parameters(
      oauth.object("SignInURIQueryParameters"), "authorize.", without: reserved)
    let logout = try parameters(
      oauth.object("SignOutURIQueryParameters"), "logout.", without: ["client_id", "id_token_hint"])
    provider.authorize = authorize.kept
    provider.logout = logout.kept
    provider.dropped = authorize.dropped + logout.dropped
    return provider
  }

  /// The parameters that credd sets itself (credd.conf(5)).
  private static let reserved: Set = [
    "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce",
    "code_challenge", "code_challenge_method", "request", "request_uri", "id_token_hint", "prompt",
  ]

  /// The parameters that a configuration can have and that do not lead to an app, and the others. Those
  /// that credd sets itself are in neither.
  private static func parameters(
    _ object: ImportedObject?, _ family: String, without names: Set<String>
  ) throws(ImportError) -> (kept: [Parameter], dropped: [Parameter]) {
    var kept: [Parameter] = []
    var dropped: [Parameter] = []
    for member in object?.members ?? [] {
      guard let text = member.value.text else {
        throw ImportedObject.error(at: member, "must be a string")
      }
      guard !names.contains(member.key) else { continue }
      let isName =
        (1...64).contains(member.key.utf8.count) && member.key.containsOnlyLettersDigits(or: "_.-")
      let isValue =
        text.isEmpty || text.isPlainValue && (!text.contains("://") || webURL(text) != nil)
      if isName, isValue, kept.count < 16 {
        kept.append(Parameter(name: family + member.key, value: text))
      } else {
        dropped.append(Parameter(name: family + member.key, value: text))
      }
    }
    return (kept, dropped)
  }

  private static func domain(_ text: ImportedText) throws(ImportError) -> String {
    let name = text.text.hasPrefix("https://") ? String(text.text.dropFirst(8)) : text.text
    guard (try? HTTPURL("https://\(name)")) != nil, name.isPlainValue,
      !name.utf8.contains(where: "/?".utf8.contains)
    else { throw text.error("must be a host's name") }
    return name
  }

  /// A list, separated by commas, without URLs of apps.
  private static func webURLs(_ text: ImportedText?) -> [String] {
    (text?.text ?? "").split(separator: ",")
      .map { String(decoding: $0.utf8.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self) }
      .compactMap(webURL)
  }

  private static func webURL(_ text: String) -> String? {
    guard let url = try? HTTPURL(text), url.isEncrypted || url.isLoopback, text.isPlainValue,
      text.utf8.count <= 1024
    else { return nil }
    return text
  }
}

extension String {
  /// Whether the text can stand in a configuration unchanged: without quotes, comments and
  /// variables.
  fileprivate var isPlainValue: Bool {
    !isEmpty && utf8.count <= 1024
      && utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"\\$;#,{}".utf8.contains($0) }
  }

  fileprivate var isOfThisHost: Bool {
    guard let url = try? HTTPURL(self) else { return false }
    return !url.isEncrypted && url.isLoopback && !contains("?")
  }
}

extension ImportedObject {
  /// A list of scopes, or nothing.
  fileprivate func texts(_ key: String) throws(ImportError) -> [String] {
    guard let member = member(key) else { return [] }
    guard case .array(let values) = member.value else {
      throw Self.error(at: member, "must be a list of strings")
    }
    let texts = values.compactMap(\.text)
    guard texts.count == values.count, texts.count <= 32,
      texts.allSatisfy({ $0.isPlainValue && $0.utf8.count <= 256 })
    else { throw Self.error(at: member, "must be a list of scopes") }
    return texts.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}

// MARK: - Lines

extension MobileConfiguration.BrowserSignIn {
  /// The keys for this in the section of a user pool.
  var hostedUILines: [String] {
    var lines = ["domain = \(domain)"] + redirectLines("the app client, as an allowed callback URL")
    lines.append("scopes = \(scopes.joined(separator: " "))")
    return lines + logoutLines("the app client, as an allowed sign-out URL")
  }

  /// The section of another provider.
  func section(
    named name: String, clientID: String, _ provider: Provider, _ kind: MobileConfiguration.Kind
  ) -> [String] {
    var lines = [
      "; The provider of \(kind.rawValue): credctl login --profile \(name)",
      "[backend \(name)]", "type = oidc",
    ]
    if !provider.isAuth0 {
      lines.append("; The issuer as its /.well-known/openid-configuration writes it:")
    }
    lines += ["issuer = https://\(domain)/", "client_id = \(clientID)"]
    if hasSecret {
      lines += [
        "; The client has a secret, which is not repeated here: put AppClientSecret into a file,",
        "; for systemd by LoadCredential=\(name)-client:FILE.", "client_authentication = post",
        "client_secret_file = ${CREDENTIALS_DIRECTORY}/\(name)-client",
      ]
    }
    lines += redirectLines("the provider's client")
    let offline = scopes.contains("offline_access") ? [] : ["offline_access"]
    lines.append("scopes = \((scopes + offline).joined(separator: " "))")
    lines += (provider.endpoints + provider.authorize + provider.logout)
      .map { $0.value.isEmpty ? "\($0.name) = \"\"" : "\($0.name) = \($0.value)" }
    for parameter in provider.dropped {
      lines += [
        "; \(parameter.name.quoted) of the app is \(parameter.value.quoted), which",
        "; is not for browsers of a host: set the key of that name, if the provider needs it.",
      ]
    }
    return lines + logoutLines("the provider's client") + [""]
  }

  /// Where browsers go after a sign-out.
  private func logoutLines(_ client: String) -> [String] {
    if let logoutRedirectURI { return ["logout_redirect_uri = \(logoutRedirectURI)"] }
    guard let appLogoutURI else { return [] }
    return [
      "; After a sign-out the app comes back to \(appLogoutURI.quoted). A browser of a host needs a page,",
      "; registered with \(client), for a sign-out with --browser:",
      "; logout_redirect_uri = \(Self.localRedirectURI)",
    ]
  }

  private func redirectLines(_ client: String) -> [String] {
    if !redirectURIs.isEmpty { return ["redirect_uri = \(redirectURIs.joined(separator: " "))"] }
    return [
      "; The app comes back to a URL of its own. Browsers of a host come back here: register it with",
      "; \(client).", "redirect_uri = \(Self.localRedirectURI)",
    ]
  }
}
