/// The settings of a type of backend at which users have accounts of their own: they sign in there, and
/// its ID tokens go to Cognito.
public protocol ProviderKind: BackendKind {
  /// In what it differs from other providers.
  static var traits: ProviderTraits { get }

  /// For a sign-in by browser.
  var browser: BrowserSettings { get set }
  /// Whose users they are: providers of one party may share their redirect URIs.
  var party: String { get }
  /// Why no browser signs in there; nil where one may.
  var lackOfBrowser: String? { get }

  /// For whom an ID token may be beside the client.
  var trustedAudiences: [String] { get }

  /// How the client proves who it is.
  var clientAuthentication: ClientAuthentication.Method { get }
  /// Nil for a public client.
  var clientSecretFile: String? { get }
  /// The private key of `private-key-jwt`, in PEM.
  var clientAssertionKeyFile: String? { get }
  /// `kid` of that key.
  var clientAssertionKeyID: String? { get }
}

extension ProviderKind {
  public var lackOfBrowser: String? { nil }
  public var trustedAudiences: [String] { [] }
  public var clientAssertionKeyFile: String? { nil }
  public var clientAssertionKeyID: String? { nil }

  // The provider itself says who its users are.
  public var sendsUserIdentifier: Bool { false }
  public func needsUserName(userIdentifier: Template) -> Bool {
    required.contains(where: \.value.needsUserName)
  }
  public var reportsSignOut: Bool { true }
}

/// In what providers of users differ, asked wherever they are otherwise the same.
public struct ProviderTraits: Sendable {
  /// What messages call it.
  public struct Words: Sendable {
    /// `an` or `a`.
    let article: String
    let name: String
    /// Where users sign in to it.
    let short: String
    /// Beside the word `has`.
    let own: String
  }

  let words: Words
  /// How users sign in there, for `status` and the audit.
  public let means: SignedIn.Means
  /// Whether credd asks users for a name and a password, and sends them there.
  let takesPasswords: Bool
  /// Whether every sign-in gives a refresh token. Elsewhere a session may last as long as its ID token.
  let alwaysGivesRefreshToken: Bool
  /// Whether a user name is one user's for ever. Elsewhere people may change the name that is shown, and
  /// `sub` says whose tokens they are.
  let keepsUsernames: Bool
  /// Whether a refresh token goes only to the token endpoint that gave it. Elsewhere the host of the
  /// issuer is enough.
  let namesTokenEndpoint: Bool
  /// Whether the scope of an access token says if it may change the account. Elsewhere only the provider
  /// itself may be able to read it.
  let marksAccountTokens: Bool
  /// Whether each renewal may give another refresh token. Elsewhere the way of the renewal decides.
  public let rotatesAlone: Bool
  /// Whether the end of a sign-in leaves other sign-ins of the same user alone.
  public let endsOneSignInAlone: Bool
  /// Whether it remembers hosts as devices of its users.
  public let remembersDevices: Bool
  /// The parameter with a redirect URI, of the page that ends a browser's own session.
  public let logoutParameter: String
  /// Whether that page requires a redirect URI.
  public let logoutRequiresRedirectURI: Bool
  /// Why users cannot sign in by device code anywhere; nil where they can.
  let lackOfDeviceCodes: String?
}
