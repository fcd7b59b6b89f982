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
