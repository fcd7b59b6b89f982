import CredCore

/// What a key takes, as credd.conf(5) says it.
enum ValueKind {
  case number(ClosedRange<Int>)
  /// Milliseconds.
  case duration(ClosedRange<Int>, isWhole: Bool)
  case rate
  case yesNo
  case choice([String])
  /// With values that are right.
  case text([String], @Sendable (String) -> Bool)
  case path(Int)
  case url
  case endpoint
  case template(Int, @Sendable (String) -> Bool)
  /// With words that are right.
  case list(Int, [String], @Sendable (String) -> Bool)
  /// Words of these, each once; "none" for no word.
  case words([String])
  /// "no", "yes" or users' names.
  case kept
  case executables
  case command
  case header
  case variable
  case tag
  /// Of a URL that a browser opens: `authorize.NAME` or `logout.NAME`.
  case parameter(isLogout: Bool)
  /// `require.CLAIM`.
  case claim
  /// A user pool's: a host's name, or a URL.
  case domain
}

/// A key of a section: what it takes, what holds without it, and where the settings have it.
struct ConfigurationRow<Settings>: Sendable {
  let name: String
  let kind: ValueKind
  /// As the settings show it; nil if the key is left out.
  var standard: String?
  /// The backend's type; empty for all.
  var type = ""
  let shown: @Sendable (Settings) -> String?
}

extension ValueKind: Sendable {}

/// How values are compared: as texts, whatever the types of the settings.
enum Shown {
  static func list(_ words: [String]) -> String { "\(words)" }
  static func duration(_ duration: Duration) -> String {
    "\(duration.wholeNanoseconds / 1_000_000)"
  }

  static func template(_ template: Template) -> String {
    template.parts.map { part in
      switch part {
      case .literal(let text): "'\(text)'"
      case .placeholder(let placeholder): "{\(placeholder.rawValue)}"
      }
    }.joined()
  }
}

enum DaemonRows {
  static let all: [ConfigurationRow<DaemonSettings>] = [
    .init(name: "max_connections", kind: .number(1...65_536), standard: "4096") {
      "\($0.maxConnections)"
    },
    .init(name: "max_connections_per_user", kind: .number(1...65_536), standard: "64") {
      "\($0.maxConnectionsPerUser)"
    },
    .init(name: "admin_group", kind: .text(["adm"], SecondRules.isAccountName)) { $0.adminGroup },
    .init(name: "metrics_users", kind: ProfileRows.accounts, standard: "[]") {
      Shown.list($0.metricsUsers)
    },
    .init(
      name: "log_level", kind: .choice(["error", "warning", "notice", "info", "debug"]),
      standard: "info"
    ) { $0.logLevel.rawValue },
    .init(name: "upstream_connections", kind: .number(1...1024), standard: "64") {
      "\($0.upstreamConnections)"
    },
    .init(name: "exit_on_idle", kind: .duration(1000...604_800_000, isWhole: false)) {
      $0.exitOnIdle.map(Shown.duration)
    },
    .init(name: "max_sessions", kind: .number(1...100_000), standard: "10000") {
      "\($0.maxSessions)"
    },
    .init(name: "get_id_rate_limit", kind: .rate, standard: "25/s") { $0.getIDRate.written },
    .init(name: "get_credentials_rate_limit", kind: .rate, standard: "200/s") {
      $0.getCredentialsRate.written
    },
    .init(name: "get_openid_token_rate_limit", kind: .rate, standard: "200/s") {
      $0.getOpenIDTokenRate.written
    },
    .init(name: "assume_role_rate_limit", kind: .rate, standard: "100/s") {
      $0.assumeRoleRate.written
    },
  ]
}

enum ProfileRows {
  fileprivate static let accounts = ValueKind.list(
    .max, ["alice", "\"domain users\"", "é", "0"], SecondRules.isAccountName)

  private static let units = [
    "billing.service", "user@*.service/app-*", "*", "sess-[0-9]", "a.slice",
  ]
  private static let roles = [
    "arn:aws:iam::123456789012:role/x", "arn:aws:iam::123456789012:role/a/b@c",
    "arn:aws:iam::000000000000:role/y", "arn:aws-cn:iam::123456789012:role/z",
  ]
  private static let policies = [
    "arn:aws:iam::aws:policy/P", "arn:aws:iam::123456789012:policy/a-b",
  ]

