/// Rules between keys. A key with a wrong value counts as present: it has its own error already.
extension ConfigurationReader {
  mutating func check(_ backend: BackendDraft, _ section: INISection) {
    switch backend.type {
    case .http: check(backend.http, section)
    case .cognito: check(backend.cognito, section)
    case .awsSample:
      refusePlainHTTP(
        "url", backend.awsSample.url, section, isAllowed: backend.awsSample.allowPlainHTTP)
    case .userPool:
      refusePlainHTTP(
        "user_pool_endpoint", backend.userPool.endpoint, section,
        isAllowed: backend.userPool.allowPlainHTTP)
      check(backend.userPool, section)
    case .oidc: check(backend.oidc, section)
    case .exec, nil: break
    }
  }

  private mutating func check(_ http: HTTPBackendSettings, _ section: INISection) {
    // With a Unix socket nothing leaves the host.
    let isAllowed = http.allowPlainHTTP || section["unix_socket"] != nil
    refusePlainHTTP("url", http.url.sample, section, isAllowed: isAllowed)
    refusePlainHTTP("login_url", http.loginURL?.sample, section, isAllowed: isAllowed)
    refusePlainHTTP("logout_url", http.logoutURL?.sample, section, isAllowed: isAllowed)
    refusePlainHTTP("register_url", http.registerURL?.sample, section, isAllowed: isAllowed)
    require("client_certificate", with: "client_key", section)
    let ofTokens = ["authorization", HTTPBackend.hostHeader.lowercased()]
    for header in http.headers where ofTokens.contains(header.name.lowercased()) {
      for key in ["bearer_token_file", "login_url"] where section[key] != nil {
        diagnostics.error(
          at: section.position(of: "header.\(header.name)"),
          "header.\(header.name): '\(key)' sets this header already")
      }
    }
  }

  private mutating func check(_ cognito: CognitoBackendSettings, _ section: INISection) {
    refusePlainHTTP(
      "cognito_endpoint", cognito.cognitoEndpoint, section, isAllowed: cognito.allowPlainHTTP)
    require("credentials_file", with: "credentials_profile", section)
    exclude("credential_process", with: "credentials_file", section)
  }

  /// The Hosted UI.
  private mutating func check(_ pool: UserPoolSettings, _ section: INISection) {
    require("redirect_uri", with: "domain", section)
    let keys = [
      "redirect_uri", "identity_provider", "idp_identifier", "scopes", "logout_redirect_uri",
    ]
    for key in keys { require("domain", with: key, section) }
    for entry in section.entries
    where entry.key.hasPrefix("authorize.") || entry.key.hasPrefix("logout.") {
      require("domain", with: entry.key, section)
    }
    checkScopes(pool.browser, section)
  }

  private mutating func check(_ oidc: OIDCSettings, _ section: INISection) {
    let ways = oidc.signIn.map(\.rawValue)
    if ways.isEmpty {
      diagnostics.error(
        at: section.position(of: "sign_in"), "sign_in: names no way in which users may sign in")
    }
    if ways != ["device"], !ways.isEmpty, section["redirect_uri"] == nil {
      diagnostics.error(
        at: section.position(of: "sign_in"),
        "sign_in: browser and paste require 'redirect_uri', as it is registered with the provider")
    }
    checkScopes(oidc.browser, section)
    checkRequiredEmail(oidc, section)
    checkAuthentication(oidc, section)
  }

  /// The scope `email` asks for both claims (OpenID Connect Core, 5.4). Some providers give them
  /// unasked.
  private mutating func checkRequiredEmail(_ oidc: OIDCSettings, _ section: INISection) {
    guard !oidc.browser.scopes.contains("email") else { return }
    for claim in oidc.required where ["email", "email_verified"].contains(claim.name) {
      diagnostics.warning(
        at: section.position(of: "require.\(claim.name)"),
        "require.\(claim.name): most providers give this claim only with the scope email, and every "
          + "sign-in without it is refused: add email to 'scopes'")
    }
  }

