/// A `[profile NAME]` section: what every profile has, and the keys of its way.
///
/// On reload, sessions of a profile with equal settings continue unchanged.
public struct ProfileSettings: Sendable, Equatable {
  public let name: String
  /// How the profile gets what it hands out.
  public var way: WaySettings
  /// The name of an existing backend; nil if users sign in with their own tokens.
  public var backend: String?
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
  /// The tokens of a provider that `token` may give. The first one is the default.
  public var vendTokens: [VendedToken] = []
  /// Whether programs get its credentials, and not only those of profiles that are derived from it.
  public var vendCredentials = true
  /// Names or uids of the users that may ask on behalf of others.
  public var impersonate: [String] = []
  /// Whether these users also get sessions to which a person has signed in.
  public var impersonateSignedIn = false
  /// The endpoint that replaces AWS's own; without a slash at its end.
  public var stsEndpoint: HTTPURL?
  /// Whether an http:// endpoint may be on another host.
  public var allowPlainHTTP = false
  public var fips = false
  public var dualstack = false
  /// PEM file of certificate authorities for the endpoints, which replaces those of the system.
  public var caFile: String?

  public init(name: String, way: WaySettings) {
    self.name = name
    self.way = way
  }
}

/// A profile while its section is read. What says its way may come after the keys of the way, so the draft
/// has the keys of every way.
struct ProfileDraft {
  /// The way is a placeholder.
  var common: ProfileSettings
  /// `flow`, which also says the way.
  var flow = FlowWord.enhanced
  /// `source_profile`; nil without it, and where its value is wrong.
  var source: String?
  /// The keys of a role's session, which several ways have.
  var session = RoleSessionSettings()
  /// `region`, that of STS.
  var region: String?
  /// `web_identity_token_file`.
  var tokenFile: String?
  var pool = PoolSettings()
  var derived = DerivedSettings()

  init(name: String) {
    common = ProfileSettings(name: name, way: .tokens)
  }
}

/// The values of the key `flow`.
enum FlowWord: String, Sendable, CaseIterable {
  case enhanced, basic, direct
}

extension ConfigurationSchema {
  /// The keys of `[profile]`. Of misspelt ones the first that is near enough is suggested.
  static let profile: [ConfigurationKey<ProfileDraft>] =
    first + WayCatalog.all.flatMap { $0.rows } + session + common

  private static let first: [ConfigurationKey<ProfileDraft>] = [
    .init("backend", \.common.backend, .sectionName),
    .init("flow", \.flow, .choice, standard: "enhanced"),
  ]

  /// Of a role's session.
  private static let session: [ConfigurationKey<ProfileDraft>] = [
    .init("role_arn", \.session.roleARN, .roleARN),
    .init(
      "role_session_name", \.session.name,
      .template(
        length: Limits.Upstream.roleSessionNameLength.upperBound, takesClaims: true,
        where: \.isRoleSessionText),
      standard: "{user}"),
    .init("duration", \.session.duration, .anyDuration),
    .init("policy_file", \.session.policyFile, .path),
    .init(
      "policy_arns", \.session.policyARNs,
      .list(of: "a policy's ARN", most: Limits.Upstream.policyARNs) { $0.isARN(of: "policy/") }),
  ]

  private static let common: [ConfigurationKey<ProfileDraft>] = [
    .init("allow_users", \.common.allowUsers, .list(of: "a user's name", where: \.isAccountName)),
    .init(
      "allow_groups", \.common.allowGroups, .list(of: "a group's name", where: \.isAccountName)),
    .init(
      "allow_units", \.common.allowUnits,
      .list(
        of: "a systemd unit such as billing.service, billing-* or user@1000.service/app.service",
        where: \.isUnitPattern)),
    .init("allow_executables", \.common.allowExecutables, .executables),
    .init(
      "forget_after", \.common.forgetAfter, .duration(.seconds(1) ... .seconds(3650 * 86_400)),
      standard: "30d"),
    .init("keep_warm", \.common.keepWarm, .keepWarm, standard: "no"),
    .init("vend_tokens", \.common.vendTokens, .words(), standard: "none"),
    .init("vend_credentials", \.common.vendCredentials, .yesNo, standard: "yes"),
    .init("impersonate", \.common.impersonate, .list(of: "a user's name", where: \.isAccountName)),
    .init("impersonate_signed_in", \.common.impersonateSignedIn, .yesNo, standard: "no"),
    .init("sts_endpoint", \.common.stsEndpoint, .endpoint),
    .init("allow_plain_http", \.common.allowPlainHTTP, .yesNo, standard: "no"),
    .init("fips", \.common.fips, .yesNo, standard: "no"),
    .init("dualstack", \.common.dualstack, .yesNo, standard: "no"),
    .init("ca_file", \.common.caFile, .path),
    .init("region", \.region, .region),
  ]
}
