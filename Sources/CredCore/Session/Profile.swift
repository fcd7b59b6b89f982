/// A profile with everything that is derived from its configuration.
///
/// A class because it never changes, and every request and every session has a reference to it: each
/// copy of a struct of its size would count some 40 references.
public final class Profile: Sendable, Equatable {
  public let settings: ProfileSettings
  public let backend: BackendSettings?
  /// Nil in the direct flow, and where programs get a provider's tokens alone.
  public let identityPool: PlacedIdentityPool?
  /// The role of the direct flow; nil for another one.
  public let directRole: DirectRole?
  public let plan: SessionPlan
  /// The profile as it would be with its `link_backend` as only backend: users sign in through it
  /// to be linked. Nil without a `link_backend`.
  public let link: Profile?
  /// The profile whose credentials sign the call for this one's; nil for a profile with an identity of
  /// its own.
  public let source: Profile?
  /// How it gets credentials from its source; nil without one.
  public let derivation: Derivation?
  public let access: AccessRule
  /// Whether a uid without a name cannot use it.
  public let needsUserName: Bool
  /// If it changes, a stored session is dropped.
  public let identityFingerprint: Fingerprint
  /// If it changes, stored credentials are fetched anew.
  public let credentialsFingerprint: Fingerprint
  /// If it changes, the backend gets nothing that the former one gave.
  public let backendFingerprint: Fingerprint

  /// - Throws: for values that the configuration reader has refused already.
  public init(
    _ settings: ProfileSettings, in configuration: Configuration, groupID: (String) -> UInt32?
  ) throws(InvalidInput) {
    let source = try Self.source(of: settings, in: configuration, groupID: groupID)
    let settings = Self.effective(settings, from: source)
    self.settings = settings
    self.source = source
    derivation = try Self.derivation(of: settings, from: source, in: configuration)
    backend = configuration.backend(of: settings)
    identityPool =
      settings.identityPoolID.isEmpty ? nil : try PlacedIdentityPool(settings)
    directRole = try DirectRole(settings, in: configuration)
    access = AccessRule(settings, groupID: groupID).inheriting(from: source?.access)
    needsUserName =
      configuration.needsUserName(settings) || derivation?.needsUserName ?? false
      || directRole?.policy?.needsUserName ?? false || source?.needsUserName ?? false
    link = try Self.link(of: settings, in: configuration, groupID: groupID)
    var plan = SessionPlan(
      backend: try backend?.kind.trust(in: settings) ?? .none, flow: settings.flow,
      allowsGuests: settings.guest, tokenFileProvider: settings.tokenFileProvider,
      developerLoginKey: settings.loginsKey ?? AWSPartition.loginsKey(region: settings.region),
      keepsAccessToken: settings.vendTokens.contains { [.access, .account].contains($0) })
    plan.givesTokensAlone = identityPool == nil && derivation == nil && directRole == nil
    plan.derived = derivation.map { DerivedPlan($0) }
    plan.link = link?.plan.backend.issuer
    plan.providerName = (link?.backend ?? backend)?.kind.providerName
    self.plan = plan
    if let source, let derivation {
      identityFingerprint = Fingerprint(identityOf: settings, from: source)
      credentialsFingerprint = Fingerprint(
        credentialsOf: settings, derivation, from: source, of: identityFingerprint)
    } else {
      identityFingerprint = Fingerprint(identityOf: settings, backend, plan)
      credentialsFingerprint = Fingerprint(
        credentialsOf: settings, backend, directRole, of: identityFingerprint)
    }
    backendFingerprint = Fingerprint(placeOf: backend, plan.backend.issuer)
  }

  public static func == (one: Profile, other: Profile) -> Bool {
    if one === other { return true }
    return one.settings == other.settings && one.backend == other.backend
      && one.identityPool == other.identityPool && one.directRole == other.directRole
      && one.plan == other.plan && one.link == other.link
      && one.source == other.source && one.derivation == other.derivation
      && one.access == other.access
      && one.needsUserName == other.needsUserName
      && one.identityFingerprint == other.identityFingerprint
      && one.credentialsFingerprint == other.credentialsFingerprint
      && one.backendFingerprint == other.backendFingerprint
  }

  public var pool: IdentityPoolID? { identityPool?.id }
}

/// An identity pool, and the hosts that give credentials for its identities.
public struct PlacedIdentityPool: Sendable, Equatable {
  public let id: IdentityPoolID
  public let cognito: CognitoIdentity
  public let sts: STS

  /// - Throws: for values that the configuration reader refuses before.
  fileprivate init(_ settings: ProfileSettings) throws(InvalidInput) {
    id = try IdentityPoolID(settings.identityPoolID)
    cognito = CognitoIdentity(try settings.cognitoIdentity)
    sts = try settings.sts(in: settings.region)
  }
}

/// The profiles of its own and linked providers.
extension Profile {
  private static func link(
    of settings: ProfileSettings, in configuration: Configuration, groupID: (String) -> UInt32?
  ) throws(InvalidInput) -> Profile? {
    guard let name = settings.linkBackend else { return nil }
    return try Profile(settings.signingIn(at: name), in: configuration, groupID: groupID)
  }

  /// The profile as it would be with only that provider; nil if the backend is no provider.
  public func signingIn(at backend: String, in configuration: Configuration) -> Profile? {
    guard configuration.backends[backend]?.kind is any ProviderKind else { return nil }
    return try? Profile(settings.signingIn(at: backend), in: configuration) { _ in nil }
  }

  /// The profile through whose backend users sign in with a browser or a device code.
  public var signInProfile: Profile { link ?? self }
}

extension ProfileSettings {
  fileprivate var cognitoIdentity: AWSHost {
    get throws(InvalidInput) {
      if let cognitoEndpoint {
        return try AWSHost(.cognitoIdentity, region: region, custom: cognitoEndpoint.text)
      }
      return try AWSHost(.cognitoIdentity, region: region, fips: fips, dualStack: dualstack)
    }
  }

  fileprivate func signingIn(at backend: String) -> ProfileSettings {
    var next = self
    next.backend = backend
    next.linkBackend = nil
    next.developerProvider = nil
    next.vendTokens = []
    return next
  }
}
