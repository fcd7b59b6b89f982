import TestSupport
import Testing

@testable import CredCore

/// `type = oidc`, and a user pool's Hosted UI.
struct OIDCConfigurationTests {
  private static let keys = """
    issuer = https://example.eu.auth0.com/
    client_id = 2abc
    redirect_uri = http://127.0.0.1/

    """
  private static let pool = UserPoolConfigurationTests.keys

  private func read(
    _ backend: String, type: String = "oidc", profile: String = ""
  ) -> ConfigurationReading {
    reading(
      "[backend okta]\ntype = \(type)\n\(backend)\(plainProfile)backend = okta\n\(profile)")
  }

  private func oidc(_ lines: String) throws -> OIDCSettings? {
    let reading = read(lines)
    expect(reading.diagnostics, equals: [])
    guard let settings = reading.configuration?.backends["okta"]?.kind as? OIDCSettings else {
      return nil
    }
    return settings
  }

  @Test func theSmallestBackendHasTheDefaults() throws {
    let settings = try #require(try oidc(Self.keys))
    expect(settings.issuer, equals: "https://example.eu.auth0.com/")
    expect(settings.clientAuthentication, equals: .none)
    expect(settings.signIn, equals: [.browser, .paste])
    expect(settings.browser.scopes, equals: ["openid", "offline_access"])
    expect(
      settings.browser.redirectURIs(of: "okta").map(\.description),
      equals: ["http://127.0.0.1/okta"])
  }

