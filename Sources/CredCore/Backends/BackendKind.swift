/// The settings of one type of backend, and the properties that other code reads from them.
///
/// Code outside the type's folder uses these properties and never asks which type it is. The
/// defaults fit a backend that answers a token callback and trusts this host.
public protocol BackendKind: Sendable, Equatable {
  /// The type's word in the key `type`.
  static var type: BackendType { get }
  /// The word of the type in stored fingerprints. It keeps its meaning for ever.
  static var storedWord: String { get }

  // Users and their sign-ins.

  /// How the backend authenticates the users of a profile.
  ///
  /// - Throws: for values that the configuration reader has refused already.
  func trust(in profile: ProfileSettings) throws(InvalidInput) -> SessionPlan.BackendTrust
  /// Whether users sign in with a password that goes to the backend itself.
  var takesPasswords: Bool { get }
  /// Whether this token of a sign-in with a password can go into a callback.
  func isUsable(_ token: Secret) -> Bool
  /// Whether requests to the backend carry logins that it must link.
  var takesLogins: Bool { get }
  /// Whether the backend adds a login to these, which counts among the logins that Cognito takes.
  var addsLogin: Bool { get }
  /// Why nobody at it can have this name or password; nil if somebody may.
  func refusal(ofName username: String, _ password: Secret) -> ProtocolError?
  /// Whether it can be told of a sign-out.
  var reportsSignOut: Bool { get }
  /// How users sign in without a password: the first is the default.
  var signInWays: [SignInWay] { get }
  /// How a browser signs in; nil if sign-ins by browser are not possible.
  var browserSignIn: BrowserSettings? { get }
  /// The scopes of a sign-in by device code; nil if such sign-ins are not offered.
  var deviceScopes: [String]? { get }
  /// The claims that an ID token must have.
  var required: [RequiredClaim] { get }
  /// The settings on which a sign-in under way depends: all settings but those for actions on
  /// accounts.
  var signInSettings: any BackendKind { get }

  // Accounts.

  /// The actions that users may do on their accounts.
  var accountActions: [AccountAction] { get }
  /// Why this action is not allowed at the backend; nil if it is.
  ///
  /// - Parameter backend: the text that names the backend in the message.
  func refusal(of input: AccountInput, at backend: String) -> ProtocolError?
  /// Why this sign-up is not allowed; nil if it is allowed. Asked of a backend whose users can only
  /// make accounts.
  func refusalOfSignUp(_ signUp: SignUp, at backend: String) -> ProtocolError?

  // Its requests.

  /// Whether callbacks carry the developer user identifier. Without it, the URL names the user.
  var sendsUserIdentifier: Bool { get }
  /// Whether every callback needs the user's name; some uids have none. After a sign-in with a
  /// password, the backend's own name for the user may take the place of the identifier.
  ///
  /// - Parameter userIdentifier: the profile's template.
  func needsUserName(userIdentifier: Template) -> Bool

  // Its addresses.

  /// Scheme, host and port of its server, with a slash; nil for a command, for AWS and for a user pool.
  var origin: String? { get }
  /// The configuration key that names the host of the service, if it is set. Then no host of AWS
  /// can be chosen.
  var fixedHostKey: String? { get }
  /// PEM file of certificate authorities. They replace the system's authorities.
  var caFile: String? { get }
  /// The URLs of a provider that the configuration sets.
  var providerEndpoints: ProviderEndpoints { get }
  /// The key of the provider's tokens in the logins map, if the configuration sets one.
  var providerName: String? { get }
  /// The files and programs that the backend's keys name.
  var namedFiles: [NamedFile] { get }
  /// The keys with values in the configuration itself that may be secrets.
  var valueKeys: [String] { get }
  /// By what it shows its server who it is, in TLS.
  var clientIdentity: ClientIdentity? { get }

  // Fingerprints.

  /// The backend's address and its certificate authorities, in this order, for a stored
  /// fingerprint.
  ///
  /// - Parameter issuer: the issuer, for a provider.
  func addressSettings(of issuer: ProviderIssuer?) -> [String?]
  /// The settings that decide which credentials a user gets. Without any, the fingerprint equals
  /// that of earlier versions.
  var credentialSettings: [String] { get }
}

extension BackendKind {
  public func trust(in profile: ProfileSettings) throws(InvalidInput) -> SessionPlan.BackendTrust {
    takesPasswords ? .password : .host
  }

  public var takesPasswords: Bool { false }
  public func isUsable(_ token: Secret) -> Bool { !token.isEmpty }
  public var takesLogins: Bool { true }
  public var addsLogin: Bool { false }
  public func refusal(ofName username: String, _ password: Secret) -> ProtocolError? { nil }
  public var reportsSignOut: Bool { false }
  public var signInWays: [SignInWay] { [] }
  public var browserSignIn: BrowserSettings? { nil }
  public var deviceScopes: [String]? { nil }
  public var required: [RequiredClaim] { [] }
  public var signInSettings: any BackendKind { self }

  public var accountActions: [AccountAction] { [] }

  public func refusal(of input: AccountInput, at backend: String) -> ProtocolError? {
    guard case .signUp(let signUp) = input else {
      return ProtocolError(
        .invalidRequest, "\(backend) does not offer the action \(input.action.rawValue.quoted)")
    }
    return refusalOfSignUp(signUp, at: backend)
  }

  public func refusalOfSignUp(_ signUp: SignUp, at backend: String) -> ProtocolError? {
    .noRegisterURL(at: backend)
  }

  public var sendsUserIdentifier: Bool { true }
  public func needsUserName(userIdentifier: Template) -> Bool { userIdentifier.needsUserName }
  public var origin: String? { nil }
  public var fixedHostKey: String? { nil }
  public var caFile: String? { nil }
  public var providerEndpoints: ProviderEndpoints { ProviderEndpoints() }
  public var providerName: String? { nil }
  public var namedFiles: [NamedFile] { [] }
  public var valueKeys: [String] { [] }
  public var clientIdentity: ClientIdentity? { nil }
  public var credentialSettings: [String] { [] }

  /// The type's word in the key `type`.
  public var type: BackendType { Self.type }
  /// The word of the type in stored fingerprints.
  var storedWord: String { Self.storedWord }

  func isEqual(to other: any BackendKind) -> Bool { (other as? Self) == self }
}

extension ProtocolError {
  static func noRegisterURL(at backend: String) -> ProtocolError {
    ProtocolError(
      .invalidRequest, "\(backend) does not offer the action \"sign-up\": it has no register_url")
  }
}

/// A client certificate and its key, for a check of the configuration.
public struct ClientIdentity: Sendable, Equatable {
  public let certificate: String
  /// The key of the configuration that names ``privateKey``.
  public let key: String
  public let privateKey: String
  /// Whether the configuration names one file for both.
  public let isOneFile: Bool
}
