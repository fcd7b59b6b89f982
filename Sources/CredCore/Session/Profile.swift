/// A profile with everything that is derived from its configuration.
///
/// A class because it never changes, and every request and every session has a reference to it: each
/// copy of a struct of its size would count some 40 references.
public final class Profile: Sendable, Equatable {
  public let settings: ProfileSettings
  public let backend: BackendSettings?
  public let way: Way
  /// The same, for what is asked of every way. It is kept, because requests ask it.
  let kind: any WayKind
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

  /// - Throws: for values that the configuration reader has refused already.
  public init(
    _ settings: ProfileSettings, in configuration: Configuration, groupID: (String) -> UInt32?
  ) throws(InvalidInput) {
    way = try Way(settings, in: configuration, groupID: groupID)
    kind = way.kind
    let settings = kind.effective(settings)
    self.settings = settings
    backend = configuration.backend(of: settings)
    access = AccessRule(settings, groupID: groupID).inheriting(from: kind.source?.access)
    needsUserName =
      kind.needsUserName
      || backend?.kind.needsUserName(userIdentifier: settings.userIdentifier) ?? false
    var plan = SessionPlan(
      backend: try backend?.kind.trust(in: settings) ?? .none, way: kind.plan,
      tokenFileProvider: settings.way.tokenFileProvider,
      keepsAccessToken: settings.vendTokens.contains { [.access, .account].contains($0) })
    plan.providerName = (kind.link?.backend ?? backend)?.kind.providerName
    self.plan = plan
    let sides = FingerprintedSides(settings: settings, backend: backend, plan: plan)
    identityFingerprint = kind.identity(sides)
    credentialsFingerprint = kind.credentials(sides, of: identityFingerprint)
    backendFingerprint = Fingerprint(placeOf: backend, plan.backend.issuer)
  }

  public static func == (one: Profile, other: Profile) -> Bool {
    if one === other { return true }
    return one.settings == other.settings && one.backend == other.backend
      && one.way == other.way && one.plan == other.plan
      && one.access == other.access
      && one.needsUserName == other.needsUserName
      && one.identityFingerprint == other.identityFingerprint
      && one.credentialsFingerprint == other.credentialsFingerprint
      && one.backendFingerprint == other.backendFingerprint
  }
}

/// The profiles of linked providers, and of others at which users sign in.
extension Profile {
  /// The profile as it would be with only that provider; nil if the backend is no provider.
  public func signingIn(at backend: String, in configuration: Configuration) -> Profile? {
    guard configuration.backends[backend]?.kind is any ProviderKind else { return nil }
    return try? Profile(settings.signingIn(at: backend), in: configuration) { _ in nil }
  }

  /// The profile through whose backend users sign in with a browser or a device code.
  public var signInProfile: Profile { link ?? self }
}
