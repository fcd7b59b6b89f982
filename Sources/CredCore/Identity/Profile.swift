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
    _ service: AWSEndpoint.Service, _ settings: ProfileSettings, _ custom: ConfiguredURL?
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
