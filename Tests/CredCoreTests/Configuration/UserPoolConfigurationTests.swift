import TestSupport
import Testing

@testable import CredCore

/// `type = user-pool`.
struct UserPoolConfigurationTests {
  static let keys = "user_pool_id = eu-west-1_AbCdEf123\nclient_id = 2abc\n"

  private func read(_ backend: String, profile: String = "") -> ConfigurationReading {
    reading(
      "[backend staff]\ntype = user-pool\n\(backend)\(plainProfile)backend = staff\n\(profile)")
  }

  private func profile(_ lines: String = "", backend: String = "") throws -> Profile {
    let reading = read(Self.keys + backend, profile: lines)
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    let settings = try #require(configuration.profiles["p"])
    return try Profile(settings, in: configuration) { _ in nil }
  }

  @Test func theSmallestBackendHasTheDefaults() throws {
    let reading = read(Self.keys)
    expect(reading.diagnostics, equals: [])
    let backend = try #require(reading.configuration?.backends["staff"])
    expect(backend.type, equals: .userPool)
    var settings = UserPoolSettings()
    settings.userPoolID = "eu-west-1_AbCdEf123"
    settings.clientID = "2abc"
    expect(backend.kind as? UserPoolSettings, equals: settings)
    expect(settings.authFlow, equals: .srp)
    expect(settings.rememberDevice, equals: .no)
    expect(
      settings.accountActions.map(\.rawValue),
      equals: ["get", "change-password", "devices", "remember-device", "forget-device"])
  }

  @Test func everyKeyIsRead() throws {
    let reading = read(
      Self.keys
        + """
        client_secret_file = /run/secret
        auth_flow = custom-srp
        remember_device = ask
        account_actions = sign-up, delete
        client_metadata = yes
        user_pool_endpoint = http://127.0.0.1:4599/
        ca_file = /etc/ca.pem

        """, profile: "vend_tokens = access id\n")
    expect(reading.diagnostics, equals: [])
    guard let pool = reading.configuration?.backends["staff"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool")
      return
    }
    expect(pool.clientSecretFile, equals: "/run/secret")
    expect(pool.authFlow, equals: .customSRP)
    expect(pool.rememberDevice, equals: .ask)
    expect(pool.accountActions, equals: [.signUp, .delete])
    expect(pool.takesClientMetadata)
    expect(pool.endpoint?.text, equals: "http://127.0.0.1:4599")
    expect(pool.caFile, equals: "/etc/ca.pem")
    expect(reading.configuration?.profiles["p"]?.vendTokens, equals: [.access, .id])
  }

  @Test(arguments: [
    ("client_id = 2abc\n", "'[backend staff]' lacks 'user_pool_id'"),
    ("user_pool_id = eu-west-1_A\n", "'[backend staff]' lacks 'client_id'"),
    ("user_pool_id = nowhere\nclient_id = 2abc\n", "user_pool_id: 'nowhere' is not"),
    ("user_pool_id = eu-west-1_A\nclient_id = a/b\n", "client_id: 'a/b' is not"),
    (UserPoolConfigurationTests.keys + "auth_flow = spr\n", "did you mean 'srp'?"),
    (
      UserPoolConfigurationTests.keys + "account_actions = get get\n",
      "account_actions: 'get' occurs twice"
    ),
    (
      UserPoolConfigurationTests.keys + "account_actions = gte\n",
      "account_actions: 'gte' is not known"
    ),
    (
      UserPoolConfigurationTests.keys + "user_pool_endpoint = http://h\n",
      "would send secrets in clear"
    ),
    (
      UserPoolConfigurationTests.keys + "url = https://h\n",
      "'url' belongs to backends of type http or aws-sample"
    ),
  ])
  func wrongKeysAreNamed(_ backend: String, _ message: String) {
    let found = read(backend).diagnostics.map(\.description)
    expect(found.count { $0.contains(message) }, equals: 1, "\(found)")
    expect(read(backend).configuration == nil)
  }

  @Test func aUserPoolNeedsNoDeveloperProviderAndTakesNone() {
    let found = read(Self.keys, profile: "developer_provider = login.example.app\n")
      .diagnostics.map(\.description)
    expect(
      found,
      equals: [
        "credd.conf:8: developer_provider: [backend staff] is a user pool, which needs none"
      ])
  }

