extension ConfigurationSchema {
  static let backend: [ConfigurationKey<BackendDraft>] = [
    common, http, exec, cognito, awsSample, userPool, hostedUI, oidc, oidcEndpoints,
  ].flatMap { $0 }

  /// A wrong Content-Type, for example, makes a backend refuse the body or read it as something else.
  private static let headersOfCredd: Set = [
    "host", "content-length", "content-type", "transfer-encoding", "connection",
    "credd-host-authorization",
  ]

  private static let common: [ConfigurationKey<BackendDraft>] = [
    .init("type", \.type, .choice, required: true),
    .init(
      "timeout", \.common.timeout, .duration(.milliseconds(100) ... .seconds(60)), standard: "5s"),
    .init("max_parallel", \.common.maxParallel, .integer(1...1024), standard: "16"),
    .init("rate_limit", \.common.rateLimit, .rate, standard: "50/s"),
    .init(
      "send_caller", \.common.sendsCaller, .yesNo, standard: "no", of: [.http, .exec]),
  ]

  private static let http: [ConfigurationKey<BackendDraft>] = [
    .init("url", \.http.url, .url, required: true, of: [.http]),
    .init("method", \.http.method, .choice, standard: "POST", of: [.http]),
    .init("bearer_token_file", \.http.bearerTokenFile, .path, of: [.http]),
    .init("ca_file", \.http.caFile, .path, of: [.http]),
    .init("client_certificate", \.http.clientCertificate, .path, of: [.http]),
    .init("client_key", \.http.clientKey, .path, of: [.http]),
    .init("unix_socket", \.http.unixSocket, .socketPath, of: [.http]),
    .init("login_url", \.http.loginURL, .url, of: [.http]),
    .init("logout_url", \.http.logoutURL, .url, of: [.http]),
    .init("register_url", \.http.registerURL, .url, of: [.http]),
    .init("allow_plain_http", \.http.allowPlainHTTP, .yesNo, standard: "no", of: [.http]),
    .init(
      family: "header.", syntax: "a text", of: [.http]
    ) { value, name, draft throws(InvalidValue) in
      guard name.isHeaderName else { throw InvalidValue("not a header's name") }
      let lowercased = name.lowercased()
      guard !headersOfCredd.contains(lowercased) else {
        throw InvalidValue("credd sets this header itself")
      }
      guard !draft.http.headers.contains(where: { $0.name.lowercased() == lowercased }) else {
        throw InvalidValue("duplicate header: case does not count in names of headers")
      }
      guard draft.http.headers.count < Limits.Configuration.headers else {
        throw InvalidValue("more than \(Limits.Configuration.headers) headers")
      }
      draft.http.headers.append(HTTPHeader(name, Secret(try value.text())))
    },
  ]

  private static let exec: [ConfigurationKey<BackendDraft>] = [
    .init("command", \.exec.command, .command, required: true, of: [.exec]),
    .init(
      family: "environment.", syntax: "a text", of: [.exec]
    ) { value, name, draft throws(InvalidValue) in
      guard name.isVariableName else { throw InvalidValue("not a variable's name") }
      guard draft.exec.environment.count < Limits.Configuration.environmentVariables else {
        throw InvalidValue("more than \(Limits.Configuration.environmentVariables) variables")
      }
      draft.exec.environment[name] = Secret(try value.text(mayBeEmpty: true))
    },
  ]

  private static let cognito: [ConfigurationKey<BackendDraft>] = [
    .init("credentials_file", \.cognito.credentialsFile, .path, of: [.cognito]),
    .init(
      "credentials_profile", \.cognito.credentialsProfile, .sectionName, standard: "default",
      of: [.cognito]),
    .init("credential_process", \.cognito.credentialProcess, .command, of: [.cognito]),
    .init(
      "token_duration", \.cognito.tokenDuration,
      .seconds(Limits.Upstream.tokenSeconds),
      standard: "15m", of: [.cognito]),
    .init("cognito_endpoint", \.cognito.cognitoEndpoint, .endpoint, of: [.cognito]),
    .init("allow_plain_http", \.cognito.allowPlainHTTP, .yesNo, standard: "no", of: [.cognito]),
    .init(
      family: "principal_tags.", syntax: tagValue.name, of: [.cognito]
    ) { value, name, draft throws(InvalidValue) in
      guard Limits.Upstream.tagNameLength.contains(name.utf8.count),
        name.containsOnlyLettersDigits(or: "_.:/+@-")
      else {
        throw InvalidValue("not a tag's name")
      }
      guard draft.cognito.principalTags.count < Limits.Upstream.principalTags else {
        throw InvalidValue("more than \(Limits.Upstream.principalTags) principal tags")
      }
      draft.cognito.principalTags[name] = try tagValue.read(value)
    },
  ]

  private static let awsSample: [ConfigurationKey<BackendDraft>] = [
    .init("url", \.awsSample.url, .endpoint, required: true, of: [.awsSample]),
    .init(
      "app_name", \.awsSample.appName, .appName,
      standard: AWSSampleBackendSettings.standardAppName, of: [.awsSample]),
    .init("ca_file", \.awsSample.caFile, .path, of: [.awsSample]),
    .init("allow_plain_http", \.awsSample.allowPlainHTTP, .yesNo, standard: "no", of: [.awsSample]),
  ]