  private mutating func checkScopes(_ browser: BrowserSettings, _ section: INISection) {
    guard !browser.scopes.contains("openid") else { return }
    diagnostics.error(
      at: section.position(of: "scopes"),
      "scopes: must have openid: without it there is no ID token")
  }

  private mutating func checkAuthentication(_ oidc: OIDCSettings, _ section: INISection) {
    let key = "client_authentication"
    let position = section.position(of: key)
    let method = oidc.clientAuthentication
    let needsSecret = method == .basic || method == .post
    if needsSecret, section["client_secret_file"] == nil {
      diagnostics.error(at: position, "\(key): \(method.rawValue) requires 'client_secret_file'")
    }
    if method == .privateKeyJWT, section["client_assertion_key_file"] == nil {
      diagnostics.error(
        at: position, "\(key): private-key-jwt requires 'client_assertion_key_file'")
    }
    // A secret that is not sent is a mistake that the provider would answer without a reason.
    if !needsSecret, let entry = section["client_secret_file"] {
      diagnostics.error(
        at: entry.position,
        "client_secret_file: requires 'client_authentication = basic' or 'post'")
    }
    if method != .privateKeyJWT, let entry = section["client_assertion_key_file"] {
      diagnostics.error(
        at: entry.position,
        "client_assertion_key_file: requires 'client_authentication = private-key-jwt'")
    }
    require("client_assertion_key_file", with: "client_assertion_key_id", section)
  }

  mutating func check(_ profile: ProfileSettings, _ section: INISection) {
    if profile.impersonateSignedIn {
      require("impersonate", with: "impersonate_signed_in", section)
    }
    require("web_identity_provider", with: "web_identity_token_file", section)
    require("web_identity_token_file", with: "web_identity_provider", section)
    checkFlow(profile, section)
    checkPartition(profile, section)
    checkEverybody(profile, section)
    checkTokens(profile, section)
    for key in ["cognito_endpoint", "sts_endpoint"] {
      if profile.fips { exclude(key, with: "fips", section) }
      if profile.dualstack { exclude(key, with: "dualstack", section) }
    }
    refusePlainHTTP(
      "cognito_endpoint", profile.cognitoEndpoint, section, isAllowed: profile.allowPlainHTTP)
    refusePlainHTTP("sts_endpoint", profile.stsEndpoint, section, isAllowed: profile.allowPlainHTTP)
    // GetId refuses these: "Invalid login token. Can't pass in a Cognito token."
    if let provider = profile.webIdentityProvider, provider.hasPrefix("cognito-identity") {
      diagnostics.error(
        at: section.position(of: "web_identity_provider"),
        "web_identity_provider: Cognito refuses its own tokens as a login")
    }
    if let provider = profile.webIdentityProvider, provider == profile.developerProvider {
      diagnostics.error(
        at: section.position(of: "web_identity_provider"),
        "web_identity_provider: only the backend vouches for users of the developer_provider")
    }
  }

  private mutating func checkFlow(_ profile: ProfileSettings, _ section: INISection) {
    if profile.flow == .basic {
      if section["role_arn"] == nil {
        diagnostics.error(at: section.position(of: "flow"), "flow: basic requires 'role_arn'")
      }
      if profile.duration < .seconds(30 * 60) {
        diagnostics.warning(
          at: section.position(of: "duration"),
          "duration: under 30m, clients that refresh 15m before expiration ask all the time")
      }
      return
    }
    // An operator relies on a policy, so one without effect is an error; other keys are a warning.
    for key in ["policy_file", "policy_arns"] where section[key] != nil {
      diagnostics.error(
        at: section.position(of: key), "\(key): only 'flow = basic' can apply a policy")
    }
    for key in ["role_session_name", "duration", "sts_endpoint"] where section[key] != nil {
      diagnostics.warning(
        at: section.position(of: key), "\(key): has no effect in the enhanced flow")
    }
  }

