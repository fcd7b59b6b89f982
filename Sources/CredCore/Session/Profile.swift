/// A profile with everything that is derived from its configuration.
///
/// A class because it never changes, and every request and every session has a reference to it: each
/// copy of a struct of its size would count some 40 references.
public final class Profile: Sendable, Equatable {
  public let settings: ProfileSettings
  public let backend: BackendSettings?
  public let pool: IdentityPoolID
  public let cognito: CognitoIdentity
  public let sts: STS
  /// The endpoint of the backend's user pool; nil with another backend.
  public let userPoolEndpoint: AWSEndpoint?
  public let plan: SessionPlan
  public let access: AccessRule
  /// Whether a uid without a name cannot use it.
  public let needsUserName: Bool
  /// If it changes, a stored session is dropped.
  public let identityFingerprint: Fingerprint
  /// If it changes, stored credentials are fetched anew.
  public let credentialsFingerprint: Fingerprint
  /// If it changes, the backend gets nothing that the former one gave.
  public let backendFingerprint: Fingerprint

  /// - Throws: for values that the configuration reader refuses before.
  public init(
    _ settings: ProfileSettings, in configuration: Configuration, groupID: (String) -> UInt32?
  ) throws(InvalidInput) {
    self.settings = settings
    backend = configuration.backend(of: settings)
    pool = try IdentityPoolID(settings.identityPoolID)
    cognito = CognitoIdentity(
      try Self.endpoint(.cognitoIdentity, settings, settings.cognitoEndpoint))
    sts = STS(try Self.endpoint(.sts, settings, settings.stsEndpoint))
    access = AccessRule(settings, groupID: groupID)
    needsUserName = configuration.needsUserName(settings)
    userPoolEndpoint = try Self.userPoolEndpoint(backend, settings)
    plan = SessionPlan(
      backend: try Self.trust(backend, userPoolEndpoint), flow: settings.flow,
      allowsGuests: settings.guest, tokenFileProvider: settings.webIdentityProvider,
      developerLoginKey: settings.loginsKey ?? AWSPartition.loginsKey(region: pool.region),
      keepsAccessToken: settings.vendTokens.contains { $0 != .id })
    identityFingerprint = Fingerprint(identityOf: settings, backend, plan)
    credentialsFingerprint = Fingerprint(credentialsOf: settings, of: identityFingerprint)
    backendFingerprint = Fingerprint(placeOf: backend, plan.backend.issuer)
  }

  public static func == (one: Profile, other: Profile) -> Bool {
    if one === other { return true }
    return one.settings == other.settings && one.backend == other.backend
      && one.pool == other.pool && one.cognito == other.cognito && one.sts == other.sts
      && one.plan == other.plan && one.access == other.access
      && one.needsUserName == other.needsUserName
      && one.identityFingerprint == other.identityFingerprint
      && one.credentialsFingerprint == other.credentialsFingerprint
      && one.backendFingerprint == other.backendFingerprint
  }

  private static func endpoint(
    _ service: AWSEndpoint.Service, _ settings: ProfileSettings, _ custom: HTTPURL?
  ) throws(InvalidInput) -> AWSEndpoint {
    // FIPS and dualstack choose among AWS's own hosts: the reader refuses them beside an endpoint.
    if let custom {
      return try AWSEndpoint(service, region: settings.region, custom: custom.text)
    }
    return try AWSEndpoint(
      service, region: settings.region, fips: settings.fips, dualStack: settings.dualstack)
  }

  private static func userPoolEndpoint(
    _ backend: BackendSettings?, _ settings: ProfileSettings
  ) throws(InvalidInput) -> AWSEndpoint? {
    guard case .userPool(let pool) = backend?.kind else { return nil }
    let region = try UserPoolID(pool.userPoolID).region
    if let custom = pool.endpoint {
      return try AWSEndpoint(.cognitoUserPools, region: region, custom: custom.text)
    }
    return try AWSEndpoint(
      .cognitoUserPools, region: region, fips: settings.fips, dualStack: settings.dualstack)
  }

  private static func trust(
    _ backend: BackendSettings?, _ endpoint: AWSEndpoint?
  ) throws(InvalidInput) -> SessionPlan.BackendTrust {
    switch backend?.kind {
    case nil: .none
    case .http(let http): http.loginURL == nil ? .host : .password
    case .exec, .cognito: .host
    case .awsSample: .password
    case .userPool(let pool):
      .userPool(
        PoolIssuer(
          pool: try UserPoolID(pool.userPoolID), clientID: pool.clientID,
          endpoint: endpoint?.url ?? ""))
    }
  }
}

extension Profile {
  /// The app client of the profile's user pool; nil with another backend.
  ///
  /// - Parameter secret: the content of `client_secret_file`, which is read for each call.
  /// - Throws: if Cognito would refuse the secret.
  public func userPoolClient(secret: Secret?) throws(InvalidInput) -> UserPoolClient? {
    guard let backend, let endpoint = userPoolEndpoint, let issuer = plan.backend.issuer else {
      return nil
    }
    return try UserPoolClient(
      backend: backend.name, endpoint: endpoint, pool: issuer.pool, id: issuer.clientID,
      secret: secret)
  }
}

