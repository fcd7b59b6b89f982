import TestSupport
import Testing

@testable import CredCore

/// The keys of a profile that takes its credentials from another one.
struct DerivedConfigurationTests {
  private static let role = "role_arn = arn:aws:iam::123456789012:role/reports"

  @Test(arguments: [
    "policy_file = /p", "duration = 36h", "duration = 30m\npolicy_file = /p",
    "policy_file = /p\nsession_description = nightly report", role,
    "\(role)\nduration = 1h\npolicy_file = /p\npolicy_arns = arn:aws:iam::aws:policy/ReadOnlyAccess",
    "\(role)\nrole_session_name = {user}@{host}\nexternal_id = ab:c/d\nsource_identity = {user}",
    "\(role)\nsession_tags.team = ops {user}\nsession_tags.uid = {uid}\ntransitive_tags = team uid",
    "duration = 1h\nregion = eu-west-1\nfips = yes\ndualstack = yes\nca_file = /ca",
    "duration = 1h\nsts_endpoint = https://sts.eu-west-1.amazonaws.com",
    "duration = 1h\nsts_endpoint = http://sts.example\nallow_plain_http = yes",
    "duration = 1h\nallow_executables = /bin/x\nimpersonate = bob\nimpersonate_signed_in = yes",
    "duration = 1h\nvend_credentials = no",
  ])
  func whatMayStandTogether(_ lines: String) {
    expect(problems(inDerived: lines), equals: [])
  }