  private static let userPool: [ConfigurationKey<BackendDraft>] = [
    .init(
      "user_pool_id", \.userPool.userPoolID, .userPoolID, required: true, of: [.userPool]),
    .init("client_id", \.userPool.clientID, .clientID, required: true, of: [.userPool]),
    .init("client_secret_file", \.userPool.clientSecretFile, .path, of: [.userPool]),
    .init("auth_flow", \.userPool.authFlow, .choice, standard: "srp", of: [.userPool]),
    .init(
      "remember_device", \.userPool.rememberDevice, .choice, standard: "no", of: [.userPool]),
    .init(
      "account_actions", \.userPool.accountActions, .words(),
      standard: UserPoolSettings.standardAccountActions.map(\.rawValue).joined(separator: " "),
      of: [.userPool]),
    .init(
      "client_metadata", \.userPool.takesClientMetadata, .yesNo, standard: "no", of: [.userPool]),
    .init("provider_name", \.userPool.providerName, .loginsKey, of: [.userPool]),
    .init("user_pool_endpoint", \.userPool.endpoint, .endpoint, of: [.userPool]),
    .init("ca_file", \.userPool.caFile, .path, of: [.userPool]),
    .init("allow_plain_http", \.userPool.allowPlainHTTP, .yesNo, standard: "no", of: [.userPool]),
  ]

  private static let hostedUI: [ConfigurationKey<BackendDraft>] = [
    .init("domain", \.userPool.domain, .poolDomain, of: [.userPool]),
    .init("redirect_uri", \.userPool.browser.redirectURIs, .redirectURIs, of: [.userPool]),
    .init(
      "identity_provider", \.userPool.browser.identityProviders, .identityProviders,
      of: [.userPool]),
    .init("idp_identifier", \.userPool.browser.idpIdentifier, .shortName, of: [.userPool]),
    .init("scopes", \.userPool.browser.scopes, .scopes, standard: "openid", of: [.userPool]),
    .init(
      "logout_redirect_uri", \.userPool.browser.logoutRedirectURI, .redirectURI, of: [.userPool]),
    parameters("authorize.", \.userPool.browser, of: .userPool),
    parameters("logout.", \.userPool.browser, of: .userPool),
  ]

  private static let oidc: [ConfigurationKey<BackendDraft>] = [
    .init("issuer", \.oidc.issuer, .issuer, required: true, of: [.oidc]),
    .init("client_id", \.oidc.clientID, .oidcClientID, required: true, of: [.oidc]),
    .init("client_secret_file", \.oidc.clientSecretFile, .path, of: [.oidc]),
    .init(
      "client_authentication", \.oidc.clientAuthentication, .choice, standard: "none",
      of: [.oidc]),
    .init("client_assertion_key_file", \.oidc.clientAssertionKeyFile, .path, of: [.oidc]),
    .init("client_assertion_key_id", \.oidc.clientAssertionKeyID, .shortName, of: [.oidc]),
    .init("sign_in", \.oidc.signIn, .words(), standard: "browser paste", of: [.oidc]),
    .init("redirect_uri", \.oidc.browser.redirectURIs, .redirectURIs, of: [.oidc]),
    .init("provider_name", \.oidc.providerName, .loginsKey, of: [.oidc]),
    .init(
      "scopes", \.oidc.browser.scopes, .scopes, standard: "openid offline_access", of: [.oidc]),
    .init(
      "logout_redirect_uri", \.oidc.browser.logoutRedirectURI, .redirectURI, of: [.oidc]),
    parameters("authorize.", \.oidc.browser, of: .oidc),
    parameters("logout.", \.oidc.browser, of: .oidc),
    .init(
      family: "require.", syntax: requiredValue.name, of: [.oidc]
    ) { value, name, draft throws(InvalidValue) in
      guard ValueSyntax<String>.isShortName(name) else { throw InvalidValue("not a claim's name") }
      guard draft.oidc.required.count < Limits.OIDC.values else {
        throw InvalidValue("more than \(Limits.OIDC.values) required claims")
      }
      draft.oidc.required.append(
        RequiredClaim(name: name, value: try requiredValue.read(value)))
      draft.oidc.required.sort { $0.name < $1.name }
    },
    .init("ca_file", \.oidc.caFile, .path, of: [.oidc]),
  ]

  private static let oidcEndpoints: [ConfigurationKey<BackendDraft>] = [
    .init(
      "authorization_endpoint", \.oidc.endpoints.authorization, .providerURL, of: [.oidc]),
    .init("token_endpoint", \.oidc.endpoints.token, .providerURL, of: [.oidc]),
    .init(
      "device_authorization_endpoint", \.oidc.endpoints.deviceAuthorization, .providerURL,
      of: [.oidc]),
    .init("revocation_endpoint", \.oidc.endpoints.revocation, .providerURL, of: [.oidc]),
    .init("end_session_endpoint", \.oidc.endpoints.endSession, .providerURL, of: [.oidc]),
  ]

  /// `authorize.NAME` or `logout.NAME`.
  private static func parameters(
    _ family: String, _ browser: any WritableKeyPath<BackendDraft, BrowserSettings> & Sendable,
    of type: BackendType
  ) -> ConfigurationKey<BackendDraft> {
    let isLogout = family == "logout."
    return .init(
      family: family, syntax: "a text", of: [type]
    ) { value, name, draft throws(InvalidValue) in
      let text = try value.text(mayBeEmpty: true)
      if isLogout {
        try AuthorizationParameter.checkLogout(name: name, value: text)
      } else {
        try AuthorizationParameter.checkAuthorization(name: name, value: text)
      }
      try draft[keyPath: browser].add(
        AuthorizationParameter(name: name, value: text), isLogout: isLogout)
    }
  }

  private static var requiredValue: ValueSyntax<Template> { .template(length: 1024) }

  private static var tagValue: ValueSyntax<Template> {
    .template(length: Limits.Upstream.tagValueLength.upperBound)
  }

  /// The keys of a section, whatever their types.
  static func references(of kind: SectionKind) -> [ConfigurationKeyReference] {
    switch kind {
    case .daemon: daemon.map(\.reference)
    case .backend: backend.map(\.reference)
    case .profile: profile.map(\.reference)
    }
  }
}
