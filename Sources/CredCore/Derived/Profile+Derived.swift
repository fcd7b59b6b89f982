/// Profiles that are derived from another one by `source_profile`.
extension Profile {
  /// How it gets credentials from its source; nil for a profile with an identity of its own.
  ///
  /// - Throws: for values that the configuration reader has refused already.
  static func derivation(
    of settings: ProfileSettings, from source: Profile?, in configuration: Configuration
  ) throws(InvalidInput) -> Derivation? {
    guard let source else { return nil }
    let place = settings.hasOwnPlace ? settings : source.placeSettings
    var derivation = Derivation(
      settings.derivedCall, at: try place.sts(in: settings.regionOfSTS ?? source.regionOfSTS),
      duration: settings.duration)
    derivation.caFile = place.caFile
    derivation.account = source.account
    let file = try configuration.policy(of: settings)
    (derivation.policy, derivation.policyName) = (file?.policy, file?.name)
    return derivation
  }

  /// The profile that `source_profile` names; nil if the settings have no such key.
  ///
  /// - Throws: if there is no such profile, or if it is not right itself.
  static func source(
    of settings: ProfileSettings, in configuration: Configuration, groupID: (String) -> UInt32?
  ) throws(InvalidInput) -> Profile? {
    guard let name = settings.derived.source else { return nil }
    guard let source = configuration.profiles[name] else {
      throw InvalidInput(field: "source_profile", reason: "names no profile")
    }
    return try Profile(source, in: configuration, groupID: groupID)
  }

  /// Why an operation that is about a sign-in is not for a derived profile; nil for other profiles.
  public func refusalOfSignIn(_ operation: String) -> ProtocolError? {
    guard source != nil else { return nil }
    var error = ProtocolError.invalid(
      "profile '\(settings.name)' has no sign-in of its own: \(operation.quoted) is for its source, "
        + "profile '\(root.settings.name)'")
    error.reason = SignInReason.derivedProfile
    return error
  }

  /// The refusal of a derived profile's request, where nobody is signed in to its source.
  ///
  /// - Parameters:
  ///   - reason: why only a sign-in helps.
  ///   - mayUseSource: whether the caller may sign in there.
  public func signInRequired(_ reason: String, mayUseSource: Bool) -> ProtocolError {
    let source = root.settings.name
    let advice =
      mayUseSource
      ? "sign in there with 'credctl login \(source)'"
      : "an administrator must admit this user to profile '\(source)' first"
    var error = ProtocolError(
      .signInRequired,
      "profile '\(settings.name)' is derived from '\(source)': \(reason); \(advice)")
    error.reason = SignInReason.derivedProfile
    return error
  }

  /// The profile with the identity.
  public var root: Profile { source?.root ?? self }

  /// Whether the named profile is the source, or the source's own source.
  public func isDerived(from profile: String) -> Bool {
    source.map { $0.settings.name == profile || $0.isDerived(from: profile) } ?? false
  }

  /// The refusal of credentials that are only for derived profiles.
  ///
  /// - Parameter others: derived profiles that the caller may use.
  public func vendsNothing(instead others: [String]) -> ProtocolError {
    let advice =
      others.isEmpty
      ? "and no profile that is derived from it is open to you"
      : "use one that is derived from it: \(others.joined(separator: ", "))"
    var error = ProtocolError(
      .accessDenied,
      "profile '\(settings.name)' gives no credentials to programs (vend_credentials = no); \(advice)"
    )
    if !others.isEmpty { error.reason = SignInReason.derivedProfile }
    return error
  }

  /// How many profiles it is derived from, one after another.
  public var depth: Int { source.map { $0.depth + 1 } ?? 0 }

  /// The settings as they hold: a derived profile is forgotten when its source is.
  static func effective(_ settings: ProfileSettings, from source: Profile?) -> ProfileSettings {
    guard let source else { return settings }
    var settings = settings
    settings.forgetAfter = source.settings.forgetAfter
    return settings
  }
}