  /// A role or policy of another partition than the pool's is always refused.
  private mutating func checkPartition(_ profile: ProfileSettings, _ section: INISection) {
    guard let pool = try? IdentityPoolID(profile.identityPoolID) else { return }
    let partition = AWSPartition(region: pool.region)
    let arns = [("role_arn", profile.roleARN)] + profile.policyARNs.map { ("policy_arns", $0) }
    for case (let key, let arn?) in arns {
      let named = arn.split(separator: ":").dropFirst().first.map(String.init) ?? ""
      guard named != partition.rawValue else { continue }
      diagnostics.error(
        at: section.position(of: key),
        "\(key): \(arn.singleQuoted) is of partition '\(named)', and the pool's region "
          + "'\(pool.region)' of '\(partition.rawValue)'")
    }
  }

  /// An operator relies on a list of tokens: one without effect is an error.
  private mutating func checkTokens(_ profile: ProfileSettings, _ section: INISection) {
    let words = profile.vendTokens
    guard !words.isEmpty else { return }
    require("backend", with: "vend_tokens", section)
    if words.contains(.account), !words.contains(.access) {
      diagnostics.error(
        at: section.position(of: "vend_tokens"),
        "vend_tokens: 'account' is about access tokens, and has no effect without 'access'")
    }
  }

  private mutating func checkEverybody(_ profile: ProfileSettings, _ section: INISection) {
    guard profile.allowUsers.contains(AccessRule.everybody) else { return }
    let others = ["allow_groups", "allow_units"].filter { section[$0] != nil }
    // The endpoint serves root only where root is named.
    let names = profile.allowUsers.filter { ![AccessRule.everybody, "root", "0"].contains($0) }
    guard !names.isEmpty || !others.isEmpty else { return }
    diagnostics.warning(
      at: section.position(of: "allow_users"),
      "allow_users: '*' admits every user, so the other names"
        + (others.isEmpty ? "" : " and \(others.joined(separator: ", "))") + " have no effect")
  }

  mutating func require(_ needed: String, with key: String, _ section: INISection) {
    guard let entry = section[key], section[needed] == nil else { return }
    diagnostics.error(at: entry.position, "\(key): requires '\(needed)'")
  }

  private mutating func exclude(_ key: String, with other: String, _ section: INISection) {
    guard let entry = section[key], section[other] != nil else { return }
    diagnostics.error(at: entry.position, "\(key): cannot be combined with '\(other)'")
  }

  private mutating func refusePlainHTTP(
    _ key: String, _ url: HTTPURL?, _ section: INISection, isAllowed: Bool
  ) {
    guard let url, !isAllowed, !url.isEncrypted, !url.isLoopback else { return }
    diagnostics.error(
      at: section.position(of: key),
      "\(key): http:// to \(url.host.singleQuoted) would send secrets in clear; use https://, or "
        + "set 'allow_plain_http = yes'")
  }
}

/// Whether the rate limits can renew as many sessions as `max_sessions` allows.
extension ConfigurationReader {
  /// Credentials of the enhanced flow last an hour (Cognito API reference,
  /// GetCredentialsForIdentity).
  private static let enhancedLifetime: Duration = .seconds(3600)

  mutating func checkCapacity() {
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) {
      let lifetime = profile.flow == .basic ? profile.duration : Self.enhancedLifetime
      let exchange =
        profile.flow == .basic
        ? ("assume_role_rate_limit", configuration.daemon.assumeRoleRate)
        : ("get_credentials_rate_limit", configuration.daemon.getCredentialsRate)
      check(name, exchange, lifetime, "")
      if let backend = configuration.backend(of: profile) {
        check(name, ("rate_limit", backend.rateLimit), lifetime, " of [backend \(backend.name)]")
      }
    }
  }

  /// Warns if the rate cannot renew all sessions within the part of the lifetime after which a
  /// refresh is due.
  private mutating func check(
    _ profile: String, _ limit: (key: String, rate: Rate), _ lifetime: Duration, _ place: String
  ) {
    let renewed = Int(limit.rate.calls(in: lifetime * RefreshPolicy.share))
    guard renewed < configuration.daemon.maxSessions else { return }
    diagnostics.warning(
      at: profileHeaders[profile],
      "\(limit.key)\(place): \(limit.rate.written) renews \(renewed) sessions of "
        + "\(lifetime.written), and max_sessions allows \(configuration.daemon.maxSessions)")
  }
}
