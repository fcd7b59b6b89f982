import CredCore

/// The keys of [backend].
enum BackendRows {
  typealias Row = ConfigurationRow<BackendSettings>

  static let all =
    ([common, http, exec, cognito, awsSample, userPool, hostedUI, oidc] as [[Row]]).flatMap { $0 }

  private static let common: [Row] = [
    .init(
      name: "type", kind: .choice(["http", "exec", "cognito", "aws-sample", "user-pool", "oidc"])
    ) {
      $0.type.rawValue
    },
    .init(name: "timeout", kind: .duration(100...60_000, isWhole: false), standard: "5000") {
      Shown.duration($0.timeout)
    },
    .init(name: "max_parallel", kind: .number(1...1024), standard: "16") { "\($0.maxParallel)" },
    .init(name: "rate_limit", kind: .rate, standard: "50/s") { $0.rateLimit.written },
  ]

  private static func http(
    _ name: String, _ kind: ValueKind, _ standard: String? = nil,
    _ shown: @escaping @Sendable (HTTPBackendSettings) -> String?
  ) -> Row {
    Row(name: name, kind: kind, standard: standard, type: "http") { backend in
      if case .http(let settings) = backend.kind { shown(settings) } else { nil }
    }
  }

  private static func sendCaller(_ type: String) -> Row {
    Row(name: "send_caller", kind: .yesNo, standard: "false", type: type) { "\($0.sendsCaller)" }
  }

  private static let http: [Row] = [
    sendCaller("http"),
    http("url", .url) { Shown.template($0.url.template) },
    http("method", .choice(["GET", "POST"]), "POST") { $0.method.rawValue },
    http("bearer_token_file", .path(4095)) { $0.bearerTokenFile },
    http("ca_file", .path(4095)) { $0.caFile },
    http("client_certificate", .path(4095)) { $0.clientCertificate },
    http("client_key", .path(4095)) { $0.clientKey },
    http("unix_socket", .path(107)) { $0.unixSocket },
    http("login_url", .url) { $0.loginURL.map { Shown.template($0.template) } },
    http("register_url", .url) { $0.registerURL.map { Shown.template($0.template) } },
    http("logout_url", .url) { $0.logoutURL.map { Shown.template($0.template) } },
    http("allow_plain_http", .yesNo, "false") { "\($0.allowPlainHTTP)" },
    http("header.", .header, "") { settings in
      settings.headers.map { "\($0.name)=\($0.value.exposedText() ?? "")" }.joined(separator: "\n")
    },
  ]

  private static let exec: [Row] = [
    sendCaller("exec"),
    Row(name: "command", kind: .command, type: "exec") { backend in
      if case .exec(let settings) = backend.kind { Shown.list(settings.command) } else { nil }
    },
    Row(name: "environment.", kind: .variable, standard: "", type: "exec") { backend in
      guard case .exec(let settings) = backend.kind else { return nil }
      return settings.environment.map { "\($0.key)=\($0.value.exposedText() ?? "")" }.sorted()
        .joined(separator: "\n")
    },
  ]

  private static func cognito(
    _ name: String, _ kind: ValueKind, _ standard: String? = nil,
    _ shown: @escaping @Sendable (CognitoBackendSettings) -> String?
  ) -> Row {
    Row(name: name, kind: kind, standard: standard, type: "cognito") { backend in
      if case .cognito(let settings) = backend.kind { shown(settings) } else { nil }
    }
  }

  private static let cognito: [Row] = [
    cognito("credentials_file", .path(4095)) { $0.credentialsFile },
    cognito("credentials_profile", .text(["other"], SecondRules.isProfileName), "default") {
      $0.credentialsProfile
    },
    cognito("credential_process", .command) { $0.credentialProcess.map(Shown.list) },
    cognito("token_duration", .duration(1000...86_400_000, isWhole: true), "900000") {
      Shown.duration($0.tokenDuration)
    },
    cognito("cognito_endpoint", .endpoint) { $0.cognitoEndpoint?.text },
    cognito("allow_plain_http", .yesNo, "false") { "\($0.allowPlainHTTP)" },
    cognito("principal_tags.", .tag, "") { settings in
      settings.principalTags.map { "\($0.key)=\(Shown.template($0.value))" }.sorted()
        .joined(separator: "\n")
    },
  ]