  @Test func anAudienceIsTrustedByItsNameAndNoPattern() throws {
    let settings = try #require(
      try oidc(Self.keys + "trusted_audiences = 1234@project, https://api.example.com/\n"))
    expect(settings.trustedAudiences, equals: ["1234@project", "https://api.example.com/"])
    for wrong in ["*", "project-*", "é"] {
      let errors = read(Self.keys + "trusted_audiences = \(wrong)\n").diagnostics
      expect(
        errors.first?.message.contains("is not an audience: 1 to 512 printable characters") == true,
        "\(errors)")
    }
  }

  @Test func everyKeyIsRead() throws {
    let settings = try #require(
      try oidc(
        """
        issuer = http://127.0.0.1:8399
        client_id = a.b:c/d
        client_authentication = private-key-jwt
        client_assertion_key_file = /run/key
        client_assertion_key_id = k1
        sign_in = device, browser
        redirect_uri = http://localhost:8976/cb http://[::1]/
        provider_name = idp.example.com
        scopes = openid email
        authorize.audience = https://api/?a=b
        authorize.prompt = consent
        logout_redirect_uri = http://localhost:8976/
        logout.returnTo = http://localhost:8976/
        require.email = {user}@example.com
        require.hd = example.com
        ca_file = /etc/ca.pem
        authorization_endpoint = https://a/auth?p=x
        token_endpoint = https://a/token
        device_authorization_endpoint = https://a/device
        revocation_endpoint = https://a/revoke
        end_session_endpoint = https://a/v2/logout

        """))
    expect(settings.clientAuthentication, equals: .privateKeyJWT)
    expect(settings.clientAssertionKeyFile, equals: "/run/key")
    expect(settings.clientAssertionKeyID, equals: "k1")
    expect(settings.signIn, equals: [.device, .browser])
    expect(
      settings.browser.redirectURIs(of: "okta").map(\.description),
      equals: ["http://localhost:8976/cb", "http://[::1]/okta"])
    expect(settings.providerName, equals: "idp.example.com")
    expect(settings.browser.authorize.map(\.name), equals: ["audience", "prompt"])
    expect(settings.browser.logout.map(\.value), equals: ["http://localhost:8976/"])
    expect(settings.required.map(\.name), equals: ["email", "hd"])
    expect(settings.required.first?.value.text, equals: "{user}@example.com")
    expect(settings.endpoints.suffice)
    expect(settings.endpoints.endSession?.text, equals: "https://a/v2/logout")
    expect(settings.caFile, equals: "/etc/ca.pem")
  }

  @Test(arguments: [
    ("client_id = a\nredirect_uri = http://127.0.0.1/\n", "lacks 'issuer'"),
    ("issuer = https://a/\nredirect_uri = http://127.0.0.1/\n", "lacks 'client_id'"),
    ("issuer = https://a/\nclient_id = a\n", "sign_in: browser and paste require 'redirect_uri'"),
    (keys + "sign_in = none\n", "names no way"),
    (keys + "sign_in = brwoser\n", "did you mean 'browser'?"),
    (keys + "scopes = email\n", "scopes: must have openid"),
    (keys + "client_authentication = basic\n", "basic requires 'client_secret_file'"),
    (
      keys + "client_authentication = private-key-jwt\n",
      "private-key-jwt requires 'client_assertion_key_file'"
    ),
    (keys + "client_secret_file = /s\n", "client_secret_file: requires 'client_authentication"),
    (
      keys + "client_assertion_key_file = /s\n",
      "client_assertion_key_file: requires 'client_authentication"
    ),
    (keys + "client_assertion_key_id = k\n", "requires 'client_assertion_key_file'"),
    (keys + "authorize.state = x\n", "credd sets the parameter 'state' itself"),
    (keys + "authorize.prompt = none\n", "'none' is not known"),
    (keys + "logout.id_token_hint = x\n", "logout.id_token_hint"),
    (keys + "token_endpoint = http://a/t\n", "would send secrets in clear"),
    (keys + "authorization_endpoint = https://a/?nonce=1\n", "credd sets the parameter 'nonce'"),
    (keys + "require.email = {usr}\n", "did you mean '{user}'?"),
    (keys + "domain = a.example\n", "'domain' belongs to backends of type user-pool"),
    (keys + "require. = x\n", "a name must follow the dot"),
  ])
  func wrongKeysAreNamed(_ backend: String, _ message: String) {
    let found = read(backend).diagnostics.map(\.description)
    expect(found.count { $0.contains(message) }, equals: 1, "\(found)")
    expect(read(backend).configuration == nil)
  }

  @Test(arguments: [
    "http://login.example.com/", "login.example.com", "https://a/?b", "https://a/#b",
  ])
  func anIssuerIsAURLOverTLS(_ issuer: String) {
    let lines = "issuer = \(issuer)\nclient_id = a\nredirect_uri = http://127.0.0.1/\n"
    expect(read(lines).configuration == nil)
  }

  @Test func aProviderNeedsNoDeveloperProviderAndTakesNone() {
    let found = read(Self.keys, profile: "developer_provider = login.example.app\n")
      .diagnostics.map(\.description)
    expect(found.count, equals: 1)
    expect(found.first?.contains("is an OpenID Connect provider, which needs none") == true)
  }

  @Test(arguments: [
    ("require.email = {user}@example.com", ["email"]),
    ("require.email_verified = true", ["email_verified"]),
    ("scopes = openid profile\nrequire.email = a@b\nrequire.hd = b", ["email"]),
    ("scopes = openid email\nrequire.email = a@b\nrequire.email_verified = true", []),
    ("require.preferred_username = {user}", []),
  ])
  func aRequiredAddressWithoutItsScopeIsWarnedAbout(_ lines: String, _ claims: [String]) {
    let reading = read(Self.keys + lines + "\n")
    expect(reading.configuration != nil)
    let found = reading.diagnostics.map(\.description)
    expect(found.count, equals: claims.count, "\(found)")
    for (text, claim) in zip(found, claims) {
      expect(
        text.contains(": warning: require.\(claim): ") && text.hasSuffix("add email to 'scopes'"))
    }
  }

  @Test func aRequiredClaimOfTheUserNeedsAName() throws {
    func needsUserName(_ line: String) throws -> Bool {
      let configuration = try #require(read("\(Self.keys)\(line)\n").configuration)
      let settings = try #require(configuration.profiles["p"])
      return try Profile(settings, in: configuration) { _ in nil }.needsUserName
    }
    expect(try needsUserName("require.email = {user}@example.com"))
    expect(try !needsUserName("require.hd = example.com"))
  }

  // MARK: The Hosted UI

  @Test func aUserPoolMayHaveADomain() throws {
    for (domain, url) in [
      (
        "staff.auth.eu-west-1.amazoncognito.com",
        "https://staff.auth.eu-west-1.amazoncognito.com"
      ), ("https://login.example.com/", "https://login.example.com"),
      ("http://127.0.0.1:4599", "http://127.0.0.1:4599"),
    ] {
      let lines =
        Self.pool + """
          domain = \(domain)
          redirect_uri = http://localhost:8976/ http://localhost:8977/
          identity_provider = Okta COGNITO
          scopes = openid email profile
          logout_redirect_uri = http://localhost:8976/
          authorize.lang = de

          """
      let reading = read(lines, type: "user-pool")
      expect(reading.diagnostics, equals: [])
      guard let pool = reading.configuration?.backends["okta"]?.kind as? UserPoolSettings else {
        Issue.record("no user pool")
        return
      }
      expect(pool.providerEndpoints.token?.text, equals: "\(url)/oauth2/token")
      expect(pool.providerEndpoints.authorization?.text, equals: "\(url)/oauth2/authorize")
      expect(pool.providerEndpoints.revocation?.text, equals: "\(url)/oauth2/revoke")
      expect(pool.providerEndpoints.endSession?.text, equals: "\(url)/logout")
      expect(pool.browser.identityProviders, equals: ["Okta", "COGNITO"])
      expect(pool.browser.redirectURIs(of: "okta").allSatisfy { !$0.takesAnyPort })
    }
  }

  @Test(arguments: [
    ("domain = a.example\n", "domain: requires 'redirect_uri'"),
    ("redirect_uri = http://localhost:1/\n", "redirect_uri: requires 'domain'"),
    ("scopes = openid\n", "scopes: requires 'domain'"),
    ("authorize.lang = de\n", "authorize.lang: requires 'domain'"),
    ("domain = http://a.example\nredirect_uri = http://localhost:1/\n", "in clear"),
    ("domain = https://a.example/x\nredirect_uri = http://localhost:1/\n", "has no path"),
    (
      "domain = a.example\nredirect_uri = http://localhost:1/\nscopes = email\n", "must have openid"
    ),
    ("domain = a.example\nredirect_uri = http://a.example/\n", "is not a redirect URI"),
    ("issuer = https://a/\n", "'issuer' belongs to backends of type oidc"),
  ])
  func wrongKeysOfAHostedUIAreNamed(_ backend: String, _ message: String) {
    let found = read(Self.pool + backend, type: "user-pool").diagnostics.map(\.description)
    expect(found.count { $0.contains(message) }, equals: 1, "\(found)")
  }

  // MARK: Links

  /// Without a Hosted UI users sign in by name and password, unless these are the backend's.
  @Test(arguments: [("", true), ("login_url = https://a.example/in\n", false)])
  func aLinkedPoolNeedsADomainOnlyBesideABackendWithPasswords(_ login: String, _ isGood: Bool) {
    let messages = reading(
      "[backend a]\ntype = http\nurl = https://a.example/\n\(login)"
        + "[backend s]\ntype = user-pool\n\(Self.pool)\(plainProfile)backend = a\n"
        + "developer_provider = d\nlink_backend = s\n"
    ).diagnostics.map(\.message)
    expect(messages.isEmpty, equals: isGood)
    expect(messages.allSatisfy { $0.contains("has no domain") })
  }

  /// Tokens for programs are then the linked provider's.
  @Test(arguments: [("link_backend = s\n", true), ("", false)])
  func aBackendWithALinkHasTokensForPrograms(_ link: String, _ isGood: Bool) {
    let messages = reading(
      "[backend a]\ntype = exec\ncommand = /bin/true\n"
        + "[backend s]\ntype = oidc\nissuer = https://s.example/\nclient_id = s\n"
        + "redirect_uri = http://127.0.0.1/\n\(plainProfile)backend = a\n"
        + "developer_provider = d\nvend_tokens = id access\n\(link)"
    ).diagnostics.filter { $0.severity == .error }.map(\.message)
    expect(messages.isEmpty, equals: isGood, "\(messages)")
    expect(messages.allSatisfy { $0.contains("has no tokens for programs") })
  }

  // MARK: Redirect URIs

  /// Two providers, with profiles, and what is said of the second one's redirect URI.
  private func shared(
    _ one: String, _ other: String, issuer: String = "https://b.example/", pool: Bool = false
  ) -> [String] {
    let second =
      pool
      ? "type = user-pool\n\(Self.pool)domain = a.example\n"
      : "type = oidc\nissuer = \(issuer)\nclient_id = b\n"
    return reading(
      "[backend a]\ntype = oidc\nissuer = https://a.example/\nclient_id = a\nredirect_uri = \(one)\n"
        + "[backend b]\n\(second)redirect_uri = \(other)\n\(plainProfile)backend = a\n"
        + plainProfile.replacing("[profile p]", with: "[profile q]") + "backend = b\n"
    ).diagnostics.map(\.message)
  }

  /// Mix-up (RFC 9700, 4.4): at a shared address nobody knows which provider gave the code.
  @Test(arguments: [
    ("http://localhost:8976/", "http://localhost:8976/", false),
    ("http://localhost:8976/", "http://localhost:8977/ http://LOCALHOST:8976/", false),
    ("http://127.0.0.1/in", "http://127.0.0.1:8976/in", false),
    ("http://127.0.0.1/in", "http://127.0.0.1/in", false),
    ("http://127.0.0.1/b", "http://127.0.0.1/", false),
    ("https://host.example/in", "https://host.example/in", false),
    ("http://localhost:8976/", "http://localhost:8976/", true),
  ])
  func twoProvidersShareNoRedirectURI(_ one: String, _ other: String, _ pool: Bool) {
    let messages = shared(one, other, pool: pool)
    expect(messages.count, equals: 1)
    expect(messages.first?.contains("[backend a] too") == true, "\(messages)")
  }

  @Test(arguments: [
    ("http://127.0.0.1/", "http://127.0.0.1/"),
    ("http://localhost:8976/a", "http://localhost:8976/b"),
    ("http://localhost:8976/", "http://localhost:8977/"),
    ("http://localhost:8976/", "http://127.0.0.1:8976/"),
    ("http://[::1]/in", "http://127.0.0.1/in"),
  ])
  func redirectURIsThatDifferAreTwo(_ one: String, _ other: String) {
    expect(shared(one, other), equals: [])
    // Clients of the same provider may share one.
    expect(shared(one, one, issuer: "https://a.example/"), equals: [])
  }
}
