/// A backend of type `oidc`: a client of an OpenID Connect provider.
public struct OIDCSettings: Sendable, Equatable {
  /// The exact issuer, including a slash at its end.
  public var issuer = ""
  public var clientID = ""
  /// Nil for a public client.
  public var clientSecretFile: String?
  public var clientAuthentication = ClientAuthentication.Method.none
  /// The private key of `private-key-jwt`, in PEM.
  public var clientAssertionKeyFile: String?
  /// `kid` of that key.
  public var clientAssertionKeyID: String?
  /// The ways to sign in. A client uses the first one by default.
  public var signIn: [SignInWay] = [.browser, .paste]
  public var browser = BrowserSettings(scopes: ["openid", "offline_access"])
  /// The key in the logins map; nil for the issuer's own.
  public var providerName: String?
  /// For whom an ID token may be beside the client.
  public var trustedAudiences: [String] = []
  /// The claims that an ID token must have, so that users sign in only with their own accounts.
  public var required: [RequiredClaim] = []
  /// URLs that replace URLs of the discovery document.
  public var endpoints = ProviderEndpoints()
  /// PEM file of certificate authorities. They replace the system's authorities.
  public var caFile: String?

  public init() {}
}

/// `require.CLAIM`.
public struct RequiredClaim: Sendable, Equatable {
  public let name: String
  public let value: Template
}

extension BackendType {
  public static let oidc = BackendType("oidc")
}

extension ProviderTraits {
  static let oidc = ProviderTraits(
    words: Words(
      article: "an", name: "OpenID Connect provider", short: "provider", own: "provider of its own"),
    means: .oidc, takesPasswords: false, alwaysGivesRefreshToken: false, keepsUsernames: false,
    namesTokenEndpoint: true, marksAccountTokens: false, rotatesAlone: true,
    endsOneSignInAlone: false, remembersDevices: false,
    logoutParameter: "post_logout_redirect_uri", logoutRequiresRedirectURI: false,
    lackOfDeviceCodes: nil)
}

extension OIDCSettings: ProviderKind {
  public static var type: BackendType { .oidc }
  public static var storedWord: String { "oidc" }
  public static var traits: ProviderTraits { .oidc }

  public func trust(in profile: ProfileSettings) throws(InvalidInput) -> SessionPlan.BackendTrust {
    let provider = try OIDCIssuer(issuer)
    return .provider(
      ProviderIssuer(
        provider: provider, loginsKey: providerName ?? provider.loginsKey, clientID: clientID,
        url: endpoints.token?.text ?? ""))
  }

  public var party: String { issuer }
  public var signInWays: [SignInWay] { signIn }
  public var browserSignIn: BrowserSettings? { signIn == [.device] ? nil : browser }
  public var deviceScopes: [String]? { browser.scopes }

  public var origin: String? { (try? HTTPURL(issuer)).map { $0.origin + "/" } }
  public var providerEndpoints: ProviderEndpoints { endpoints }

  public var namedFiles: [NamedFile] {
    [
      NamedFile("client_secret_file", clientSecretFile, .secret(.line)),
      NamedFile("client_assertion_key_file", clientAssertionKeyFile, .pem("PRIVATE KEY")),
      NamedFile("ca_file", caFile, .authorities),
    ].compactMap(\.self)
  }

  public func addressSettings(of issuer: ProviderIssuer?) -> [String?] {
    [
      self.issuer, clientID, endpoints.authorization?.text, endpoints.token?.text,
      endpoints.deviceAuthorization?.text, caFile,
    ]
  }
}
