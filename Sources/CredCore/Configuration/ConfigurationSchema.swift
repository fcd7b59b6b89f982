/// All keys of [daemon] and [profile]; those of [backend] are in BackendSchema.swift. A new key is
/// a row here and a property of its settings: the reader, the suggestions and the errors follow
/// from the row, and a test compares the rows with the manual. Rules between keys are in
/// ConfigurationRules.swift.
enum ConfigurationSchema {
  static let daemon: [ConfigurationKey<DaemonSettings>] = [
    .init(
      "max_connections", \.maxConnections, .integer(1...65_536),
      standard: "\(Limits.Client.connections)"),
    .init(
      "max_connections_per_user", \.maxConnectionsPerUser, .integer(1...65_536),
      standard: "\(Limits.Client.connectionsPerUser)"),
    .init("admin_group", \.adminGroup, .accountName),
    .init("metrics_users", \.metricsUsers, .list(of: "a user's name", where: \.isAccountName)),
    .init("log_level", \.logLevel, .choice, standard: "info"),
    .init("upstream_connections", \.upstreamConnections, .integer(1...1024), standard: "64"),
    .init("exit_on_idle", \.exitOnIdle, .duration(.seconds(1) ... .seconds(7 * 86_400))),
    .init("max_sessions", \.maxSessions, .integer(1...Limits.Session.most), standard: "10000"),
    .init("get_id_rate_limit", \.getIDRate, .rate, standard: "25/s"),
    .init("get_credentials_rate_limit", \.getCredentialsRate, .rate, standard: "200/s"),
    .init("get_openid_token_rate_limit", \.getOpenIDTokenRate, .rate, standard: "200/s"),
    .init("assume_role_rate_limit", \.assumeRoleRate, .rate, standard: "100/s"),
  ]

  static let profile: [ConfigurationKey<ProfileSettings>] = [
    .init("identity_pool_id", \.identityPoolID, .identityPoolID, required: true),
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
        length: Limits.Upstream.roleSessionNameLength.upperBound, where: \.isRoleSessionText),
      standard: "{user}"),
    .init("duration", \.duration, .seconds(Limits.Upstream.roleSeconds), standard: "1h"),
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
  ]
}

/// A key of a section: a row of ``ConfigurationSchema``.
struct ConfigurationKey<Settings>: Sendable {
  typealias Assignment =
    @Sendable (
      _ value: ConfigurationValue, _ member: String, _ settings: inout Settings
    ) throws(InvalidValue) -> Void

  let reference: ConfigurationKeyReference
  let takesVariables: Bool
  /// Reads the value into the settings. `member` is the part of a family's key after the dot.
  let assign: Assignment

  /// A key for a property that has a default.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value> & Sendable,
    _ syntax: ValueSyntax<Value>, standard: String? = nil, required: Bool = false,
    of types: [BackendType] = []
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: standard, isRequired: required)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A key for a property that is nil without the key.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value?> & Sendable,
    _ syntax: ValueSyntax<Value>, required: Bool = false, of types: [BackendType] = []
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: nil, isRequired: required)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A family of keys such as `header.NAME`. `family` ends in the dot.
  init(
    family: String, syntax: String, of types: [BackendType],
    assign: @escaping Assignment
  ) {
    reference = ConfigurationKeyReference(
      name: family, types: types, syntax: syntax, standard: nil, isRequired: false)
    takesVariables = false
    self.assign = assign
  }
}

/// The parts of a key that do not depend on its value's type: for messages and documentation.
struct ConfigurationKeyReference: Sendable, Equatable {
  /// A family's name ends in a dot.
  let name: String
  /// The types of backend that have the key; empty for all, and for other sections.
  let types: [BackendType]
  let syntax: String
  /// The value that applies without the key.
  let standard: String?
  let isRequired: Bool

  var isFamily: Bool { name.utf8.last == UInt8(ascii: ".") }

  /// As the manual writes it: `header.NAME`.
  var shown: String { isFamily ? name + "NAME" : name }

  func matches(_ key: String) -> Bool { isFamily ? key.hasPrefix(name) : key == name }

  /// Whether backends of this type have the key; for nil, whether backends of all types have it.
  func applies(to type: BackendType?) -> Bool {
    types.isEmpty || type.map(types.contains) ?? false
  }
}

/// The kinds of sections.
enum SectionKind: String, CaseIterable {
  case daemon, backend, profile

  /// The header as the manual writes it.
  var header: String { self == .daemon ? "[daemon]" : "[\(rawValue) NAME]" }
}