  private static func awsSample(
    _ name: String, _ kind: ValueKind, _ standard: String? = nil,
    _ shown: @escaping @Sendable (AWSSampleBackendSettings) -> String?
  ) -> Row {
    Row(name: name, kind: kind, standard: standard, type: "aws-sample") { backend in
      if case .awsSample(let settings) = backend.kind { shown(settings) } else { nil }
    }
  }

  private static let awsSample: [Row] = [
    awsSample("url", .endpoint) { $0.url.text },
    awsSample(
      "app_name",
      .text(["app", "my.app-1"]) {
        SecondRules.isMade($0, of: SecondRules.lower + SecondRules.digits + "._-", 1...Int.max)
      }, "awscognitodeveloperauthenticationsample"
    ) { $0.appName },
    awsSample("ca_file", .path(4095)) { $0.caFile },
    awsSample("allow_plain_http", .yesNo, "false") { "\($0.allowPlainHTTP)" },
  ]

  private static func userPool(
    _ name: String, _ kind: ValueKind, _ standard: String? = nil,
    _ shown: @escaping @Sendable (UserPoolSettings) -> String?
  ) -> Row {
    Row(name: name, kind: kind, standard: standard, type: "user-pool") { backend in
      if case .userPool(let settings) = backend.kind { shown(settings) } else { nil }
    }
  }

  private static let actions = [
    "sign-up", "confirm", "resend", "forgot-password", "reset-password", "get", "change-password",
    "set-attributes", "verify-attribute", "delete-attributes", "mfa", "totp", "devices",
    "remember-device", "forget-device", "delete",
  ]

  private static let userPool: [Row] = [
    userPool("user_pool_id", .text(["eu-west-1_AbCdEf123"], SecondRules.isUserPoolID)) {
      $0.userPoolID
    },
    userPool(
      "client_id",
      .text(["2abc", "a_b+C"]) {
        SecondRules.isMade($0, of: SecondRules.letters + SecondRules.digits + "_+", 1...128)
      }
    ) { $0.clientID },
    userPool("client_secret_file", .path(4095)) { $0.clientSecretFile },
    userPool("auth_flow", .choice(["srp", "password", "custom", "custom-srp", "choice"]), "srp") {
      $0.authFlow.rawValue
    },
    userPool("remember_device", .choice(["no", "yes", "ask"]), "no") { $0.rememberDevice.rawValue },
    userPool(
      "account_actions", .words(actions),
      Shown.list(["get", "change-password", "devices", "remember-device", "forget-device"])
    ) { Shown.list($0.accountActions.map(\.rawValue)) },
    userPool("client_metadata", .yesNo, "false") { "\($0.takesClientMetadata)" },
    userPool("provider_name", .text(["issuer-cognito-idp.a/b_c"], SecondRules.isLoginsKey)) {
      $0.providerName
    },
    userPool("user_pool_endpoint", .endpoint) { $0.endpoint?.text },
    userPool("ca_file", .path(4095)) { $0.caFile },
    userPool("allow_plain_http", .yesNo, "false") { "\($0.allowPlainHTTP)" },
  ]
  private static let redirectURIs = ValueKind.list(
    64,
    ["http://localhost:8976/", "http://127.0.0.1/", "http://[::1]/cb", "https://example.com/cb"],
    SecondRules.isRedirectURI)

  private static let scopes = ValueKind.list(
    64, ["openid", "openid", "openid", "email", "aws.cognito.signin.user.admin"],
    SecondRules.isScope)