extension Profile {
  /// How users sign in, for clients that ask before they sign in.
  public var signInMeans: [SignInMeans] {
    var means: [SignInMeans] = []
    if plan.worksUnattended { means.append(.host) }
    if plan.backend == .password || plan.backend.issuer != nil { means.append(.password) }
    // A developer token is a backend's word, not a user pool's.
    if plan.backend.issuer == nil { means.append(.token) }
    if takesLogins { means.append(.logins) }
    return means
  }

  /// Whether its backend can be told of a sign-out.
  public var reportsSignOut: Bool {
    switch backend?.kind {
    case .http(let http): http.logoutURL != nil
    case .userPool: true
    case nil, .exec, .cognito, .awsSample: false
    }
  }

  /// With `method = GET` a backend gets nothing but its URL, and so no logins.
  private var takesLogins: Bool {
    guard case .http(let http) = backend?.kind else { return true }
    return http.method != .get
  }

  /// Why a `login` does not fit this profile; checked before any call.
  public func refusal(of login: LoginRequest) -> ProtocolError? {
    if login.customRoleARN != nil, plan.flow == .basic {
      return ProtocolError(
        .invalidRequest,
        "\"custom_role_arn\" belongs to the enhanced flow, and profile '\(settings.name)' has the "
          + "basic one: its role is role_arn")
    }
    if login.metadata != nil || login.validationData != nil, let error = refusalOfMetadata {
      return error
    }
    switch login.signIn {
    case .host: return refusalOfHost
    case .username:
      guard let settings = userPool else {
        return ProtocolError(
          .invalidRequest,
          "\"username\" needs \"password\": profile '\(self.settings.name)' has no user pool to "
            + "ask for it")
      }
      guard settings.authFlow.needsPassword else { return nil }
      return ProtocolError(
        .signInRequired, "profile '\(self.settings.name)' needs a password")
    case .password:
      guard plan.backend != .password, plan.backend.issuer == nil else { return nil }
      return ProtocolError(
        .invalidRequest, "profile '\(settings.name)' has no backend that takes passwords")
    case .poolTokens: return nil
    case .developerToken where plan.backend.issuer != nil:
      return ProtocolError(
        .invalidRequest,
        "profile '\(settings.name)' has a user pool: it takes no developer token")
    case .developerToken(let identityID, let token):
      return refusal(of: identityID) ?? refusal(of: token, for: identityID)
    case .logins(let logins, let identityID, let isAlone):
      return refusal(of: logins) ?? identityID.flatMap(refusal)
        ?? (isAlone ? nil : refusalOfLinking(identityID))
    }
  }

  /// Only the backend says who is whom at the developer provider: a client that could would name
  /// another user there.
  private func refusal(of logins: LoginsMap) -> ProtocolError? {
    let own = settings.developerProvider?.lowercased()
    for provider in logins.logins.map(\.provider) {
      if provider.lowercased() == own {
        return ProtocolError(
          .invalidRequest,
          "provider \(provider.quoted) in \"logins\" is the developer_provider of profile "
            + "'\(settings.name)': only its backend vouches for users there")
      }
      if provider.lowercased() == plan.backend.issuer?.pool.loginsKey.lowercased() {
        return ProtocolError(
          .invalidRequest,
          "provider \(provider.quoted) in \"logins\" is the user pool of profile "
            + "'\(settings.name)' itself: sign in to it")
      }
      if provider == plan.developerLoginKey {
        return ProtocolError(
          .invalidRequest,
          "provider \(provider.quoted) in \"logins\" is the key of developer tokens: they go into "
            + "\"token\", with their \"identity_id\"")
      }
    }
    return nil
  }

  private func refusal(of identityID: IdentityID) -> ProtocolError? {
    guard identityID.region != pool.region else { return nil }
    return ProtocolError(
      .invalidRequest,
      "\"identity_id\" is of region \(identityID.region.quoted), and the pool of profile "
        + "'\(settings.name)' of \(pool.region)")
  }

  /// Why logins cannot go to the backend to be linked.
  private func refusalOfLinking(_ identityID: IdentityID?) -> ProtocolError? {
    guard let backend else { return nil }
    if identityID != nil {
      return ProtocolError(
        .invalidRequest,
        "in profile '\(settings.name)' the backend says whose identity it is: \"identity_id\" beside "
          + "\"logins\" takes \"alone\": true")
    }
    guard case .http(let http) = backend.kind, http.method == .get else { return nil }
    return ProtocolError(
      .invalidRequest,
      "backend '\(backend.name)' of profile '\(settings.name)' has method = GET, which carries no "
        + "logins: \"logins\" takes \"alone\": true, or the backend method = POST")
  }

