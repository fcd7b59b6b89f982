/// The settings of a type of backend at which users have their own accounts: users sign in there,
/// and the ID tokens go to Cognito.
public protocol ProviderKind: BackendKind {
  /// The traits in which the type differs from other providers.
  static var traits: ProviderTraits { get }

  /// The settings of a sign-in by browser.
  var browser: BrowserSettings { get set }
  /// The party that runs the provider. Providers of one party may share their redirect URIs.
  var party: String { get }
  /// Why users cannot sign in there by browser; nil if they can.
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

  // The provider itself names its users.
  public var sendsUserIdentifier: Bool { false }
  public func needsUserName(userIdentifier: Template) -> Bool {
    required.contains(where: \.value.needsUserName)
  }
  public var addsLogin: Bool { true }
  public var reportsSignOut: Bool { true }
}

/// The traits in which providers differ. Code that serves all providers asks for these.
public struct ProviderTraits: Sendable {
  /// The words that messages use for the provider.
  public struct Words: Sendable {
    /// `an` or `a`.
    let article: String
    let name: String
    /// The noun for "users sign in to a …".
    let short: String
    /// The noun for "the profile has a …".
    let own: String
  }

  let words: Words
  /// How users sign in there, for `status` and the audit.
  public let means: SignedIn.Means
  /// Whether credd asks users for a name and a password, and sends them there.
  let takesPasswords: Bool
  /// Whether every sign-in gives a refresh token. If not, a session may last only as long as its ID
  /// token.
  let alwaysGivesRefreshToken: Bool
  /// Whether a user name belongs to one user for ever. If not, people may change the name that is
  /// shown, and `sub` names the user of tokens.
  let keepsUsernames: Bool
  /// Whether a refresh token goes only to the token endpoint that gave it. If not, the host of the
  /// issuer is enough.
  let namesTokenEndpoint: Bool
  /// Whether the scope of an access token says if it may change the account. If not, perhaps only
  /// the provider can read the token.
  let marksAccountTokens: Bool
  /// Whether each renewal may give another refresh token. If not, the operation that renews
  /// decides.
  public let rotatesAlone: Bool
  /// Whether ending a sign-in does not affect other sign-ins of the same user.
  public let endsOneSignInAlone: Bool
  /// Whether the provider remembers hosts as devices of its users.
  public let remembersDevices: Bool
  /// The parameter for the redirect URI of the page that ends a browser's own session.
  public let logoutParameter: String
  /// Whether that page requires a redirect URI.
  public let logoutRequiresRedirectURI: Bool
  /// Why users can never sign in by device code; nil if they can.
  let lackOfDeviceCodes: String?
}
