/// The credentials of an identity in an identity pool.
public struct PoolWay: Sendable, Equatable {
  public let pool: PlacedIdentityPool
  /// The profile as it would be with its `link_backend` as only backend: users sign in through it to be
  /// linked. Nil without a `link_backend`.
  public let link: Profile?
  public let plan: PlannedWay
  private let settings: PoolSettings
}

/// An identity pool, and the hosts that give credentials for its identities.
public struct PlacedIdentityPool: Sendable, Equatable {
  public let id: IdentityPoolID
  public let cognito: CognitoIdentity
  public let sts: STS
}

extension PoolWay: WayKind {
  /// - Throws: for values that the configuration reader has refused already.
  init(
    _ keys: PoolSettings, of settings: ProfileSettings, in configuration: Configuration,
    groupID: (String) -> UInt32?
  ) throws(InvalidInput) {
    self.settings = keys
    pool = PlacedIdentityPool(
      id: try IdentityPoolID(keys.id),
      cognito: CognitoIdentity(
        try settings.host(of: .cognitoIdentity, in: keys.region, keys.cognitoEndpoint)),
      sts: try settings.sts(in: keys.region))
    link = try keys.linkBackend.map { (name) throws(InvalidInput) in
      try Profile(settings.signingIn(at: name), in: configuration, groupID: groupID)
    }
    plan = .pool(
      PoolPlan(
        keys.flow, allowsGuests: keys.guest,
        developerLoginKey: keys.loginsKey ?? AWSPartition.loginsKey(region: keys.region),
        link: link?.plan.backend.issuer))
  }

  var needsUserName: Bool { settings.flow == .basic && settings.session.name.needsUserName }
  var account: String? { settings.session.roleARN.flatMap(STS.accountID) ?? settings.accountID }
  var regions: [NamedRegion] { [NamedRegion(region: region, key: regionKey)] }
  var region: String { pool.id.region }

  func identity(_ sides: FingerprintedSides) -> Fingerprint {
    Fingerprint(identityBySignIn: sides, settings)
  }

  func credentials(_ sides: FingerprintedSides, of identity: Fingerprint) -> Fingerprint {
    var fingerprint = identity
    fingerprint.addCredentials(settings.flow == .basic ? "basic" : "enhanced", sides)
    return fingerprint
  }

  // MARK: Sign-ins

  var takesTokensOfClients: Bool { true }

  func refusal(of login: LoginRequest, in profile: Profile) -> ProtocolError? {
    guard login.customRoleARN != nil, settings.flow == .basic else { return nil }
    return ProtocolError(
      .invalidRequest,
      "\"custom_role_arn\" belongs to the enhanced flow, and profile '\(profile.settings.name)' has the "
        + "basic one: its role is role_arn")
  }

  /// Why an identity that a client names is none of the pool's; nil if it may be one.
  func refusal(of identityID: IdentityID, in profile: Profile) -> ProtocolError? {
    guard identityID.region != region else { return nil }
    return ProtocolError(
      .invalidRequest,
      "\"identity_id\" is of region \(identityID.region.quoted), and the pool of profile "
        + "'\(profile.settings.name)' of \(region)")
  }

  /// Why a client's developer token is not used. In the basic flow only the token says whose it is: STS is
  /// not told the IdentityId.
  func refusal(
    of token: DeveloperToken, for identityID: IdentityID, in profile: Profile
  ) -> ProtocolError? {
    // Cognito would not refuse the token: it would give credentials of the other pool.
    if let audience = token.audience.flatMap({ try? IdentityPoolID($0) }), audience != pool.id {
      return ProtocolError(
        .tokenRejected,
        "\"token\" is for another identity pool than that of profile '\(profile.settings.name)'")
    }
    switch token.subject {
    case identityID: return nil
    case nil where settings.flow == .enhanced: return nil
    default:
      return ProtocolError(
        .tokenRejected, "\"token\" is not a token of Cognito for the identity \"identity_id\"")
    }
  }
}

extension ProfileSettings {
  /// The profile's settings as they would be with only that backend, a provider.
  func signingIn(at backend: String) -> ProfileSettings {
    var next = self
    next.backend = backend
    next.vendTokens = []
    if case .pool(var pool) = way {
      pool.linkBackend = nil
      pool.developerProvider = nil
      next.way = .pool(pool)
    }
    return next
  }
}