  /// In the basic flow only the token says whose it is: STS is not told the IdentityId.
  private func refusal(of token: DeveloperToken, for identityID: IdentityID) -> ProtocolError? {
    // Cognito would not notice: it gives the other pool's credentials.
    if let audience = token.audience.flatMap({ try? IdentityPoolID($0) }), audience != pool {
      return ProtocolError(
        .tokenRejected,
        "\"token\" is for another identity pool than that of profile '\(settings.name)'")
    }
    switch token.subject {
    case identityID: return nil
    case nil where plan.flow == .enhanced: return nil
    default:
      return ProtocolError(
        .tokenRejected, "\"token\" is not a token of Cognito for the identity \"identity_id\"")
    }
  }

  private var userPool: UserPoolSettings? {
    if case .userPool(let settings) = backend?.kind { settings } else { nil }
  }

  /// Why clients may send nothing for the triggers of a user pool; nil if they may.
  public var refusalOfMetadata: ProtocolError? {
    guard let userPool else {
      return ProtocolError(
        .invalidRequest,
        "\"client_metadata\" and \"validation_data\" are for user pools, and profile "
          + "'\(settings.name)' has none")
    }
    guard !userPool.takesClientMetadata else { return nil }
    return ProtocolError(
      .invalidRequest,
      "profile '\(settings.name)' takes no \"client_metadata\" and no \"validation_data\": its "
        + "backend has client_metadata = no")
  }

  private var refusalOfHost: ProtocolError? {
    if plan.worksUnattended { return nil }
    guard plan.backend != .password, plan.backend.issuer == nil else {
      // At this code a client asks the user for a password.
      return ProtocolError(.signInRequired, "profile '\(settings.name)' needs a password")
    }
    return ProtocolError(
      .invalidRequest,
      "profile '\(settings.name)' has no backend: \"login\" needs \"identity_id\" with \"token\", or "
        + "\"logins\"")
  }
}

extension Profile {
  /// Which kind of token `token` gives.
  ///
  /// - Throws: why it gives none.
  public func tokenKind(_ asked: TokenKind?) throws(ProtocolError) -> TokenKind {
    guard userPool != nil else {
      guard asked == nil || asked == .developer else {
        throw .invalid(
          "profile '\(settings.name)' has no user pool, and so no tokens of the kind "
            + (asked?.rawValue ?? "").quoted)
      }
      return .developer
    }
    let vended = settings.vendTokens.map { $0 == .id ? TokenKind.id : .access }
    guard let kind = asked ?? vended.first else {
      throw ProtocolError(
        .accessDenied, "profile '\(settings.name)' hands out no tokens: see vend_tokens")
    }
    guard kind != .developer else {
      throw .invalid(
        "the users of profile '\(settings.name)' sign in to a user pool, which gives no developer "
          + "tokens")
    }
    guard vended.contains(kind) else {
      throw ProtocolError(
        .accessDenied,
        "profile '\(settings.name)' hands out no \(kind.rawValue) tokens: see vend_tokens")
    }
    return kind
  }

  /// Why a program does not get this access token; nil if it may.
  public func refusal(ofVending token: HeldPoolToken) -> ProtocolError? {
    guard token.mayChangeAccount, !settings.vendTokens.contains(.account) else { return nil }
    return ProtocolError(
      .accessDenied,
      "this access token may change the user's account, which takes the word 'account' in "
        + "vend_tokens of profile '\(settings.name)'")
  }
}

/// What a profile's configuration means for its sessions.
public struct SessionPlan: Sendable, Equatable {
  /// How the profile's backend authenticates a user. The names of the cases are part of stored
  /// fingerprints.
  public enum BackendTrust: Sendable, Equatable {
    /// There is no backend.
    case none
    /// The backend trusts the host: the first `get` signs in by itself.
    case host
    /// The backend requires a password.
    case password
    /// The backend is a user pool: users prove there who they are, and its tokens go to Cognito.
    indirect case userPool(PoolIssuer)

    /// Of the user pool; nil for another backend.
    public var issuer: PoolIssuer? { if case .userPool(let issuer) = self { issuer } else { nil } }
  }

  public var backend: BackendTrust
  /// The provider of the token in the profile's token file, which signs in unattended.
  public var tokenFileProvider: String?
  /// The key of a developer token in `Logins`; it depends on the partition.
  public var developerLoginKey: String
  // Small ones last: a session's other small values fill the rest of their word.
  public var flow: ProfileSettings.Flow
  /// Unauthenticated identities are allowed.
  public var allowsGuests: Bool
  /// Whether a user pool's access token is kept, to be handed out.
  public var keepsAccessToken: Bool

  /// Whether a session signs in without a `login`.
  public var worksUnattended: Bool { backend == .host || tokenFileProvider != nil }

  public init(
    backend: BackendTrust, flow: ProfileSettings.Flow = .enhanced, allowsGuests: Bool = false,
    tokenFileProvider: String? = nil,
    developerLoginKey: String = "cognito-identity.amazonaws.com", keepsAccessToken: Bool = false
  ) {
    self.backend = backend
    self.flow = flow
    self.allowsGuests = allowsGuests
    self.tokenFileProvider = tokenFileProvider
    self.developerLoginKey = developerLoginKey
    self.keepsAccessToken = keepsAccessToken
  }
}
