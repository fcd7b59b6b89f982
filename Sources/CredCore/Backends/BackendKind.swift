/// The settings of one type of backend, and what follows from them for all others.
///
/// Outside its folder a type is asked by these names, and never which type it is. Defaults are those of
/// a backend that answers a token callback and trusts this host.
public protocol BackendKind: Sendable, Equatable {
  /// The word of the key `type`.
  static var type: BackendType { get }
  /// The word of the type in stored fingerprints. It keeps its meaning for ever.
  static var storedWord: String { get }

  // Users and their sign-ins.

  /// How it authenticates the users of a profile.
  ///
  /// - Throws: for values that the configuration reader refuses before.
  func trust(in profile: ProfileSettings) throws(InvalidInput) -> SessionPlan.BackendTrust
  /// Whether users sign in to it with a password that it takes itself.
  var takesPasswords: Bool { get }
  /// Whether this token of a sign-in with a password can go into a callback.
  func isUsable(_ token: Secret) -> Bool
  /// Whether its requests carry logins that are to be linked.
  var takesLogins: Bool { get }
  /// Whether a login of its own goes to Cognito beside these, and takes one of Cognito's places.
  var addsLogin: Bool { get }
  /// Why nobody at it can have this name or password; nil if somebody may.
  func refusal(ofName username: String, _ password: Secret) -> ProtocolError?
  /// Whether it can be told of a sign-out.
  var reportsSignOut: Bool { get }
  /// How users sign in without a password: the first is the default.
  var signInWays: [SignInWay] { get }
  /// How a browser signs in; nil where none does.
  var browserSignIn: BrowserSettings? { get }
  /// The scopes of a sign-in by device code; nil where none is offered.
  var deviceScopes: [String]? { get }
  /// The claims that an ID token must have.
  var required: [RequiredClaim] { get }
  /// The settings on which a sign-in under way depends: not what is done with accounts.
  var signInSettings: any BackendKind { get }

  // Accounts.

  /// Why it does not do this action; nil if it may.
  ///
  /// - Parameter place: names the backend, for the message.
  func refusal(of input: AccountInput, at place: String) -> ProtocolError?
  /// The same where users make accounts, and do nothing else with them.
  func refusalOfSignUp(_ signUp: SignUp, at place: String) -> ProtocolError?

  // Its requests.

  /// Whether callbacks carry the developer user identifier. Without it, the URL names the user.
  var sendsUserIdentifier: Bool { get }
  /// Whether every callback needs the user's name, which a uid may not have. After a sign-in with a
  /// password the backend's own name for the user may take the place of the identifier.
  ///
  /// - Parameter userIdentifier: the profile's template.
  func needsUserName(userIdentifier: Template) -> Bool

  // Its places.

  /// Scheme, host and port of its server, with a slash; nil for a command, for AWS and for a user pool.
  var origin: String? { get }
  /// The key with the host of its service, where the configuration has it: then none of AWS's own hosts
  /// can be chosen.
  var fixedHostKey: String? { get }
  /// PEM file of certificate authorities, in place of the system's.
  var caFile: String? { get }
  /// The URLs of a provider that the configuration says.
  var providerEndpoints: ProviderEndpoints { get }
  /// The key of its tokens in the logins map, where the configuration has one.
  var providerName: String? { get }
  /// The files and programs that its keys name.
  var namedFiles: [NamedFile] { get }

  // Fingerprints.

  /// Where it is and which authorities vouch for it: in this order, for a stored fingerprint.
  ///
  /// - Parameter issuer: of a provider.
  func place(of issuer: ProviderIssuer?) -> [String?]
  /// Which of its settings decide what credentials a user gets. Without one, the fingerprint is that of
  /// earlier versions.
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

  public func refusal(of input: AccountInput, at place: String) -> ProtocolError? {
    guard case .signUp(let signUp) = input else {
      return ProtocolError(
        .invalidRequest, "\(place) does not offer the action \(input.action.rawValue.quoted)")
    }
    return refusalOfSignUp(signUp, at: place)
  }

  public func refusalOfSignUp(_ signUp: SignUp, at place: String) -> ProtocolError? {
    .noRegisterURL(at: place)
  }

  public var sendsUserIdentifier: Bool { true }
  public func needsUserName(userIdentifier: Template) -> Bool { userIdentifier.needsUserName }
  public var origin: String? { nil }
  public var fixedHostKey: String? { nil }
  public var caFile: String? { nil }
  public var providerEndpoints: ProviderEndpoints { ProviderEndpoints() }
  public var providerName: String? { nil }
  public var namedFiles: [NamedFile] { [] }
  public var credentialSettings: [String] { [] }

  /// The word of the key `type`.
  public var type: BackendType { Self.type }
  /// The word of the type in stored fingerprints.
  var storedWord: String { Self.storedWord }

  func isEqual(to other: any BackendKind) -> Bool { (other as? Self) == self }
}

extension ProtocolError {
  static func noRegisterURL(at place: String) -> ProtocolError {
    ProtocolError(
      .invalidRequest, "\(place) does not offer the action \"sign-up\": it has no register_url")
  }
}

/// A file or program that a key of a backend names, for a check of the configuration.
public struct NamedFile: Sendable, Equatable {
  /// The content that credd expects.
  public enum Content: Sendable, Equatable {
    case secret
    /// PEM with a block of this name in it.
    case pem(String)
    case program
    case socket
  }

  public let key: String
  public let path: String
  public let content: Content

  /// Nil without a path.
  init?(_ key: String, _ path: String?, _ content: Content) {
    guard let path else { return nil }
    self.key = key
    self.path = path
    self.content = content
  }
}

/// How a type of backend is read from its section.
protocol ConfiguredBackend: BackendKind {
  /// Before its keys are read: a required one has a placeholder.
  init()

  /// Its keys, in the order in which missing ones are reported.
  static var rows: [ConfigurationKey<Self>] { get }

  /// Whether callbacks can say who asks: the key `send_caller`.
  static var canSendCaller: Bool { get }

  /// Reports what is wrong between its keys. A key with a wrong value counts as present: it has its own
  /// error already.
  func check(_ section: INISection, _ reader: inout ConfigurationReader)
}

extension ConfiguredBackend {
  static var canSendCaller: Bool { false }
  func check(_ section: INISection, _ reader: inout ConfigurationReader) {}

  /// Its keys in a section whose type may follow them.
  static var keys: [ConfigurationKey<BackendDraft>] {
    rows.map { row in
      ConfigurationKey(row.reference.of(type), takesVariables: row.takesVariables) {
        value, member, draft throws(InvalidValue) in
        try row.assign(value, member, &draft[Self.self])
      }
    }
  }
}
