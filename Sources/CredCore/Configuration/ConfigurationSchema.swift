/// Every key there is. A new one is a row here and a property of its settings: reading it,
/// suggesting it, refusing it elsewhere and documenting it follow from the row. Rules between keys
/// are in `ConfigurationReader+Rules.swift`.
enum ConfigurationSchema {
  static let daemon: [ConfigurationKey<DaemonSettings>] = [
    .init(
      "max_connections", \.maxConnections, .integer(1...65_536),
      standard: "\(Limits.Client.connections)",
      "clients connected at once"),
    .init(
      "max_connections_per_user", \.maxConnectionsPerUser, .integer(1...65_536),
      standard: "\(Limits.Client.connectionsPerUser)",
      "clients connected at once that one Unix user may have"),
    .init(
      "admin_group", \.adminGroup, .accountName,
      "its members, like root, may see every session's status"),
    .init(
      "log_level", \.logLevel, .choice, standard: "info",
      "what is logged: this level and those before it"),
    .init(
      "upstream_connections", \.upstreamConnections, .integer(1...1024), standard: "64",
      "connections to backends and AWS at once"),
    .init(
      "exit_on_idle", \.exitOnIdle, .duration(.seconds(1) ... .seconds(7 * 86_400)),
      "ends the daemon when nobody was connected for so long; systemd starts it again"),
    .init(
      "max_sessions", \.maxSessions, .integer(1...Limits.Session.most), standard: "10000",
      "sessions held at once: users times profiles"),
    .init(
      "get_id_rate_limit", \.getIDRate, .rate, standard: "25/s",
      "calls of GetId at most; the quotas of AWS are an account's, which all hosts share"),
    .init(
      "get_credentials_rate_limit", \.getCredentialsRate, .rate, standard: "200/s",
      "calls of GetCredentialsForIdentity at most"),
    .init(
      "get_openid_token_rate_limit", \.getOpenIDTokenRate, .rate, standard: "200/s",
      "calls of GetOpenIdToken at most"),
    .init(
      "assume_role_rate_limit", \.assumeRoleRate, .rate, standard: "100/s",
      "calls of AssumeRoleWithWebIdentity at most"),
  ]