  @Test func itsSettings() throws {
    let lines = """
      \(Self.role)
      duration = 20m
      region = eu-west-1
      external_id = secret-of-theirs
      session_tags.uid = {uid}
      session_tags.team = ops
      transitive_tags = team
      source_identity = {user}
      """
    let settings = try #require(
      reading(derivedText(lines), policies: [:]).configuration?.profiles["narrow"])
    guard case .derived(let derived) = settings.way else {
      Issue.record("\(settings.way)")
      return
    }
    expect(derived.source, equals: "work")
    expect(derived.session.duration, equals: .seconds(1200))
    expect(derived.region, equals: "eu-west-1")
    expect(derived.externalID, equals: "secret-of-theirs")
    expect(derived.tags.map(\.name), equals: ["team", "uid"])
    expect(derived.transitiveTags, equals: ["team"])
    expect(derived.sourceIdentity?.text, equals: "{user}")
  }

  @Test(arguments: [
    "identity_pool_id = \(examplePool)", "developer_provider = d", "backend = b",
    "link_backend = b", "user_identifier = {uid}", "flow = basic", "guest = yes",
    "account_id = 123456789012", "web_identity_token_file = /t", "web_identity_provider = x",
    "forget_after = 1d", "keep_warm = yes", "vend_tokens = id", "cognito_endpoint = https://h",
    "logins_key = x",
  ])
  func theIdentityIsTheSources(_ line: String) {
    let key = line.prefix { $0 != " " }
    expect(
      problems(inDerived: "duration = 1h\n\(line)"),
      equals: [
        "4: \(key): cannot be combined with 'source_profile': the identity and the sign-in are those of "
          + "[profile work]; set it there, or remove it"
      ])
  }

  /// A key of a profile either may stand beside `source_profile` or is refused there.
  @Test func everyKeyIsJudged() {
    let refused = ConfigurationSchema.profile.map(\.reference.shown).filter { key in
      problems(inDerived: "duration = 1h\n\(key) = 1").contains {
        $0.hasPrefix("4: \(key): cannot be combined with 'source_profile'")
      }
    }
    expect(
      refused.sorted(),
      equals: [
        "account_id", "backend", "cognito_endpoint", "developer_provider", "flow", "forget_after",
        "guest", "identity_pool_id", "keep_warm", "link_backend", "logins_key", "user_identifier",
        "vend_tokens", "web_identity_provider", "web_identity_token_file",
      ])
  }

  @Test(arguments: [
    ("policy_arns", "arn:aws:iam::aws:policy/ReadOnlyAccess"), ("role_session_name", "x"),
    ("external_id", "abc"), ("session_tags.team", "ops"), ("source_identity", "{user}"),
  ])
  func keysOfARoleNeedOne(_ key: String, _ value: String) {
    expect(
      problems(inDerived: "duration = 1h\n\(key) = \(value)"),
      equals: ["4: \(key): requires 'role_arn'"])
  }

  @Test func aDescriptionIsNoRoles() {
    expect(
      problems(inDerived: "\(Self.role)\nsession_description = nightly"),
      equals: ["4: session_description: cannot be combined with 'role_arn'"])
  }

  @Test func withoutAReasonItWouldBeItsSource() {
    expect(
      problems(inDerived: "region = us-east-1"),
      equals: [
        "2: source_profile: requires 'policy_file', 'duration' or 'role_arn': without one of them "
          + "'[profile narrow]' would give what its source gives"
      ])
    // A wrong value is the only mistake.
    expect(problems(inDerived: "duration = never").count, equals: 1)
  }

  @Test(arguments: [
    ("session_description", "nightly"), ("external_id", "abc"),
    ("session_tags.team", "ops"), ("transitive_tags", "team"), ("source_identity", "{user}"),
  ])
  func keysOfDerivedProfilesNeedASource(_ key: String, _ value: String) {
    expect(
      CredCoreTests.problems(inProfile: "\(key) = \(value)"),
      equals: ["credd.conf:3: \(key): is for profiles with 'source_profile' alone: remove it"])
  }

  @Test func aPoolNamesItsRegionByItself() {
    expect(
      CredCoreTests.problems(inProfile: "region = eu-west-1"),
      equals: [
        "credd.conf:3: region: is for profiles with 'source_profile' or 'flow = direct' alone: remove it"
      ])
  }

  @Test(arguments: [
    ("", "14m", "15m to 12h"), ("", "12h1s", "15m to 12h"), ("", "500ms", "15m to 12h"),
    ("derived", "59s", "1m to 36h"), ("derived", "36h1s", "1m to 36h"),
    ("role", "14m59s", "15m to 1h"), ("role", "2h", "15m to 1h"),
  ])
  func aDurationHasTheLimitsOfItsCall(_ kind: String, _ value: String, _ range: String) {
    let message = "duration: '\(value)' is not a duration from \(range)"
    switch kind {
    case "":
      let basic = "flow = basic\n\(Self.role)\nduration = \(value)"
      expect(CredCoreTests.problems(inProfile: basic), equals: ["credd.conf:5: \(message)"])
    case "derived": expect(problems(inDerived: "duration = \(value)"), equals: ["3: \(message)"])
    default:
      expect(
        problems(inDerived: "\(Self.role)\nduration = \(value)"),
        equals: ["4: \(message), AWS's limits for a role that another role assumes"])
    }
  }

  @Test(arguments: ["duration = 29m59s", "duration = 1m", "\(role)\nduration = 15m"])
  func shortLivesAreWarnedOf(_ lines: String) {
    let line = 2 + lines.split(separator: "\n").count
    expect(
      problems(inDerived: lines),
      equals: [
        "\(line): warning: duration: under 30m, clients that refresh 15m before expiration ask all the "
          + "time"
      ])
  }

  @Test(arguments: [
    ("duration = 1h500ms", "3: duration: '1h500ms' is not a whole number of seconds"),
    (
      "duration = long",
      "3: duration: 'long' is not a duration such as 500ms, 90s, 5m, 1h30m or 30d"
    ),
    ("duration = 1h\nregion = Ireland", "4: region: 'Ireland' is not a region of AWS such as"),
    ("duration = 1h\nsession_description = x", "4: session_description: 'x' is not 2 to 256"),
    ("\(role)\nexternal_id = a b", "4: external_id: 'a b' is not 2 to 1224 letters"),
    (
      "\(role)\nsession_tags.aws:team = x",
      "4: session_tags.aws:team: 'aws:team' begins with 'aws:'"
    ),
    ("\(role)\nsession_tags.AWS:x = x", "4: session_tags.AWS:x: 'AWS:x' begins with 'aws:'"),
    ("\(role)\nsession_tags. = x", "4: session_tags.: a name must follow the dot"),
    ("\(role)\nsession_tags.a!b = x", "4: session_tags.a!b: 'a!b' is no tag's name"),
    ("\(role)\nsession_tags.a = x\\y", "4: session_tags.a: 'x\\y' holds a character that"),
    (
      "\(role)\nsession_tags.Team = a\nsession_tags.team = b",
      "5: session_tags.team: is the tag of 'session_tags.Team': case does not count"
    ),
    (
      "\(role)\nsession_tags.team = a\ntransitive_tags = taem",
      "5: transitive_tags: there is no 'session_tags.taem'; did you mean 'team'?"
    ),
    ("\(role)\nsource_identity = {user}/x", "4: source_identity: '{user}/x' holds a character"),
    ("duration = 1h\npolicy_file = p", "4: policy_file: is not an absolute path"),
    ("duration = 1h\nvend_credentials = never", "4: vend_credentials: 'never' is neither"),
    (
      "duration = 1h\nsts_endpoint = http://sts.example",
      "4: sts_endpoint: http:// to 'sts.example' would send secrets in clear; use https://, or set "
    ),
    (
      "duration = 1h\nsts_endpoint = https://h\nfips = yes",
      "4: sts_endpoint: cannot be combined with 'fips'"
    ),
    (
      "duration = 1h\nsts_endpoint = https://h\ndualstack = yes",
      "4: sts_endpoint: cannot be combined with 'dualstack'"
    ),
    ("duration = 1h\nimpersonate_signed_in = yes", "4: impersonate_signed_in: requires"),
    ("duration = 1h\npolcy_file = /p", "4: unknown key 'polcy_file' in '[profile narrow]'; did"),
  ])
  func wrongValuesAreNamed(_ lines: String, _ start: String) {
    let found = problems(inDerived: lines)
    expect(found.count == 1 && found[0].hasPrefix(start), "\(found)")
  }

  @Test func tagsAreFifty() {
    let tags = (0...50).map { "session_tags.t\($0) = x" }
    let text = ([Self.role] + tags).joined(separator: "\n")
    expect(
      problems(inDerived: text), equals: ["54: session_tags.t50: more than 50 session tags"])
    expect(problems(inDerived: text.replacing("\nsession_tags.t50 = x", with: "")), equals: [])
  }

  /// A daemon before derived profiles has none of these rows, so that after a downgrade no profile is
  /// wider than it says: there is no configuration.
  @Test func aReaderWithoutTheseKeysRefusesThem() {
    var lines = INIReader()
    lines.read([ConfigurationSource(name: "c", bytes: Array(derivedText("duration = 1h").utf8))])
    var reader = ConfigurationReader(
      environment: { _ in nil }, policyFile: { _ in .success([]) }, diagnostics: lines.diagnostics)
    let former = ConfigurationSchema.profile.filter { $0.reference.name != "source_profile" }
    var draft = ProfileDraft(name: "narrow")
    reader.assign(former, from: lines.document.sections[0], to: &draft)
    expect(reader.diagnostics.hasErrors)
    expect(
      reader.diagnostics.inOrder().first?.description.hasPrefix(
        "c:2: unknown key 'source_profile' in '[profile narrow]'") ?? false)
  }
}
