/// A `[profile NAME]` section: an identity pool, its users and its flow.
///
/// On reload, sessions of a profile with equal settings continue unchanged.
public struct ProfileSettings: Sendable, Equatable {
  /// How a token is exchanged for credentials.
  public enum Flow: String, Sendable, CaseIterable {
    /// GetCredentialsForIdentity.
    case enhanced
    /// AssumeRoleWithWebIdentity.
    case basic
    /// The same, with the provider's own token: there is no identity pool.
    case direct
  }

  public let name: String
  /// `REGION:UUID`; empty in the direct flow, and where programs get a provider's tokens alone.
  public var identityPoolID: String
  /// Never nil if `backend` is set, unless the backend is a user pool.
  public var developerProvider: String?
  /// The name of an existing backend; nil if users sign in with their own tokens.
  public var backend: String?
  /// The name of a backend whose sign-ins are linked to the user of ``backend``, which must be set
  /// too.
  public var linkBackend: String?
  /// The template of the user identifier. Expanded, it has at most
  /// ``Limits/Upstream/userIdentifierLength`` characters.
  public var userIdentifier = Template.user
  public var flow = Flow.enhanced
  /// Never nil in the basic and the direct flow; a custom role in the enhanced one; of a derived profile,
  /// the role that is assumed from its source.
  public var roleARN: String?
  /// Name of a role's session: expanded, `[\w+=,.@-]{2,64}`.
  public var roleSessionName = Template.user
  /// The requested lifetime: 15 min to 12 h in the basic and the direct flow, 15 min to 1 h of a role that
  /// is assumed from another one, 1 min to 36 h of narrowed credentials.
  public var duration: Duration?
  /// File with a session policy.
  public var policyFile: String?
  /// Managed session policies of a role.
  public var policyARNs: [String] = []
  /// Whether users without a sign-in get an unauthenticated identity.
  public var guest = false
  /// The pool's AWS account, for GetId.
  public var accountID: String?
  /// A file with a token that is a login; set together with `webIdentityProvider`. In the direct flow it
  /// is the token for STS, and there is no provider.
  public var webIdentityTokenFile: String?
  /// The key of that login in the logins map.
  public var webIdentityProvider: String?
  /// Every user may use the profile if this list and the next three are empty.
  public var allowUsers: [String] = []
  public var allowGroups: [String] = []
  /// systemd units, with `*`, `?` and `[…]` as in file names.
  public var allowUnits: [String] = []
  /// Absolute paths with `*`, `?` and `[…]`, each followed by its `sha256:` digests.
  public var allowExecutables: [String] = []
  /// A session that nobody used for this time is forgotten.
  public var forgetAfter = ProfileSettings.standardForgetAfter
  public static let standardForgetAfter = Duration.seconds(30 * 86_400)
  /// The users whose sessions are renewed without a request.
  public var keepWarm = KeepWarm.nobody
  /// The tokens of a user pool that `token` may give. The first one is the default.
  public var vendTokens: [VendedToken] = []
  /// Names or uids of the users that may ask on behalf of others.
  public var impersonate: [String] = []
  /// Whether these users also get sessions to which a person has signed in.
  public var impersonateSignedIn = false
  /// The endpoint that replaces AWS's own; without a slash at its end.
  public var cognitoEndpoint: HTTPURL?
  /// The endpoint that replaces AWS's own; without a slash at its end.
  public var stsEndpoint: HTTPURL?
  /// Whether an http:// endpoint may be on another host.
  public var allowPlainHTTP = false
  public var fips = false
  public var dualstack = false
  /// PEM file of certificate authorities for the endpoints, which replaces those of the system.
  public var caFile: String?
  /// The developer token's key in the logins map; nil for the key of the region's partition.
  public var loginsKey: String?
  /// The region of STS: of a direct profile, and of a derived one that does not call its source's.
  public var regionOfSTS: String?

  /// The keys that only a derived profile may set.
  public var derived = DerivedSettings()
  /// Whether programs get its credentials, and not only those of profiles that are derived from it.
  public var vendCredentials = true

  public init(name: String, identityPoolID: String) {
    self.name = name
    self.identityPoolID = identityPoolID
  }

