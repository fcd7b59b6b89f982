import CredCore
import CredctlKit
import TestSupport
import Testing

struct ProfileSectionsTests {
  private func sections(_ file: String, name: String? = nil) throws(Failure) -> String {
    try ProfileSections(importing: Array(file.utf8), file: "app.json", name: name).text
  }

  /// What systemd tells a service with `LoadCredential=`.
  private static func environment(_ name: String) -> String? {
    name == "CREDENTIALS_DIRECTORY" ? "/run/credentials" : nil
  }

  /// The configuration that credd reads from the output, without an error or a warning.
  private func configuration(_ file: String, name: String? = nil) throws -> Configuration? {
    let text = try sections(file, name: name)
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))],
      environment: Self.environment)
    expect(reading.diagnostics, equals: [])
    return reading.configuration
  }

  private func failure(_ file: String, name: String? = nil) -> Failure? {
    do throws(Failure) {
      _ = try sections(file, name: name)
      return nil
    } catch {
      return error
    }
  }

  @Test func aUserPoolBecomesTheBackend() throws {
    expect(
      try sections(MobileFiles.mobileSDK, name: "work"),
      equals: """
        ; The user pool of awsconfiguration.json: credctl login --profile work --username NAME
        [backend work]
        type = user-pool
        user_pool_id = us-east-1_aB1cD2eF3
        client_id = 1example23456789
        ; The app client has a secret, which is not repeated here: put AppClientSecret into a file,
        ; for systemd by LoadCredential=work-client:FILE.
        client_secret_file = ${CREDENTIALS_DIRECTORY}/work-client
        ; Users make their accounts here, too, as in the app. Further words, each a right of every program
        ; of a user: set-attributes verify-attribute delete-attributes totp mfa sessions end-session delete
        account_actions = sign-up confirm resend forgot-password reset-password get change-password \
        devices remember-device forget-device

        ; The identity pool of awsconfiguration.json, CognitoIdentity "Default".
        [profile work]
        identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
        backend = work
        ; guest = yes  ; where the pool gives unauthenticated identities
        ; vend_tokens = id access account  ; where programs need the app's tokens; without the word
        ;                                    account no access token that may change the account
        ; Users of Facebook:
        ; credctl login --profile work --login graph.facebook.com=@FILE
        ; Users of Google:
        ; credctl login --profile work --login accounts.google.com=@FILE

        """)
  }

  /// Three forms of a file that names a user pool alone.
  @Test(arguments: [
    #"{"CognitoUserPool":{"Default":{"PoolId":"us-east-1_aB1cD2eF3","AppClientId":"1example","Region":"us-east-1"}}}"#,
    #"{"version":"1","auth":{"aws_region":"us-east-1","user_pool_id":"us-east-1_aB1cD2eF3","user_pool_client_id":"1example"}}"#,
    #"{"aws_user_pools_id":"us-east-1_aB1cD2eF3","aws_user_pools_web_client_id":"1example"}"#,
  ])
  func aUserPoolAloneBecomesAProfileForTokens(_ file: String) throws {
    let configuration = try #require(try configuration(file, name: "work"))
    let profile = try #require(configuration.profiles["work"])
    expect(profile.identityPoolID, equals: "")
    expect(profile.vendTokens, equals: [.id])
    guard let pool = configuration.backends["work"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool")
      return
    }
    expect(pool.userPoolID == "us-east-1_aB1cD2eF3" && pool.clientID == "1example")
    let text = try sections(file, name: "work")
    expect(
      text.contains(
        " names no identity pool: programs get tokens, and no AWS credentials:\n"
          + "; credctl token --profile work\n[profile work]\nbackend = work\nvend_tokens = id\n"))
    expect(!text.contains("guest") && !text.contains("identity_pool_id"))
  }

  @Test func aHostedUIBecomesASignInByBrowser() throws {
    let pool = try #require(try configuration(MobileFiles.hostedUI, name: "work"))
    guard let settings = pool.backends["work"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool")
      return
    }
    expect(settings.domain?.host, equals: "example.auth.us-west-2.amazoncognito.com")
    expect(settings.browser.redirectURIs, equals: ["http://localhost:8976/"])
    expect(settings.browser.scopes, equals: ["openid", "email"])
    expect(settings.browser.logoutRedirectURI == nil)
    let text = try sections(MobileFiles.hostedUI, name: "work")
    expect(text.contains("register it with\n; the app client"))
    expect(!text.contains("9example87654321"))
    expect(
      text.contains(
        """
        ; After a sign-out the app comes back to "myapp://". A browser of a host needs a page,
        ; registered with the app client, as an allowed sign-out URL, for a sign-out with --browser:
        ; logout_redirect_uri = http://localhost:8976/

        """))
  }

  @Test func auth0BecomesAnOpenIDConnectProvider() throws {
    expect(
      try sections(MobileFiles.auth0, name: "work"),
      equals: """
        ; The provider of awsconfiguration.json: credctl login --profile work
        [backend work]
        type = oidc
        issuer = https://example.auth0.com/
        client_id = aB0-client
        ; The app comes back to a URL of its own. Browsers of a host come back here: register it with
        ; the provider's client.
        redirect_uri = http://localhost:8976/
        scopes = openid email offline_access
        end_session_endpoint = https://example.auth0.com/v2/logout
        authorize.connection = staff
        logout.federated = yes
        ; "logout.returnTo" of the app is "com.example.app://example.auth0.com/ios/com.example.app/callback", which
        ; is not for browsers of a host: set the key of that name, if the provider needs it.

        ; The identity pool of awsconfiguration.json, CognitoIdentity "Default".
        [profile work]
        identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
        backend = work
        ; guest = yes  ; where the pool gives unauthenticated identities
        ; vend_tokens = id access  ; where programs need the app's tokens

        """)
    expect(
      try configuration(MobileFiles.auth0, name: "work")?.backends["work"]?.type, equals: .oidc)
  }

  /// Auth0 takes the word for the value.
  @Test func anEmptyParameterIsKept() throws {
    let file = MobileFiles.auth0.replacing(#""federated": "yes""#, with: #""federated": """#)
    expect(try sections(file, name: "work").contains("\nlogout.federated = \"\"\n"))
    let read = try configuration(file, name: "work")?.backends["work"]?.kind as? OIDCSettings
    expect(
      read?.browser.logout, equals: [AuthorizationParameter(name: "federated", value: "")])
  }

  @Test func aHostedUIOfAnotherClientIsANote() throws {
    let file = MobileFiles.browser(#""WebDomain": "a.example.com", "AppClientId": "2other""#)
    let text = try sections(file, name: "work")
    expect(text.contains("; The Hosted UI at a.example.com has another app client, 2other"))
    expect(!text.contains("domain ="))
    expect(try configuration(file, name: "work") != nil)
  }

  @Test func aURLOfThisHostIsKept() throws {
    let file = MobileFiles.browser(
      #""WebDomain": "https://a.example.com", "SignInRedirectURI": "myapp://,http://localhost:8000/in/","#
        + #""SignOutRedirectURI": "https://a.example.com/out", "Scopes": ["email"]"#)
    let text = try sections(file, name: "work")
    expect(text.contains("domain = a.example.com\nredirect_uri = http://localhost:8000/in/\n"))
    expect(text.contains("logout_redirect_uri = https://a.example.com/out"))
    expect(text.contains("scopes = openid email"))
    expect(try configuration(file, name: "work") != nil)
  }

  @Test(arguments: [
    (#""AppClientId": "1"#, "lacks \"WebDomain\""), (#""WebDomain": "a b""#, "a host's name"),
    (#""WebDomain": "a/b""#, "a host's name"),
    (#""WebDomain": "a", "Scopes": "openid""#, "a list of strings"),
    (#""WebDomain": "a", "Scopes": ["a b"]"#, "a list of scopes"),
    (#""WebDomain": "a", "TokenURI": "http://a/t""#, "https://"),
    (#""WebDomain": "a", "AppClientId": "1;2""#, "a client's id"),
  ])
  func refusesABrowsersSignIn(_ oauth: String, _ message: String) {
    let file = MobileFiles.browser(oauth + (oauth.hasSuffix("\"1") ? "\"" : ""))
    expect(failure(file)?.line.contains(message) == true, "\(failure(file)?.line ?? "")")
  }

  @Test func writesKnownKeysAndNamesTheMissingOnes() throws {
    let file = MobileFiles.pools(
      #"{"Default":{"PoolId":"\#(MobileFiles.pool)","Region":"us-east-1"}}"#,
      users: #"{"Default":{"PoolId":"us-east-1_aB1cD2eF3","Region":"us-east-1"}}"#)
    expect(
      try sections(file, name: "work"),
      equals: """
        ; The identity pool of awsconfiguration.json, CognitoIdentity "Default".
        [profile work]
        identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
        ; guest = yes  ; where the pool gives unauthenticated identities
        ; For users whom the organisation's own backend vouches for: the name of the pool's
        ; developer provider, and a [backend NAME] section.
        ; developer_provider = login.example.app
        ; backend = NAME
        ; Users of the user pool us-east-1_aB1cD2eF3:
        ; credctl login --profile work --login \
        cognito-idp.us-east-1.amazonaws.com/us-east-1_aB1cD2eF3=@FILE

        """)
  }

  @Test(arguments: [
    (MobileFiles.mobileSDK, "awsconfiguration.json", true),
    (MobileFiles.amplify, "amplifyconfiguration.json", false),
    (MobileFiles.javaScript, "amplifyconfiguration.json", false),
    (MobileFiles.outputs(), "amplify_outputs.json", false),
  ])
  func credsReaderTakesEachKind(_ file: String, _ kind: String, _ hasSecret: Bool) throws {
    let text = try sections(file)
    expect(text.hasPrefix("; The user pool of \(kind)"))
    expect(!text.contains("example87654321"))
    let configuration = try configuration(file)
    expect(configuration?.profiles.keys.sorted(), equals: ["default"])
    expect(configuration?.profiles["default"]?.identityPoolID, equals: MobileFiles.pool)
    expect(configuration?.profiles["default"]?.backend, equals: "default")
    guard let pool = configuration?.backends["default"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool: \(text)")
      return
    }
    expect(pool.userPoolID == "us-east-1_aB1cD2eF3" && pool.clientID == "1example23456789")
    expect(pool.clientSecretFile, equals: (hasSecret ? "/run/credentials/default-client" : nil))
    expect(pool.authFlow, equals: .srp)
  }

  @Test(arguments: [
    ("USER_SRP_AUTH", UserPoolSettings.AuthFlow.srp), ("USER_PASSWORD_AUTH", .password),
    ("CUSTOM_AUTH", .customSRP), ("CUSTOM_AUTH_WITHOUT_SRP", .custom), ("USER_AUTH", .choice),
  ])
  func theFlowIsTheAppsOwn(_ written: String, _ flow: UserPoolSettings.AuthFlow) throws {
    let file = MobileFiles.amplify.replacing("USER_SRP_AUTH", with: written)
    guard let pool = try configuration(file)?.backends["default"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool")
      return
    }
    expect(pool.authFlow, equals: flow)
    expect(try sections(file).contains("; auth_flow = custom "), equals: (flow == .customSRP))
  }

  @Test func theCommentedLinesAreKeysOfAProfile() throws {
    let text = try sections(
      MobileFiles.pools(#"{"Default":{"PoolId":"\#(MobileFiles.pool)"}}"#)
    )
    .split(separator: "\n")
    .map { $0.hasPrefix("; ") && $0.contains(" = ") ? $0.dropFirst(2) : $0 }
    .joined(separator: "\n")
    let backend = "\n[backend NAME]\ntype = exec\ncommand = /bin/token\n"
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array((text + backend).utf8))],
      environment: { _ in nil })
    expect(reading.diagnostics, equals: [])
    expect(reading.configuration?.profiles["default"]?.pool?.guest == true)
    expect(reading.configuration?.profiles["default"]?.backend, equals: "NAME")
  }

  /// As those of AWSMobileClient do.
  @Test func usersMakeTheirAccountsAndGetTheirTokens() throws {
    let text = try sections(MobileFiles.mobileSDK)
      .replacing("; vend_tokens", with: "vend_tokens")
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))],
      environment: Self.environment)
    expect(reading.diagnostics, equals: [])
    let configuration = try #require(reading.configuration)
    expect(configuration.profiles["default"]?.vendTokens, equals: [.id, .access, .account])
    guard let pool = configuration.backends["default"]?.kind as? UserPoolSettings else {
      Issue.record("no user pool")
      return
    }
    for action in [AccountAction.signUp, .confirm, .resend, .forgotPassword, .resetPassword, .get] {
      expect(pool.accountActions.contains(action), "\(action)")
    }
    // A right that any program of the user would have.
    expect(!pool.accountActions.contains(.delete) && !pool.accountActions.contains(.mfa))
    let further = try #require(text.firstMatch(of: /; of a user: (?<words>.*)/)).words
    let words = further.split(separator: " ").map(String.init)
    expect(words.allSatisfy { AccountAction(rawValue: $0) != nil })
    expect(
      Set(words).union(pool.accountActions.map(\.rawValue)),
      equals: Set(AccountAction.allCases.map(\.rawValue)))
  }

  @Test(arguments: [("true", true), ("false", false)])
  func guestsFollowTheFile(_ written: String, _ allowed: Bool) throws {
    let file = MobileFiles.outputs(guests: written)
    expect(try configuration(file, name: "w")?.profiles["w"]?.pool?.guest, equals: allowed)
    expect(try sections(file).contains("\nguest = \(allowed ? "yes" : "no")\n"))
  }

  @Test func givesEachPoolAName() throws {
    let one = #"{"PoolId":"\#(MobileFiles.pool)"}"#
    let file = MobileFiles.pools(#"{"Default":\#(one),"My Pool":\#(one),"My-Pool":\#(one)}"#)
    expect(
      try configuration(file)?.profiles.keys.sorted(), equals: ["My-Pool", "My-Pool-2", "default"])
    expect(
      try configuration(file, name: "work")?.profiles.keys.sorted(),
      equals: ["work", "work-My-Pool", "work-My-Pool-2"])
    let long = String(repeating: "n", count: 80)
    let names = MobileFiles.pools(#"{"\#(long)":\#(one),"\#(long)n":\#(one),"":\#(one)}"#)
    expect(
      try configuration(names)?.profiles.keys.map(\.utf8.count).sorted(), equals: [4, 64, 64])
    expect(
      try configuration(MobileFiles.pools(#"{"Custom":\#(one)}"#))?.profiles.keys.sorted(),
      equals: ["default"])
  }

  @Test func pairsUserPoolsByName() throws {
    let text = try sections(
      MobileFiles.pools(
        #"""
        {"Default":{"PoolId":"\#(MobileFiles.pool)","Region":"us-east-1"},
        "Europe":{"PoolId":"\#(MobileFiles.other)","Region":"eu-west-1"},
        "Third":{"PoolId":"cn-north-1:0","Region":"cn-north-1"}}
        """#,
        users: #"""
          {"Default":{"PoolId":"us-east-1_a","Region":"us-east-1"},
          "Again":{"PoolId":"us-east-1_a","Region":"us-east-1"},
          "Europe":{"PoolId":"cn-north-1_b","Region":"cn-north-1"}}
          """#))
    let logins = text.split(separator: "\n").filter { $0.contains("--login") }
      .compactMap { $0.split(separator: "credctl login --profile ").last }
    expect(
      logins,
      equals: [
        "default --login cognito-idp.us-east-1.amazonaws.com/us-east-1_a=@FILE",
        "Europe --login cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_b=@FILE",
        "Third --login cognito-idp.us-east-1.amazonaws.com/us-east-1_a=@FILE",
        "Third --login cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_b=@FILE",
      ])
  }

  @Test func namesOfPoolsStayInTheirComment() throws {
    let name = #"x\n[profile evil]\r\u202e\u0007"#
    let file = MobileFiles.pools(#"{"\#(name)":{"PoolId":"\#(MobileFiles.pool)"}}"#)
    expect(try configuration(file, name: "p")?.profiles.keys.sorted(), equals: ["p"])
    expect(try sections(file).utf8.filter { $0 < 0x20 && $0 != 0x0A }, equals: [])
  }
}

extension ProfileSectionsTests {
  @Test(arguments: [
    ("", "1:1: not valid JSON: expected a value, found the end"),
    ("{\n  \"auth\": {\n    \"é\" 1}}", "3:9: not valid JSON: expected ':' after the key"),
    ("[]", "1:1: the file must hold a JSON object"),
    (
      "{}",
      "1:1: neither awsconfiguration.json, amplifyconfiguration.json nor amplify_outputs.json: "
        + #"there is no "auth" and no "CredentialsProvider""#
    ),
    (#"{"auth":[]}"#, #"1:2: "auth" must be an object"#),
    (
      #"{"auth":{"plugins":{}}}"#,
      #"1:10: "plugins" of "auth" lack "awsCognitoAuthPlugin""#
    ),
    (
      #"{"auth":{"user_pool_id":"us-east-1_a"}}"#,
      #"1:2: "auth" names no identity pool, which gives AWS credentials, and no user pool with "#
        + "an app client, which gives tokens"
    ),
    (
      #"{"CognitoUserPool":{}}"#,
      "1:1: the file names no identity pool, which gives AWS credentials, and no user pool with "
        + "an app client, which gives tokens"
    ),
    (
      MobileFiles.outputs(version: "2"),
      #"2:3: "version" must be 1 or 1.y: this format is not known"#
    ),
    (
      MobileFiles.outputs(guests: "1"),
      #"8:5: "unauthenticated_identities_enabled" must be true or false"#
    ),
    (MobileFiles.pools(#"{"Default":{}}"#), #"1:44: "Default" lacks "PoolId""#),
    (MobileFiles.pools(#"{"Default":{"PoolId":7}}"#), #"1:55: "PoolId" must be a string"#),
    (
      MobileFiles.pools(#"{"Default":{"PoolId":"XX-XXXX-X:XXXXXXXX-1234"}}"#),
      #"1:55: "PoolId" must be an identity pool's id, REGION:UUID"#
    ),
    (
      MobileFiles.pools(#"{"D":{"PoolId":"us-east-1:0\nguest = yes"}}"#),
      #"1:49: "PoolId" must be an identity pool's id, REGION:UUID"#
    ),
    (
      MobileFiles.mobileSDK.replacing(MobileFiles.pool, with: MobileFiles.other),
      #"9:9: "Region" is "us-east-1", but the identity pool's id says "eu-west-1""#
    ),
    (
      MobileFiles.outputs().replacing("us-east-1_aB1cD2eF3", with: "eu-west-1_aB1cD2eF3"),
      #"4:5: "aws_region" is "us-east-1", but the user pool's id says "eu-west-1""#
    ),
    (
      MobileFiles.outputs().replacing("us-east-1_aB1cD2eF3", with: "us-east-1_a/b"),
      #"5:5: "user_pool_id" must be a user pool's id, such as us-east-1_aB1cD2eF3"#
    ),
    (
      MobileFiles.mobileSDK.replacing("\"Version\"", with: "\"UserAgent\""),
      "3:3: not valid JSON: duplicate key \"UserAgent\""
    ),
  ])
  func namesThePlaceOfAnErrorInAFile(_ file: String, _ complaint: String) {
    expect(failure(file), equals: Failure(.dataError, "app.json:\(complaint)"))
  }

  @Test func hasLimits() throws {
    let one = #"{"PoolId":"\#(MobileFiles.pool)"}"#
    func pools(_ count: Int) -> String {
      MobileFiles.pools("{" + (0..<count).map { "\"p\($0)\":\(one)" }.joined(separator: ",") + "}")
    }
    expect(try configuration(pools(100))?.profiles.count, equals: 100)
    expect(failure(pools(101))?.message, equals: "app.json:1:25: more than 100 identity pools")
    let padding = String(repeating: " ", count: ImportLimits.fileBytes)
    expect(
      failure(MobileFiles.outputs() + padding),
      equals: Failure(.dataError, "app.json: longer than 4194304 bytes"))
    let size = MobileFiles.outputs().utf8.count
    expect(failure(MobileFiles.outputs() + String(padding.dropLast(size))) == nil)
    let deep = String(repeating: "[", count: 100_000)
    expect(
      failure(#"{"auth":\#(deep)"#)?.message.hasSuffix("nested deeper than 64 levels") == true)
  }

  @Test(arguments: ["", "a b", "é", "x\n[profile y]", String(repeating: "n", count: 65)])
  func refusesAProfileName(_ name: String) {
    let failure = failure(MobileFiles.outputs(), name: name)
    expect(failure?.status, equals: .usage)
    expect(failure?.line.utf8.count { $0 == 0x0A }, equals: 1)
  }

  /// credd can read the output, even if the file was damaged.
  @Test(arguments: [
    MobileFiles.mobileSDK, MobileFiles.amplify, MobileFiles.outputs(), MobileFiles.hostedUI,
    MobileFiles.auth0,
  ])
  func creddReadsEveryResult(_ file: String) {
    let bytes = Array(file.utf8)
    for place in stride(from: 0, to: bytes.count, by: 3) {
      for change in [UInt8(ascii: "\""), UInt8(ascii: "]"), 0x0A, 0xFF] {
        var changed = bytes
        changed[place] = change
        guard let text = try? ProfileSections(importing: changed, file: "f", name: nil).text else {
          continue
        }
        let reading = Configuration.read(
          [ConfigurationSource(name: "c", bytes: Array(text.utf8))],
          environment: Self.environment)
        expect(reading.diagnostics, equals: [])
      }
    }
  }
}
