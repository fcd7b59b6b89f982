/// Credentials that STS gives for those of another profile, which `source_profile` names.
public struct DerivedWay: Sendable, Equatable {
  /// The profile whose credentials sign the call for this one's.
  let from: Profile
  /// How it gets credentials from its source.
  public let derivation: Derivation
  private let settings: DerivedSettings
}

extension DerivedWay: WayKind {
  /// - Throws: for values that the configuration reader has refused already.
  init(
    _ keys: DerivedSettings, of settings: ProfileSettings, in configuration: Configuration,
    groupID: (String) -> UInt32?
  ) throws(InvalidInput) {
    guard let source = configuration.profiles[keys.source] else {
      throw InvalidInput(field: "source_profile", reason: "names no profile")
    }
    self.settings = keys
    from = try Profile(source, in: configuration, groupID: groupID)
    let place = keys.hasOwnPlace ? settings : from.placeSettings
    var derivation = Derivation(
      keys.call, at: try place.sts(in: keys.region ?? from.kind.region),
      duration: keys.session.duration)
    derivation.caFile = place.caFile
    derivation.account = from.kind.account
    let file = try configuration.policy(of: keys.session)
    (derivation.policy, derivation.policyName) = (file?.policy, file?.name)
    self.derivation = derivation
  }

  var regions: [NamedRegion] {
    settings.region.map { [NamedRegion(region: $0, key: "region")] } ?? []
  }
  var plan: PlannedWay { .derived(DerivedPlan(derivation)) }
  var source: Profile? { from }
  var needsUserName: Bool { derivation.needsUserName || from.needsUserName }
  var region: String { derivation.sts.host.region }
  var account: String? {
    if let role = derivation.roleARN { STS.accountID(role) } else { from.kind.account }
  }

  func place(of settings: ProfileSettings) -> ProfileSettings {
    self.settings.hasOwnPlace ? settings : from.placeSettings
  }

  /// It is forgotten when its source is.
  func effective(_ settings: ProfileSettings) -> ProfileSettings {
    var settings = settings
    settings.forgetAfter = from.settings.forgetAfter
    return settings
  }

  /// Covers whose identity it has.
  func identity(_ sides: FingerprintedSides) -> Fingerprint {
    var fingerprint = Fingerprint()
    fingerprint.add("derived")
    fingerprint.add(settings.source)
    fingerprint.add("\(from.identityFingerprint.value)")
    return fingerprint
  }

  /// Covers all that decides what its credentials may do, with the bytes of the policy.
  func credentials(_ sides: FingerprintedSides, of identity: Fingerprint) -> Fingerprint {
    var fingerprint = identity
    fingerprint.add("\(from.credentialsFingerprint.value)")
    fingerprint.add(settings.session.roleARN)
    fingerprint.add(settings.session.name.text)
    fingerprint.add(settings.session.duration.map { "\($0.wholeNanoseconds)" })
    fingerprint.add(settings.session.policyARNs)
    fingerprint.add(derivation.policy?.stored)
    fingerprint.add(settings.description)
    fingerprint.add(settings.externalID)
    fingerprint.add(settings.tags.flatMap { [$0.name, $0.template.text] })
    fingerprint.add(settings.transitiveTags)
    fingerprint.add(settings.sourceIdentity?.text)
    fingerprint.add(derivation.sts.host.url)
    fingerprint.add(derivation.sts.host.region)
    return fingerprint
  }

  // MARK: Sign-ins

  var takesTokensOfClients: Bool { true }

  func refusal(ofToken kind: TokenKind?, in profile: Profile) -> ProtocolError? {
    var error = ProtocolError(
      .accessDenied,
      "profile '\(profile.settings.name)' hands out no tokens: it is derived, and a token opens all that its "
        + "source may do")
    error.reason = SignInReason.derivedProfile
    return error
  }

  func origin(of credentials: Credentials?) -> [String: String] {
    let session = credentials?.session
    var origin = ["source_profile": from.settings.name]
    origin["source_access_key_id"] = session?.sourceAccessKeyID
    origin["policy_sha256"] = session?.policySHA256
    origin["role_arn"] = derivation.roleARN
    return origin
  }

  var operationOfSource: String? { derivation.operation }

  func report(
    _ credentials: Credentials?, naming mayName: (_ profile: String) -> Bool
  ) -> DerivedReport? {
    let source = from.settings.name
    return DerivedReport(
      source: mayName(source) ? source : nil, policy: derivation.policyName,
      roleARN: derivation.roleARN, policySHA256: credentials?.session?.policySHA256,
      tokenUtilization: credentials?.session?.tokenUtilization)
  }
}

extension DerivedSettings {
  fileprivate var call: Derivation.Call {
    guard let roleARN = session.roleARN else { return .scope(description: description) }
    var hop = RoleHop(roleARN: roleARN, sessionName: session.name)
    hop.policyARNs = session.policyARNs
    hop.externalID = externalID
    hop.tags = tags
    hop.transitiveTags = transitiveTags
    hop.sourceIdentity = sourceIdentity
    return .hop(hop)
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
      longest = derivation.duration ?? RoleSessionSettings.standardDuration
    }
  }
}

extension Fingerprint {
  /// With the number, so that what follows the list is not taken for a part of it.
  fileprivate mutating func add(_ texts: [String]) {
    add("\(texts.count)")
    for text in texts { add(text) }
  }
}