  @Test(arguments: [
    (
      "vend_tokens = account\n",
      "credd.conf:8: vend_tokens: 'account' is about access tokens, and has no effect without 'access'"
    ),
    ("vend_tokens = id account\n", "has no effect without 'access'"),
    ("fips = yes\n", "credd.conf:8: fips: cannot be combined with 'user_pool_endpoint'"),
    ("dualstack = yes\n", "credd.conf:8: dualstack: cannot be combined with 'user_pool_endpoint'"),
  ])
  func whatHasNoEffectIsAnError(_ line: String, _ message: String) {
    let endpoint = line.contains("vend") ? "" : "user_pool_endpoint = https://pool.example\n"
    let reading = read(endpoint + Self.keys, profile: line)
    let found = reading.diagnostics.map {
      $0.description.replacing("credd.conf:9", with: "credd.conf:8")
    }
    expect(found.count == 1 && found[0].contains(message), "\(found)")
    expect(reading.configuration == nil)
  }

  @Test func tokensForProgramsNeedAUserPool() {
    let corp = "[backend corp]\ntype = exec\ncommand = /bin/true\n"
    let profile = "developer_provider = login.example.app\n"
    for (text, message) in [
      (
        corp + plainProfile + profile + "backend = corp\nvend_tokens = id\n",
        "vend_tokens: [backend corp] is no user pool, and has no tokens for programs"
      ), (plainProfile + "vend_tokens = id\n", "vend_tokens: requires 'backend'"),
    ] {
      let found = reading(text).diagnostics.map(\.description)
      expect(found.count == 1 && found[0].contains(message), "\(found)")
    }
    expect(reading(plainProfile + "vend_tokens = none\n").diagnostics, equals: [])
  }

  @Test func noneIsAListWithoutWords() throws {
    let reading = read(Self.keys + "account_actions = none\n", profile: "vend_tokens = none\n")
    expect(reading.diagnostics, equals: [])
    guard let pool = reading.configuration?.backends["staff"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool")
      return
    }
    expect(pool.accountActions, equals: [])
  }

  // MARK: Profiles

  @Test func theProfileKnowsItsIssuer() throws {
    let issuer = try #require(try profile().plan.backend.issuer)
    expect(issuer.pool?.description, equals: "eu-west-1_AbCdEf123")
    expect(issuer.clientID, equals: "2abc")
    expect(issuer.url, equals: "https://cognito-idp.eu-west-1.amazonaws.com/")
    expect(issuer.loginsKey, equals: "cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123")
    expect(
      try profile("fips = yes\n").plan.backend.issuer?.url,
      equals: "https://cognito-idp-fips.eu-west-1.amazonaws.com/")
    expect(
      try profile(backend: "user_pool_endpoint = http://127.0.0.1:1\n").plan.backend.issuer?
        .url, equals: "http://127.0.0.1:1/")
    expect(try profile().needsUserName == false)
    expect(try profile("vend_tokens = id\n").plan.keepsAccessToken == false)
    expect(try profile("vend_tokens = id access account\n").plan.keepsAccessToken)
  }

  @Test func anotherPoolClientOrEndpointIsAnotherPlaceForTheSameProfile() throws {
    let before = try profile()
    let others = [
      try profile(backend: "user_pool_endpoint = http://127.0.0.1:1\n"),
      try profile(backend: "ca_file = /etc/ca.pem\n"), try profile("fips = yes\n"),
    ]
    for other in others { expect(before.change(to: other), equals: .backend) }
    expect(before.change(to: try profile(backend: "auth_flow = choice\n")), equals: .nothingHeld)
  }

  @Test func loginsFitAUserPool() throws {
    let profile = try profile()
    func refusal(_ signIn: SignInInput) -> ProtocolError? {
      profile.refusal(of: LoginRequest(profile: "p", signIn: signIn))
    }
    expect(refusal(.host)?.code, equals: .signInRequired)
    let identity = try IdentityID(Samples.identityText)
    let token = try DeveloperToken(Secret("token"))
    expect(
      refusal(.developerToken(identityID: identity, token: token))?.code, equals: .invalidRequest)
    let key = "cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123"
    for spelling in [key, key.uppercased()] {
      let own = try LoginsMap([(spelling, Secret("token"))])
      expect(refusal(.logins(own))?.message.contains("is the user pool") == true)
    }
    let other = try LoginsMap([("graph.facebook.com", Secret("token"))])
    expect(refusal(.logins(other)) == nil)
    expect(!profile.signInMeans.contains(.token))
    expect(profile.reportsSignOut)
  }
}
