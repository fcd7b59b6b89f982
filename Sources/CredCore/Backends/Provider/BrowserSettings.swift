/// A way to sign in at a provider.
public enum SignInWay: String, Sendable, CaseIterable {
  case browser
  /// The user opens a link on another device, and pastes the URL to which the browser comes back.
  case paste
  /// RFC 8628.
  case device

  var means: SignInMeans {
    switch self {
    case .browser: .browser
    case .paste: .paste
    case .device: .device
    }
  }
}

/// How users sign in by browser, at a provider or at a user pool's Hosted UI.
public struct BrowserSettings: Sendable, Equatable {
  /// The redirect URIs as they are written in the configuration.
  public var redirectURIs: [String] = []
  /// A user pool's upstream providers: the first is the default.
  public var identityProviders: [String] = []
  /// An alias of one of these providers.
  public var idpIdentifier: String?
  public var scopes: [String]
  /// `authorize.NAME`, sorted by name.
  public var authorize: [AuthorizationParameter] = []
  public var logoutRedirectURI: String?
  /// `logout.NAME`, sorted by name.
  public var logout: [AuthorizationParameter] = []

  public init(scopes: [String] = ["openid"]) {
    self.scopes = scopes
  }

  /// - Parameter backend: the path for URIs that have neither port nor path.
  public func redirectURIs(of backend: String) -> [RedirectURI] {
    redirectURIs.compactMap { try? RedirectURI($0, backend: backend) }
  }

  mutating func add(_ parameter: AuthorizationParameter, isLogout: Bool) throws(InvalidValue) {
    let count = isLogout ? logout.count : authorize.count
    guard count < Limits.OIDC.values else {
      throw InvalidValue("more than \(Limits.OIDC.values) parameters")
    }
    if isLogout {
      logout.append(parameter)
      logout.sort { $0.name < $1.name }
    } else {
      authorize.append(parameter)
      authorize.sort { $0.name < $1.name }
    }
  }
}

extension ConfigurationKey where Settings: ProviderKind {
  /// `authorize.NAME` or `logout.NAME`.
  static func parameters(_ family: String) -> ConfigurationKey {
    let isLogout = family == "logout."
    return .init(family: family, syntax: "a text") { value, name, settings throws(InvalidValue) in
      let text = try value.text(mayBeEmpty: true)
      if isLogout {
        try AuthorizationParameter.checkLogout(name: name, value: text)
      } else {
        try AuthorizationParameter.checkAuthorization(name: name, value: text)
      }
      try settings.browser.add(
        AuthorizationParameter(name: name, value: text), isLogout: isLogout)
    }
  }
}

extension ConfigurationReader {
  mutating func checkScopes(_ browser: BrowserSettings, _ section: INISection) {
    guard !browser.scopes.contains("openid") else { return }
    diagnostics.error(
      at: section.position(of: "scopes"),
      "scopes: must have openid: without it there is no ID token")
  }
}

extension ValueSyntax<String> {
  /// A user pool's name for an upstream provider, or for a key.
  static var shortName: ValueSyntax {
    .text("1 to 128 characters without blanks", where: isShortName)
  }

  /// The address to which a provider's page leads after a sign-out.
  static var redirectURI: ValueSyntax {
    .text("a URL as registered, https:// or http:// on loopback") { text in
      guard let url = try? HTTPURL(text) else { return false }
      return (url.isEncrypted || url.isLoopback) && text.utf8.count <= 1024
    }
  }

  @Sendable static func isShortName(_ text: String) -> Bool {
    (1...128).contains(text.unicodeScalars.count)
      && text.unicodeScalars.allSatisfy {
        $0.properties.generalCategory != .control && !$0.properties.isWhitespace
      }
  }
}

extension ValueSyntax<[String]> {
  static var redirectURIs: ValueSyntax {
    .list(
      of: "a redirect URI: http:// on localhost, 127.0.0.1 or [::1], or https://, without a query",
      most: Limits.OIDC.values
    ) { (try? RedirectURI($0, backend: "x")) != nil }
  }

  static var identityProviders: ValueSyntax {
    .list(
      of: "a provider's name in the user pool", most: Limits.OIDC.values,
      where: ValueSyntax<String>.isShortName)
  }

  /// RFC 6749, 3.3.
  static var scopes: ValueSyntax {
    .list(of: "a scope of printable ASCII without quotes", most: Limits.OIDC.scopes) { text in
      (1...256).contains(text.utf8.count)
        && text.utf8.allSatisfy { $0.isVisible && !"\"\\".utf8.contains($0) }
    }
  }
}
