/// What a profile answers by its way.
extension Profile {
  /// The profile whose credentials sign the call for this one's; nil where users sign in here.
  public var source: Profile? { kind.source }

  /// The profile as it would be with its `link_backend` as only backend: users sign in through it to be
  /// linked. Nil without a `link_backend`.
  public var link: Profile? { kind.link }

  /// Whether users sign in to it. Else it follows the sign-in of its source.
  public var hasSignIn: Bool { source == nil }

  /// The profile at which users sign in.
  public var root: Profile { source?.root ?? self }

  /// Whether the named profile is the source, or the source's own source.
  public func follows(_ profile: String) -> Bool {
    source.map { $0.settings.name == profile || $0.follows(profile) } ?? false
  }

  /// How many profiles it is derived from, one after another.
  public var depth: Int { source.map { $0.depth + 1 } ?? 0 }

  /// The provider at which users sign in, be it the backend or the linked one; nil without one.
  var userIssuer: ProviderIssuer? { plan.backend.issuer ?? link?.plan.backend.issuer }

  /// Why a user whom the provider has accepted gets nothing; nil if nothing is in the way.
  public func refusal(
    of signIn: AcceptedSignIn, for user: UnixUser, host: String
  ) -> UpstreamFailure? {
    kind.refusal(of: signIn, for: user, host: host)
  }

  /// The name at AWS of the call that its source's credentials sign; nil without a source.
  public var operationOfSource: String? { kind.operationOfSource }

  /// From which key the key of credentials comes, and what narrows them: names and values for the journal.
  public func origin(of credentials: Credentials?) -> [String: String] {
    kind.origin(of: credentials)
  }

  /// Whether ID tokens may have another algorithm than those that Cognito takes.
  public var takesEveryAlgorithm: Bool { kind.takesEveryAlgorithm }

  /// Where the configuration has the host of its STS from.
  public var stsOrigin: HostOrigin {
    .aws("sts_endpoint", placeSettings.stsEndpoint, region: root.kind.regionKey)
  }

  /// Where the configuration has the host of its Cognito from.
  public var cognitoOrigin: HostOrigin {
    .aws("cognito_endpoint", settings.pool?.cognitoEndpoint, region: kind.regionKey)
  }

  /// The settings that say how its STS is reached.
  var placeSettings: ProfileSettings { kind.place(of: settings) }
}

/// What only one way has, for the requests of that way.
extension Profile {
  /// Nil in other ways.
  public var identityPool: PlacedIdentityPool? {
    if case .pool(let way) = way { way.pool } else { nil }
  }

  public var pool: IdentityPoolID? { identityPool?.id }

  /// Nil in other ways.
  public var directRole: DirectRole? { if case .role(let way) = way { way.role } else { nil } }

  /// Nil in other ways.
  public var derivation: Derivation? {
    if case .derived(let way) = way { way.derivation } else { nil }
  }
}

extension ProfileSettings {
  /// FIPS and dualstack choose among AWS's own hosts: the reader refuses them beside an endpoint.
  func host(
    of service: AWSHost.Service, in region: String, _ endpoint: HTTPURL?
  ) throws(InvalidInput) -> AWSHost {
    if let endpoint { return try AWSHost(service, region: region, custom: endpoint.text) }
    return try AWSHost(service, region: region, fips: fips, dualStack: dualstack)
  }

  func sts(in region: String) throws(InvalidInput) -> STS {
    STS(try host(of: .sts, in: region, stsEndpoint))
  }
}
