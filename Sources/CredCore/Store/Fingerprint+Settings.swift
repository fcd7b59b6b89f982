extension Fingerprint {
  /// Covers the settings that decide which identity a user has and how the user is authenticated.
  init(identityOf settings: ProfileSettings, _ backend: BackendSettings?, _ plan: SessionPlan) {
    self.init()
    add(settings.identityPoolID)
    add(settings.developerProvider)
    add(settings.userIdentifier.text)
    add(backend?.name)
    add(backend?.kind.storedWord)
    add(plan.backend.storedWord)
    add(plan.allowsGuests)
    add(plan.tokenFileProvider)
    add(settings.webIdentityTokenFile)
    // Without a pool, its word tells it from a profile for tokens alone.
    if settings.flow == .direct { add(settings.flow.storedWord) }
  }

  /// Covers the settings of the identity's fingerprint, and the settings that decide which
  /// credentials an identity gets. Endpoints are not among them.
  init(
    credentialsOf settings: ProfileSettings, _ backend: BackendSettings?, _ direct: DirectRole?,
    of identity: Fingerprint
  ) {
    self = identity
    add(settings.flow.storedWord)
    add(settings.roleARN)
    add(settings.roleSessionName.text)
    add("\(settings.roleDuration.wholeNanoseconds)")
    add(settings.policyFile)
    for policy in settings.policyARNs { add(policy) }
    for text in backend?.kind.credentialSettings ?? [] { add(text) }
    guard let direct else { return }
    // With the bytes of the policy, which was read with the configuration.
    add(direct.policy?.stored)
    add(direct.sts.host.region)
  }

  /// Covers a backend's address and its certificate authorities: the tokens that it gave go to no
  /// other address. The values of these settings are stored only in this form.
  ///
  /// - Parameter issuer: the issuer, for a provider.
  init(placeOf backend: BackendSettings?, _ issuer: ProviderIssuer?) {
    self.init()
    add(backend?.type.rawValue)
    for text in backend?.kind.addressSettings(of: issuer) ?? [] { add(text) }
  }
}

// The words of fingerprints. A word keeps its meaning for ever, even if a case or a configuration
// key gets another name.

extension SessionPlan.BackendTrust {
  fileprivate var storedWord: String {
    switch self {
    case .none: "none"
    case .host: "host"
    case .password: "password"
    case .provider: "user-pool"
    }
  }
}

extension ProfileSettings.Flow {
  fileprivate var storedWord: String {
    switch self {
    case .enhanced: "enhanced"
    case .basic: "basic"
    case .direct: "direct"
    }
  }
}