  /// The lifetime that is asked for in the basic and the direct flow.
  public var roleDuration: Duration { duration ?? Self.standardRoleDuration }
  public static let standardRoleDuration = Duration.seconds(3600)

  /// The AWS region in the pool's id, or of a direct profile's STS.
  public var region: String {
    flow == .direct ? regionOfSTS ?? "" : String(identityPoolID.prefix { $0 != ":" })
  }
}

extension ConfigurationSchema {
  static let profile: [ConfigurationKey<ProfileSettings>] = [
    .init("identity_pool_id", \.identityPoolID, .identityPoolID),
    .init("developer_provider", \.developerProvider, .developerProvider),
    .init("backend", \.backend, .sectionName),
    .init("link_backend", \.linkBackend, .sectionName),
    .init(
      "user_identifier", \.userIdentifier,
      .template(length: Limits.Upstream.userIdentifierLength), standard: "{user}"),
    .init("flow", \.flow, .choice, standard: "enhanced"),
    .init("role_arn", \.roleARN, .roleARN),
    .init(
      "role_session_name", \.roleSessionName,
      .template(
        length: Limits.Upstream.roleSessionNameLength.upperBound, takesClaims: true,
        where: \.isRoleSessionText),
      standard: "{user}"),
    .init("duration", \.duration, .anyDuration),
    .init("policy_file", \.policyFile, .path),
    .init(
      "policy_arns", \.policyARNs,
      .list(of: "a policy's ARN", most: Limits.Upstream.policyARNs) { $0.isARN(of: "policy/") }),
    .init("guest", \.guest, .yesNo, standard: "no"),
    .init("account_id", \.accountID, .accountID),
    .init("web_identity_token_file", \.webIdentityTokenFile, .path),
    .init("web_identity_provider", \.webIdentityProvider, .loginsKey),
    .init("allow_users", \.allowUsers, .list(of: "a user's name", where: \.isAccountName)),
    .init("allow_groups", \.allowGroups, .list(of: "a group's name", where: \.isAccountName)),
    .init(
      "allow_units", \.allowUnits,
      .list(
        of: "a systemd unit such as billing.service, billing-* or user@1000.service/app.service",
        where: \.isUnitPattern)),
    .init("allow_executables", \.allowExecutables, .executables),
    .init(
      "forget_after", \.forgetAfter, .duration(.seconds(1) ... .seconds(3650 * 86_400)),
      standard: "30d"),
    .init("keep_warm", \.keepWarm, .keepWarm, standard: "no"),
    .init("vend_tokens", \.vendTokens, .words(), standard: "none"),
    .init("impersonate", \.impersonate, .list(of: "a user's name", where: \.isAccountName)),
    .init("impersonate_signed_in", \.impersonateSignedIn, .yesNo, standard: "no"),
    .init("cognito_endpoint", \.cognitoEndpoint, .endpoint),
    .init("sts_endpoint", \.stsEndpoint, .endpoint),
    .init("allow_plain_http", \.allowPlainHTTP, .yesNo, standard: "no"),
    .init("fips", \.fips, .yesNo, standard: "no"),
    .init("dualstack", \.dualstack, .yesNo, standard: "no"),
    .init("ca_file", \.caFile, .path),
    .init("logins_key", \.loginsKey, .loginsKey),
    .init("source_profile", \.derived.source, .sectionName),
    .init("region", \.regionOfSTS, .region),
    .init(
      "session_description", \.derived.description,
      .text("2 to 256 characters of ASCII", where: \.isSessionDescription)),
    .init(
      "external_id", \.derived.externalID,
      .text("2 to 1224 letters, digits or any of _+=,.@:/-", where: \.isExternalID)),
    .init(
      family: DerivedSettings.tag, syntax: "a text (with {user}, {uid}, {host})"
    ) { value, name, settings throws(InvalidValue) in
      try settings.derived.addTag(name, value)
    },
    .init(
      "transitive_tags", \.derived.transitiveTags,
      .list(of: "a tag's name", most: Limits.Upstream.sessionTags, where: \.isSessionTagName)),
    .init(
      "source_identity", \.derived.sourceIdentity,
      .template(
        length: Limits.Upstream.sourceIdentityLength.upperBound, where: \.isRoleSessionText)),
    .init("vend_credentials", \.vendCredentials, .yesNo, standard: "yes"),
  ]
}