  static let all: [ConfigurationRow<ProfileSettings>] = [
    .init(
      name: "identity_pool_id",
      kind: .text(
        [FuzzTarget.identityPool, FuzzTarget.identityPool, "a:0", "cn-north-1:0"],
        SecondRules.isPoolID)
    ) {
      $0.identityPoolID
    },
    .init(name: "developer_provider", kind: .text(["login.example.app"], SecondRules.isProvider)) {
      $0.developerProvider
    },
    .init(name: "backend", kind: .text(["corp"], SecondRules.isProfileName)) { $0.backend },
    .init(name: "link_backend", kind: .text(["okta", "corp"], SecondRules.isProfileName)) {
      $0.linkBackend
    },
    .init(name: "user_identifier", kind: .template(1024) { _ in true }, standard: "{user}") {
      Shown.template($0.userIdentifier)
    },
    .init(name: "flow", kind: .choice(["enhanced", "basic"]), standard: "enhanced") {
      $0.flow.rawValue
    },
    .init(name: "role_arn", kind: .text(roles) { SecondRules.isARN($0, of: "role/") }) {
      $0.roleARN
    },
    .init(
      name: "role_session_name", kind: .template(64, SecondRules.isSessionName), standard: "{user}"
    ) { Shown.template($0.roleSessionName) },
    .init(
      name: "duration", kind: .duration(900_000...43_200_000, isWhole: true), standard: "3600000"
    ) { Shown.duration($0.duration) },
    .init(
      name: "forget_after", kind: .duration(1000...315_360_000_000, isWhole: false),
      standard: "2592000000"
    ) { Shown.duration($0.forgetAfter) },
    .init(name: "policy_file", kind: .path(4095)) { $0.policyFile },
    .init(
      name: "policy_arns", kind: .list(10, policies) { SecondRules.isARN($0, of: "policy/") },
      standard: Shown.list([])
    ) { Shown.list($0.policyARNs) },
    .init(name: "guest", kind: .yesNo, standard: "false") { "\($0.guest)" },
    .init(
      name: "account_id",
      kind: .text(["123456789012"]) { SecondRules.isMade($0, of: SecondRules.digits, 12...12) }
    ) { $0.accountID },
    .init(name: "web_identity_token_file", kind: .path(4095)) { $0.webIdentityTokenFile },
    .init(
      name: "web_identity_provider",
      kind: .text(["idp.example.com"]) { SecondRules.isVisible($0, 1...128) }
    ) {
      $0.webIdentityProvider
    },
    .init(name: "allow_users", kind: accounts, standard: "[]") { Shown.list($0.allowUsers) },
    .init(name: "allow_groups", kind: accounts, standard: "[]") { Shown.list($0.allowGroups) },
    .init(name: "allow_units", kind: .list(.max, units, SecondRules.isUnit), standard: "[]") {
      Shown.list($0.allowUnits)
    },
    .init(name: "allow_executables", kind: .executables, standard: "[]") {
      Shown.list($0.allowExecutables)
    },
    .init(name: "keep_warm", kind: .kept, standard: "no") {
      switch $0.keepWarm {
      case .nobody: "no"
      case .everySession: "yes"
      case .users(let names): Shown.list(names)
      }
    },
    .init(name: "vend_tokens", kind: .words(["id", "access", "account"]), standard: "[]") {
      Shown.list($0.vendTokens.map(\.rawValue))
    },
    .init(name: "impersonate", kind: accounts, standard: "[]") { Shown.list($0.impersonate) },
    .init(name: "impersonate_signed_in", kind: .yesNo, standard: "false") {
      "\($0.impersonateSignedIn)"
    },
    .init(name: "cognito_endpoint", kind: .endpoint) { $0.cognitoEndpoint?.text },
    .init(name: "sts_endpoint", kind: .endpoint) { $0.stsEndpoint?.text },
    .init(name: "allow_plain_http", kind: .yesNo, standard: "false") { "\($0.allowPlainHTTP)" },
    .init(name: "fips", kind: .yesNo, standard: "false") { "\($0.fips)" },
    .init(name: "dualstack", kind: .yesNo, standard: "false") { "\($0.dualstack)" },
    .init(name: "ca_file", kind: .path(4095)) { $0.caFile },
    .init(
      name: "logins_key", kind: .text(["idp.example.com"]) { SecondRules.isVisible($0, 1...128) }
    ) { $0.loginsKey },
  ]
}
