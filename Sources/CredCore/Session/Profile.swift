/// A profile with all that follows from its configuration.
///
/// A class because it never changes and is handed around with every request and held by every
/// session: a struct of its size has some 40 references to count with each copy.
public final class Profile: Sendable, Equatable {
  public let settings: ProfileSettings
  public let backend: BackendSettings?
  public let pool: IdentityPoolID
  public let cognito: CognitoIdentity
  public let sts: STS
  public let plan: SessionPlan
  public let access: AccessRule
  /// A uid without a name cannot use it.
  public let needsUserName: Bool
  /// Where it changed, a stored session is another's.
  public let identityFingerprint: Fingerprint
  /// Where it changed, stored credentials are fetched anew.
  public let credentialsFingerprint: Fingerprint

  /// - Throws: for what the configuration reader has refused already.
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
    plan = SessionPlan(
      backend: Self.trust(backend), flow: settings.flow == .basic ? .basic : .enhanced,
      allowsGuests: settings.guest, tokenFileProvider: settings.webIdentityProvider,
      developerLoginKey: settings.loginsKey ?? AWSPartition.loginsKey(region: pool.region))
    identityFingerprint = Fingerprint(identityOf: settings, backend, plan)
    credentialsFingerprint = Fingerprint(credentialsOf: settings, of: identityFingerprint)
  }

  public static func == (one: Profile, other: Profile) -> Bool {
    if one === other { return true }
    return one.settings == other.settings && one.backend == other.backend
      && one.pool == other.pool && one.cognito == other.cognito && one.sts == other.sts
      && one.plan == other.plan && one.access == other.access
      && one.needsUserName == other.needsUserName
      && one.identityFingerprint == other.identityFingerprint
      && one.credentialsFingerprint == other.credentialsFingerprint
  }

  private static func endpoint(
    _ service: AWSEndpoint.Service, _ settings: ProfileSettings, _ custom: HTTPURL?
  ) throws(InvalidInput) -> AWSEndpoint {
    // FIPS and dualstack choose among AWS's own hosts; the reader refuses them beside an endpoint.
    if let custom {
      return try AWSEndpoint(service, region: settings.region, custom: custom.text)
    }
    return try AWSEndpoint(
      service, region: settings.region, fips: settings.fips, dualStack: settings.dualstack)
  }

  private static func trust(_ backend: BackendSettings?) -> SessionPlan.BackendTrust {
    switch backend?.kind {
    case nil: .none
    case .http(let http): http.loginURL == nil ? .host : .password
    case .exec, .cognito: .host
    case .awsSample: .password
    }
  }
}

extension Profile {
  /// Why a `login` cannot be meant for this profile; found out before anybody is called.
  public func refusal(of login: LoginRequest) -> ProtocolError? {
    if login.customRoleARN != nil, plan.flow == .basic {
      return ProtocolError(
        .invalidRequest,
        "\"custom_role_arn\" belongs to the enhanced flow, and profile '\(settings.name)' has the "
          + "basic one: its role is role_arn")
    }
    switch login.signIn {
    case .host: return refusalOfHost
    case .password:
      guard plan.backend != .password else { return nil }
      return ProtocolError(
        .invalidRequest, "profile '\(settings.name)' has no backend that takes passwords")
    case .developerToken(let identityID, _):
      guard identityID.region != pool.region else { return nil }
      return ProtocolError(
        .invalidRequest,
        "\"identity_id\" is of region \(identityID.region.quoted), and the pool of profile "
          + "'\(settings.name)' of \(pool.region)")
    case .logins: return nil
    }
  }

  private var refusalOfHost: ProtocolError? {
    if plan.worksUnattended { return nil }
    guard plan.backend != .password else {
      // By this code a client knows that it should ask the user for one.
      return ProtocolError(.signInRequired, "profile '\(settings.name)' needs a password")
    }
    return ProtocolError(
      .invalidRequest,
      "profile '\(settings.name)' has no backend: \"login\" needs \"identity_id\" with \"token\", or "
        + "\"logins\"")
  }
}

/// What a profile's configuration means for its sessions.
public struct SessionPlan: Sendable, Equatable {
  /// How the profile's backend knows a user.
  public enum BackendTrust: Sendable, Equatable {
    /// There is no backend.
    case none
    /// It believes credd: the first `get` signs in by itself.
    case host
    /// It wants a password first.
    case password
  }

  /// How a token becomes credentials.
  public enum Flow: Sendable, Equatable {
    /// GetCredentialsForIdentity.
    case enhanced
    /// AssumeRoleWithWebIdentity.
    case basic
  }

  public var backend: BackendTrust
  public var flow: Flow
  /// Unauthenticated identities are allowed.
  public var allowsGuests: Bool
  /// The provider whose token a file holds: a login that needs nobody.
  public var tokenFileProvider: String?
  /// The key under which a developer token stands in `Logins`; it depends on the partition.
  public var developerLoginKey: String

  /// Something vouches for the user without anybody's doing.
  public var worksUnattended: Bool { backend == .host || tokenFileProvider != nil }

  public init(
    backend: BackendTrust, flow: Flow = .enhanced, allowsGuests: Bool = false,
    tokenFileProvider: String? = nil,
    developerLoginKey: String = "cognito-identity.amazonaws.com"
  ) {
    self.backend = backend
    self.flow = flow
    self.allowsGuests = allowsGuests
    self.tokenFileProvider = tokenFileProvider
    self.developerLoginKey = developerLoginKey
  }
}
