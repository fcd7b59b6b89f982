/// A backend of type `oidc`: a client of an OpenID Connect provider.
public struct OIDCSettings: Sendable, Equatable {
  /// A way to sign in that is offered to users.
  public enum SignInWay: String, Sendable, CaseIterable {
    case browser
    /// The user opens a link elsewhere and pastes the URL that comes back.
    case paste
    /// RFC 8628.
    case device
  }

  /// Exact, its last slash included.
  public var issuer = ""
  public var clientID = ""
  /// Nil for a public client.
  public var clientSecretFile: String?
  public var clientAuthentication = ClientAuthentication.Method.none
  /// The private key of `private-key-jwt`, in PEM.
  public var clientAssertionKeyFile: String?
  /// `kid` of that key.
  public var clientAssertionKeyID: String?
  /// The first is what a client does by itself.
  public var signIn: [SignInWay] = [.browser, .paste]
  public var browser = BrowserSettings(scopes: ["openid", "offline_access"])
  /// The key in the logins map; nil for the issuer's own.
  public var providerName: String?
  /// What an ID token must say, so that users sign in with their own accounts alone.
  public var required: [RequiredClaim] = []
  /// Over those of the discovery document.
  public var endpoints = ProviderEndpoints()
  /// PEM file of certificate authorities, in place of the system's.
  public var caFile: String?

  public init() {}
}

/// `require.CLAIM`.
public struct RequiredClaim: Sendable, Equatable {
  public let name: String
  public let value: Template
}

/// How users sign in by browser: at a provider, or at a user pool's Hosted UI.
public struct BrowserSettings: Sendable, Equatable {
  /// As they are written.
  public var redirectURIs: [String] = []
  /// A user pool's upstream providers: the first is the default.
  public var identityProviders: [String] = []
  /// An alias of one of them.
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

  /// - Parameter backend: the path of those that have neither port nor path.
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

extension ValueSyntax<String> {
  static var issuer: ValueSyntax {
    ValueSyntax("the issuer's URL, https:// (http:// on loopback), without a query") {
      value throws(InvalidValue) in
      let text = try value.text()
      do throws(InvalidInput) {
        return try OIDCIssuer(text).description
      } catch {
        throw InvalidValue("\(text.singleQuoted) \(error.reason)")
      }
    }
  }

  static var oidcClientID: ValueSyntax {
    .text("1 to \(Limits.OIDC.clientIDBytes) printable characters without blanks") {
      (1...Limits.OIDC.clientIDBytes).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isVisible)
    }
  }

  /// A name that a user pool gives to an upstream provider, or to a key.
  static var shortName: ValueSyntax {
    .text("1 to 128 characters without blanks", where: isShortName)
  }

  /// Where a provider's page leads after a sign-out.
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

extension ValueSyntax<HTTPURL> {
  /// A URL of a provider's, with or without a query.
  static var providerURL: ValueSyntax {
    ValueSyntax("a URL, https:// (http:// on loopback)") { value throws(InvalidValue) in
      let url = try HTTPURL(value.text())
      guard url.isEncrypted || url.isLoopback else {
        throw InvalidValue(
          "http:// to \(url.host.singleQuoted) would send secrets in clear; use https://")
      }
      guard url.text.utf8.count <= Limits.OIDC.urlBytes else {
        throw InvalidValue("is longer than \(Limits.OIDC.urlBytes) bytes")
      }
      if let name = url.reservedParameter {
        throw InvalidValue("credd sets the parameter '\(name)' itself")
      }
      return url
    }
  }

  /// Of a user pool's Hosted UI: a host's name, or a URL without a path.
  static var poolDomain: ValueSyntax {
    ValueSyntax("a host's name, or a URL without a path, https:// (http:// on loopback)") {
      value throws(InvalidValue) in
      let text = try value.text()
      let isURL = text.hasPrefix("https://") || text.hasPrefix("http://")
      let url = try HTTPURL(isURL ? text : "https://\(text)")
      guard url.isEncrypted || url.isLoopback else {
        throw InvalidValue(
          "http:// to \(url.host.singleQuoted) would send secrets in clear; use https://")
      }
      guard url.path == "/", url.query == nil else {
        throw InvalidValue("the domain of a user pool has no path and no query")
      }
      return url
    }
  }
}

extension UserPoolSettings {
  /// The endpoints below the domain; nil where the pool has none.
  public var hostedEndpoints: ProviderEndpoints? {
    guard let domain else { return nil }
    var endpoints = ProviderEndpoints()
    endpoints.authorization = try? HTTPURL("\(domain.origin)/oauth2/authorize")
    endpoints.token = try? HTTPURL("\(domain.origin)/oauth2/token")
    endpoints.revocation = try? HTTPURL("\(domain.origin)/oauth2/revoke")
    endpoints.endSession = try? HTTPURL("\(domain.origin)/logout")
    return endpoints
  }
}
