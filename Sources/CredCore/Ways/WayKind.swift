/// What other code asks of a profile's way. The defaults fit a way at which users sign in.
protocol WayKind: Sendable, Equatable {
  /// What its sessions must know.
  var plan: PlannedWay { get }
  /// The profile whose credentials sign the call for this one's; nil where users sign in here.
  var source: Profile? { get }
  /// The profile as it would be with its `link_backend` as only backend; nil without one.
  var link: Profile? { get }
  /// Whether a uid without a name cannot use it.
  var needsUserName: Bool { get }
  /// The settings as they hold.
  func effective(_ settings: ProfileSettings) -> ProfileSettings

  // Fingerprints. Each keeps its value from version to version.

  /// Covers the settings that decide which identity a user has and how the user is authenticated.
  func identity(_ sides: FingerprintedSides) -> Fingerprint
  /// Covers the settings of the identity's fingerprint, and the settings that decide which credentials
  /// an identity gets.
  func credentials(_ sides: FingerprintedSides, of identity: Fingerprint) -> Fingerprint

  // Sign-ins.

  /// Whether clients may bring developer tokens and logins of their own.
  var takesTokensOfClients: Bool { get }
  /// What a `login` can only have in another way; nil where it has nothing of that.
  func refusal(of login: LoginRequest, in profile: Profile) -> ProtocolError?
  /// Why an identity that a client names is none of the profile's; nil if it may be one.
  func refusal(of identityID: IdentityID, in profile: Profile) -> ProtocolError?
  /// Why a client's developer token is not used; nil if it may be right.
  func refusal(
    of token: DeveloperToken, for identityID: IdentityID, in profile: Profile
  ) -> ProtocolError?
  /// Whether ID tokens may have another algorithm than those that Cognito takes.
  var takesEveryAlgorithm: Bool { get }
  /// Why a user whom the provider has accepted gets nothing; nil if nothing is in the way.
  func refusal(
    of signIn: AcceptedSignIn, for user: UnixUser, host: String
  ) -> UpstreamFailure?

  // What is handed out.

  /// Why it gives no credentials; nil where it does.
  func refusalOfCredentials(in profile: Profile) -> ProtocolError?
  /// Why it gives no token of this kind, whatever `vend_tokens` says.
  func refusal(ofToken kind: TokenKind?, in profile: Profile) -> ProtocolError?

  // What is said of it.

  /// What replies say of the way and of what a session got by it; nil for nothing.
  ///
  /// - Parameter mayName: whether the reader may know a profile.
  func report(
    _ credentials: Credentials?, naming mayName: (_ profile: String) -> Bool
  ) -> DerivedReport?
  /// From which key the key of credentials comes, and what narrows them: names and values for the journal.
  func origin(of credentials: Credentials?) -> [String: String]
  /// The name at AWS of the call that the source's credentials sign; nil without a source.
  var operationOfSource: String? { get }
  /// The regions that its keys name.
  var regions: [NamedRegion] { get }
  /// The settings that say how its STS is reached.
  func place(of settings: ProfileSettings) -> ProfileSettings
  /// The key from which its region is.
  var regionKey: String { get }
  /// The region whose STS it calls; empty where it calls none.
  var region: String { get }
  /// The AWS account of its credentials, where the configuration tells it.
  var account: String? { get }
}

extension WayKind {
  var source: Profile? { nil }
  var link: Profile? { nil }
  var needsUserName: Bool { false }
  func effective(_ settings: ProfileSettings) -> ProfileSettings { settings }

  var takesTokensOfClients: Bool { false }
  var takesEveryAlgorithm: Bool { false }
  func refusal(of login: LoginRequest, in profile: Profile) -> ProtocolError? { nil }
  func refusal(of identityID: IdentityID, in profile: Profile) -> ProtocolError? { nil }
  func refusal(
    of token: DeveloperToken, for identityID: IdentityID, in profile: Profile
  ) -> ProtocolError? { nil }
  func refusal(
    of signIn: AcceptedSignIn, for user: UnixUser, host: String
  ) -> UpstreamFailure? { nil }

  func refusalOfCredentials(in profile: Profile) -> ProtocolError? { nil }
  func refusal(ofToken kind: TokenKind?, in profile: Profile) -> ProtocolError? { nil }

  func report(
    _ credentials: Credentials?, naming mayName: (_ profile: String) -> Bool
  ) -> DerivedReport? { nil }
  func origin(of credentials: Credentials?) -> [String: String] { [:] }
  var operationOfSource: String? { nil }
  func place(of settings: ProfileSettings) -> ProfileSettings { settings }
  var regions: [NamedRegion] { [] }
  var regionKey: String { "identity_pool_id" }
  var region: String { "" }
  var account: String? { nil }
}