extension ProfileSettings {
  fileprivate var derivedCall: Derivation.Call {
    guard let roleARN else { return .scope(description: derived.description) }
    var hop = RoleHop(roleARN: roleARN, sessionName: roleSessionName)
    hop.policyARNs = policyARNs
    hop.externalID = derived.externalID
    hop.tags = derived.tags
    hop.transitiveTags = derived.transitiveTags
    hop.sourceIdentity = derived.sourceIdentity
    return .hop(hop)
  }

  /// FIPS and dualstack choose among AWS's own hosts: the reader refuses them beside an endpoint.
  func sts(in region: String) throws(InvalidInput) -> STS {
    if let stsEndpoint {
      return STS(try AWSHost(.sts, region: region, custom: stsEndpoint.text))
    }
    return STS(try AWSHost(.sts, region: region, fips: fips, dualStack: dualstack))
  }
}

extension Profile {
  /// Where the configuration has the host of its STS from.
  public var stsOrigin: HostOrigin {
    .aws("sts_endpoint", placeSettings.stsEndpoint, region: root.regionKey)
  }

  /// Where the configuration has the host of its Cognito from.
  public var cognitoOrigin: HostOrigin {
    .aws("cognito_endpoint", settings.cognitoEndpoint, region: regionKey)
  }

  /// The AWS account of its credentials, where the configuration tells it: a pool's roles are of the pool's
  /// own account.
  fileprivate var account: String? {
    if let derivation, let role = derivation.roleARN { return STS.accountID(role) }
    if let source { return source.account }
    return settings.roleARN.flatMap(STS.accountID) ?? settings.accountID
  }

  private var regionKey: String { directRole == nil ? "identity_pool_id" : "region" }

  fileprivate var regionOfSTS: String { derivation?.sts.host.region ?? settings.region }

  /// The settings that say how its STS is reached.
  fileprivate var placeSettings: ProfileSettings {
    source.map { settings.hasOwnPlace ? settings : $0.placeSettings } ?? settings
  }
}

/// What a session of a derived profile must know of it.
public struct DerivedPlan: Sendable, Equatable {
  /// Whether its credentials are another role's, which may outlive the source's.
  let isHop: Bool
  /// The longest lifetime that is asked for; nil for all that the source has.
  let longest: Duration?

  init(_ derivation: Derivation) {
    switch derivation.call {
    case .scope:
      isHop = false
      longest = derivation.duration
    case .hop:
      isHop = true
      longest = derivation.duration ?? ProfileSettings.standardRoleDuration
    }
  }
}

extension Fingerprint {
  /// Covers whose identity a derived profile has.
  init(identityOf settings: ProfileSettings, from source: Profile) {
    self.init()
    add("derived")
    add(settings.derived.source)
    add("\(source.identityFingerprint.value)")
  }

  /// Covers all that decides what its credentials may do, with the bytes of the policy.
  init(
    credentialsOf settings: ProfileSettings, _ derivation: Derivation, from source: Profile,
    of identity: Fingerprint
  ) {
    self = identity
    add("\(source.credentialsFingerprint.value)")
    add(settings.roleARN)
    add(settings.roleSessionName.text)
    add(settings.duration.map { "\($0.wholeNanoseconds)" })
    add(settings.policyARNs)
    add(derivation.policy?.stored)
    let derived = settings.derived
    add(derived.description)
    add(derived.externalID)
    add(derived.tags.flatMap { [$0.name, $0.template.text] })
    add(derived.transitiveTags)
    add(derived.sourceIdentity?.text)
    add(derivation.sts.host.url)
    add(derivation.sts.host.region)
  }

  /// With the number, so that what follows the list is not taken for a part of it.
  private mutating func add(_ texts: [String]) {
    add("\(texts.count)")
    for text in texts { add(text) }
  }
}