  private static func members(_ parameters: [AuthorizationParameter]) -> String {
    parameters.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "\n")
  }

  private static let hostedUI: [Row] = [
    userPool("domain", .domain) { $0.domain?.text },
    userPool("redirect_uri", redirectURIs, Shown.list([])) {
      Shown.list($0.browser.redirectURIs)
    },
    userPool(
      "identity_provider", .list(64, ["Okta", "COGNITO"], SecondRules.isShortName), Shown.list([])
    ) { Shown.list($0.browser.identityProviders) },
    userPool("idp_identifier", .text(["example.com"], SecondRules.isShortName)) {
      $0.browser.idpIdentifier
    },
    userPool("scopes", scopes, Shown.list(["openid"])) { Shown.list($0.browser.scopes) },
    userPool(
      "logout_redirect_uri",
      .text(["http://localhost:1/", "https://a/?b"], SecondRules.isLogoutURI)
    ) { $0.browser.logoutRedirectURI },
    userPool("authorize.", .parameter(isLogout: false), "") { members($0.browser.authorize) },
    userPool("logout.", .parameter(isLogout: true), "") { members($0.browser.logout) },
  ]

  private static func oidc(
    _ name: String, _ kind: ValueKind, _ standard: String? = nil,
    _ shown: @escaping @Sendable (OIDCSettings) -> String?
  ) -> Row {
    Row(name: name, kind: kind, standard: standard, type: "oidc") { backend in
      if case .oidc(let settings) = backend.kind { shown(settings) } else { nil }
    }
  }

  private static let providerURL = ValueKind.text(
    ["https://example.com/a", "http://127.0.0.1:1/?p=x"], SecondRules.isProviderURL)

  private static let oidc: [Row] = [
    oidc("issuer", .text(["https://example.eu.auth0.com/", "https://a/b"], SecondRules.isIssuer)) {
      $0.issuer
    },
    oidc("client_id", .text(["2abc", "a.b:c/d"]) { SecondRules.isVisible($0, 1...512) }) {
      $0.clientID
    },
    oidc("client_secret_file", .path(4095)) { $0.clientSecretFile },
    oidc("client_authentication", .choice(["none", "basic", "post", "private-key-jwt"]), "none") {
      $0.clientAuthentication.rawValue
    },
    oidc("client_assertion_key_file", .path(4095)) { $0.clientAssertionKeyFile },
    oidc("client_assertion_key_id", .text(["k1"], SecondRules.isShortName)) {
      $0.clientAssertionKeyID
    },
    oidc("sign_in", .words(["browser", "paste", "device"]), Shown.list(["browser", "paste"])) {
      Shown.list($0.signIn.map(\.rawValue))
    },
    oidc("redirect_uri", redirectURIs, Shown.list([])) { Shown.list($0.browser.redirectURIs) },
    oidc("provider_name", .text(["example.eu.auth0.com"], SecondRules.isLoginsKey)) {
      $0.providerName
    },
    oidc("scopes", scopes, Shown.list(["openid", "offline_access"])) {
      Shown.list($0.browser.scopes)
    },
    oidc(
      "logout_redirect_uri",
      .text(["http://localhost:1/", "https://a/?b"], SecondRules.isLogoutURI)
    ) { $0.browser.logoutRedirectURI },
    oidc("authorize.", .parameter(isLogout: false), "") { members($0.browser.authorize) },
    oidc("logout.", .parameter(isLogout: true), "") { members($0.browser.logout) },
    oidc("require.", .claim, "") { settings in
      settings.required.map { "\($0.name)=\(Shown.template($0.value))" }.sorted()
        .joined(separator: "\n")
    },
    oidc("ca_file", .path(4095)) { $0.caFile },
    oidc("authorization_endpoint", providerURL) { $0.endpoints.authorization?.text },
    oidc("token_endpoint", providerURL) { $0.endpoints.token?.text },
    oidc("device_authorization_endpoint", providerURL) { $0.endpoints.deviceAuthorization?.text },
    oidc("revocation_endpoint", providerURL) { $0.endpoints.revocation?.text },
    oidc("end_session_endpoint", providerURL) { $0.endpoints.endSession?.text },
  ]
}
