import TestSupport
import Testing

@testable import CredCore

/// What the configuration says of `flow = direct`.
struct DirectConfigurationTests {
  private static let role = "arn:aws:iam::123456789012:role/staff"
  private static let okta = """
    [backend okta]
    type = oidc
    issuer = https://login.example.com/
    client_id = client-1
    redirect_uri = http://127.0.0.1/

    """
  private static let usual = "region = eu-west-1\nrole_arn = \(role)\nbackend = okta"

  /// `flow = direct` is in line 2.
  private static func text(_ lines: String, _ backend: String = okta) -> String {
    "[profile p]\nflow = direct\n\(lines)\n\(backend)"
  }

  private func problems(_ lines: String, backend: String = Self.okta) -> [String] {
    CredCoreTests.problems(inText: Self.text(lines, backend))
  }

  private func profile(_ lines: String) throws -> Profile {
    let reading = reading(Self.text(lines), policies: ["/p": narrowPolicy])
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    return try Profile(try #require(configuration.profiles["p"]), in: configuration) { _ in nil }
  }

  @Test func aProviderAndARoleAreEnough() throws {
    expect(problems(Self.usual), equals: [])
    let profile = try profile(Self.usual)
    expect(profile.pool == nil && profile.plan.way == .role)
    let role = try #require(profile.directRole)
    expect(role.sts.host.url, equals: "https://sts.eu-west-1.amazonaws.com/")
    let query = try role.query(
      for: Secret("token"), UnixUser(uid: 1000, name: "alice"), host: "h")
    expect(query, equals: STS.RoleQuery(roleARN: Self.role, sessionName: "alice", duration: 3600))
  }

  @Test func itsKeysReachSTS() throws {
    let profile = try profile(
      Self.usual + """

        duration = 12h
        role_session_name = {uid}-{claim.email}
        policy_file = /p
        policy_arns = arn:aws:iam::aws:policy/ReadOnlyAccess
        sts_endpoint = https://sts.example.com
        """)
    let role = try #require(profile.directRole)
    let token = Secret(SampleJWT.text(#"{"email":"a@x","email_verified":"true"}"#))
    let query = try role.query(for: token, UnixUser(uid: 7, name: nil), host: "h")
    expect(query.sessionName, equals: "7-a@x")
    expect(query.duration, equals: 43_200)
    expect(query.policy, equals: narrowPolicy)
    expect(query.policyARNs, equals: ["arn:aws:iam::aws:policy/ReadOnlyAccess"])
    expect(role.sts.host.url, equals: "https://sts.example.com/")
    expect(!profile.needsUserName)
  }

  @Test(arguments: [
    ("cn-north-1", "aws-cn", "", "https://sts.cn-north-1.amazonaws.com.cn/"),
    ("us-gov-west-1", "aws-us-gov", "fips = yes", "https://sts.us-gov-west-1.amazonaws.com/"),
    ("eu-west-1", "aws", "dualstack = yes", "https://sts.eu-west-1.api.aws/"),
    ("us-east-1", "aws", "fips = yes", "https://sts-fips.us-east-1.amazonaws.com/"),
  ])
  func theRegionDecidesTheHost(
    _ region: String, _ partition: String, _ more: String, _ url: String
  ) throws {
    let role = "arn:\(partition):iam::123456789012:role/staff"
    let profile = try profile(
      "region = \(region)\nrole_arn = \(role)\nbackend = okta\n\(more)")
    expect(profile.directRole?.sts.host.url, equals: url)
  }

  @Test func aTokenFileTakesThePlaceOfABackend() throws {
    let lines = "region = eu-west-1\nrole_arn = \(Self.role)\nweb_identity_token_file = /run/token"
    expect(problems(lines, backend: ""), equals: [])
    expect(
      problems(lines + "\nbackend = okta"),
      equals: ["5: web_identity_token_file: cannot be combined with 'backend'"])
    expect(
      problems(lines + "\nrole_session_name = {claim.sub}", backend: ""),
      equals: [
        "6: role_session_name: {claim.sub} is for an ID token that a 'backend' gave, and not for "
          + "'web_identity_token_file': write {user}, {uid} or {host}"
      ])
  }

  @Test func whatADirectProfileLacksIsNamed() {
    expect(
      problems("", backend: ""),
      equals: [
        "2: flow: direct requires 'role_arn'",
        "2: flow: direct requires 'region', that of the STS to ask, such as eu-west-1: there is no "
          + "pool's id to name one",
        "2: flow: direct requires 'backend', a provider, or 'web_identity_token_file'",
      ])
  }

  @Test(arguments: [
    "identity_pool_id = \(examplePool)", "account_id = 123456789012",
    "developer_provider = login.example.app", "link_backend = okta", "guest = yes",
    "logins_key = login.example.app", "user_identifier = {uid}", "web_identity_provider = x.y",
    "cognito_endpoint = https://cognito.example.com",
  ])
  func keysOfIdentityPoolsAreErrors(_ line: String) {
    let key = line.prefix { $0 != " " }
    expect(
      problems("\(Self.usual)\n\(line)"),
      equals: [
        "6: \(key): cannot be combined with 'flow = direct', which has no identity pool: remove one of "
          + "the two"
      ])
  }

  @Test(arguments: [
    ("http", "url = https://auth.example.com/token"), ("exec", "command = /bin/true"),
    ("cognito", "credentials_file = /etc/keys"),
    ("aws-sample", "url = https://auth.example.com\napp_name = app"),
  ])
  func onlyAProviderGivesIDTokens(_ type: String, _ keys: String) {
    expect(
      problems(Self.usual, backend: "[backend okta]\ntype = \(type)\n\(keys)\n"),
      equals: [
        "5: backend: [backend okta] is of type \(type), and 'flow = direct' takes the ID tokens of a "
          + "provider: name a backend of type user-pool or oidc"
      ])
  }

  @Test(arguments: [
    ("eu-wst-1", "; did you mean 'eu-west-1'?"), ("us-eas-1", "; did you mean 'us-east-1'?"),
    ("xyzzy", ", such as eu-west-1"),
  ])
  func anUnknownRegionIsAnError(_ region: String, _ suggestion: String) {
    expect(
      problems("region = \(region)\nrole_arn = \(Self.role)\nbackend = okta"),
      equals: ["3: region: '\(region)' is no region of AWS that credd knows of\(suggestion)"])
  }

  @Test func arnsAreOfTheRegionsPartition() {
    let policy = "arn:aws-cn:iam::aws:policy/ReadOnlyAccess"
    let end =
      ", and the profile's region 'cn-north-1' of 'aws-cn': name one of that partition, or another "
      + "region"
    expect(
      problems(
        "region = cn-north-1\nrole_arn = \(Self.role)\nbackend = okta\npolicy_arns = \(policy)"),
      equals: ["4: role_arn: '\(Self.role)' is of partition 'aws'\(end)"])
  }

  @Test(arguments: ["14m", "12h1s"]) func aDurationHasTheLimitsOfARole(_ value: String) {
    expect(
      problems("\(Self.usual)\nduration = \(value)"),
      equals: ["6: duration: '\(value)' is not a duration from 15m to 12h"])
  }

  @Test(arguments: ["name", "preferred_username", "nickname"])
  func aClaimThatUsersWriteIsWarnedOf(_ claim: String) {
    expect(
      problems("\(Self.usual)\nrole_session_name = {claim.\(claim)}"),
      equals: [
        "6: warning: role_session_name: at most providers users write their claim '\(claim)' themselves, and may "
          + "write another person's: take {claim.sub}, or {claim.email}, which counts only if verified"
      ])
  }

  /// As `require.email` is.
  @Test func anAddressWithoutItsScopeIsWarnedOf() {
    expect(
      problems("\(Self.usual)\nrole_session_name = {claim.email}"),
      equals: [
        "6: warning: role_session_name: most providers give the claim 'email' only with the scope email, and "
          + "no user gets credentials without it: add email to 'scopes' of [backend okta]"
      ])
    expect(problems("\(Self.usual)\nrole_session_name = {claim.sub}"), equals: [])
  }

  @Test(arguments: ["", "flow = basic\nrole_arn = \(role)\n"])
  func claimsAreForThisFlow(_ lines: String) {
    let line = lines.split(separator: "\n").count + 3
    expect(
      CredCoreTests.problems(inProfile: "\(lines)role_session_name = {claim.sub}").contains(
        "credd.conf:\(line): role_session_name: {claim.sub} is for 'flow = direct' alone: write {user}, "
          + "{uid} or {host}"))
  }

  @Test func itsPolicyIsReadAtTheStart() {
    expect(problems("\(Self.usual)\npolicy_file = /p"), equals: [])
    expect(problems("\(Self.usual)\npolicy_file = /q").count, equals: 1)
    expect(
      CredCoreTests.problems(
        inText: Self.text("\(Self.usual)\npolicy_file = /x"), policies: ["/x": "{}"]
      ).count, equals: 1)
  }

  @Test func itMayBeASource() {
    let narrow = "[profile narrow]\nsource_profile = p\npolicy_file = /p\n"
    let withheld = Self.usual + "\nvend_credentials = no"
    expect(problems(withheld, backend: Self.okta + narrow), equals: [])
    let hop = "[profile hop]\nsource_profile = p\nrole_arn = \(Self.role)\n"
    expect(
      problems("\(withheld)\npolicy_file = /p", backend: Self.okta + hop).first?.contains(
        "role_arn: the role would leave 'policy_file' of [profile p] behind") ?? false)
  }

  @Test func anIDTokenThatOpensTheWideRoleIsWarnedOf() {
    expect(
      problems("\(Self.usual)\nvend_credentials = no\nvend_tokens = id"),
      equals: [
        "7: warning: vend_tokens: 'id' opens the wide role: for this token STS gives the credentials that "
          + "'vend_credentials = no' withholds"
      ])
  }
}
