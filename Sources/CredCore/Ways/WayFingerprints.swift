/// What every profile says to its fingerprints.
struct FingerprintedSides {
  let settings: ProfileSettings
  let backend: BackendSettings?
  let plan: SessionPlan
}

/// What the ways at which users sign in have in common.
extension Fingerprint {
  /// Covers whose identity a user gets, and how the user is authenticated. Without an identity pool the
  /// keys of identities have their defaults.
  init(identityBySignIn sides: FingerprintedSides, _ pool: PoolSettings = PoolSettings()) {
    self.init()
    add(pool.id)
    add(pool.developerProvider)
    add(pool.userIdentifier.text)
    add(sides.backend?.name)
    add(sides.backend?.kind.storedWord)
    add(sides.plan.backend.storedWord)
    add(sides.plan.allowsGuests)
    add(sides.plan.tokenFileProvider)
    add(sides.settings.way.tokenFile)
  }

  /// Adds the settings that decide which credentials an identity gets. Endpoints are not among them.
  ///
  /// - Parameter word: of the exchange. A way that gives no credentials has that of the enhanced flow.
  mutating func addCredentials(_ word: String, _ sides: FingerprintedSides) {
    let session = sides.settings.way.session ?? RoleSessionSettings()
    add(word)
    add(session.roleARN)
    add(session.name.text)
    add("\(session.lifetime.wholeNanoseconds)")
    add(session.policyFile)
    for policy in session.policyARNs { add(policy) }
    for text in sides.backend?.kind.credentialSettings ?? [] { add(text) }
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