  static let profile: [ConfigurationKey<ProfileSettings>] = [
    .init(
      "identity_pool_id", \.identityPoolID, .identityPoolID, required: true,
      "the identity pool; the region comes from it"),
    .init(
      "developer_provider", \.developerProvider, .developerProvider,
      "the pool's developer provider; required with a backend"),
    .init("backend", \.backend, .sectionName, "who vouches for users: a [backend NAME]"),
    .init(
      "user_identifier", \.userIdentifier,
      .template(length: Limits.Upstream.userIdentifierLength), standard: "{user}",
      "the developer user identifier"),
    .init("flow", \.flow, .choice, standard: "enhanced", "how a token becomes credentials"),
    .init(
      "role_arn", \.roleARN, .roleARN,
      "basic flow: the role to assume; enhanced flow: a custom role"),
    .init(
      "role_session_name", \.roleSessionName,
      .template(
        length: Limits.Upstream.roleSessionNameLength.upperBound, where: \.isRoleSessionText),
      standard: "{user}",
      "basic flow: the session's name in CloudTrail"),
    .init(
      "duration", \.duration, .duration(.seconds(900) ... .seconds(12 * 3600), isWhole: true),
      standard: "1h",
      "basic flow: lifetime of the credentials"),
    .init("policy_file", \.policyFile, .path, "basic flow: a session policy in JSON"),
    .init(
      "policy_arns", \.policyARNs,
      .list(of: "a policy's ARN", most: Limits.Upstream.policyARNs) { $0.isARN(of: "policy/") },
      "basic flow: managed session policies"),
    .init("guest", \.guest, .yesNo, standard: "no", "whether unauthenticated identities are given"),
    .init("account_id", \.accountID, .accountID, "the pool's AWS account, sent with GetId"),
    .init(
      "web_identity_token_file", \.webIdentityTokenFile, .path,
      "a file with a token that signs in by itself, read again when it changes"),
    .init(
      "web_identity_provider", \.webIdentityProvider, .loginsKey,
      "that token's provider in the logins map"),
    .init(
      "allow_users", \.allowUsers, .list(of: "a user's name", where: \.isAccountName),
      "who may use the profile; without any allow_… key everyone may"),
    .init(
      "allow_groups", \.allowGroups, .list(of: "a group's name", where: \.isAccountName),
      "whose members may use the profile"),
    .init(
      "allow_units", \.allowUnits,
      .list(
        of: "a systemd unit such as billing.service, billing-* or user@1000.service/app.service",
        where: \.isUnitPattern),
      "the systemd units whose processes may use the profile; *, ? and […] match"),
    .init(
      "allow_executables", \.allowExecutables, .executables,
      "the programs that may use the profile, whoever runs them; *, ? and […] match"),
    .init(
      "impersonate", \.impersonate, .list(of: "a user's name", where: \.isAccountName),
      "who may ask in the name of others; nobody without it, not even root"),
    .init(
      "cognito_endpoint", \.cognitoEndpoint, .endpoint, "Cognito Identity's URL, not AWS's own"),
    .init("sts_endpoint", \.stsEndpoint, .endpoint, "basic flow: STS's URL, not AWS's own"),
    .init(
      "allow_plain_http", \.allowPlainHTTP, .yesNo, standard: "no",
      "whether http:// endpoints may be on another host"),
    .init("fips", \.fips, .yesNo, standard: "no", "whether AWS's FIPS endpoints are used"),
    .init(
      "dualstack", \.dualstack, .yesNo, standard: "no",
      "whether AWS's endpoints for IPv4 and IPv6 are used"),
    .init(
      "ca_file", \.caFile, .path, "authorities trusted for the endpoints, not the system's"),
    .init(
      "logins_key", \.loginsKey, .loginsKey,
      "the developer token's provider in the logins map, not that of the region"),
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
  /// Reads the value into the settings. `member` is what follows the dot in a family's key.
  let assign: Assignment

  /// A key whose value is one property.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value> & Sendable,
    _ syntax: ValueSyntax<Value>, standard: String? = nil, required: Bool = false,
    of types: [BackendType] = [], _ summary: String
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: standard, isRequired: required,
      summary: summary)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A key whose property is nil where the key is not written.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value?> & Sendable,
    _ syntax: ValueSyntax<Value>, required: Bool = false, of types: [BackendType] = [],
    _ summary: String
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: nil, isRequired: required,
      summary: summary)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A family of keys, `header.NAME`: `family` ends in the dot.
  init(
    family: String, syntax: String, of types: [BackendType], _ summary: String,
    assign: @escaping Assignment
  ) {
    reference = ConfigurationKeyReference(
      name: family, types: types, syntax: syntax, standard: nil, isRequired: false,
      summary: summary)
    takesVariables = false
    self.assign = assign
  }
}

/// What can be said of a key without knowing its type: for messages and documentation.
struct ConfigurationKeyReference: Sendable, Equatable {
  /// Ends in a dot where the key is a family.
  let name: String
  /// The types of backend that have the key; empty for all, and for other sections.
  let types: [BackendType]
  let syntax: String
  /// What holds where the key is not written.
  let standard: String?
  let isRequired: Bool
  let summary: String

  var isFamily: Bool { name.utf8.last == UInt8(ascii: ".") }

  /// As people write it: `header.NAME`.
  var shown: String { isFamily ? name + "NAME" : name }

  func matches(_ key: String) -> Bool { isFamily ? key.hasPrefix(name) : key == name }

  /// Where the type is not known, only what all types have applies.
  func applies(to type: BackendType?) -> Bool {
    types.isEmpty || type.map(types.contains) ?? false
  }
}

/// The sections a configuration has.
enum SectionKind: String, CaseIterable {
  case daemon, backend, profile

  /// How its header is written.
  var header: String { self == .daemon ? "[daemon]" : "[\(rawValue) NAME]" }
}
