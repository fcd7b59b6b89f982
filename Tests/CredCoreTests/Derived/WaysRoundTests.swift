import TestSupport
import Testing

@testable import CredCore

/// Warnings of profiles that give less, where the same users get more in another way.
struct WaysRoundTests {
  private static let role = "role_arn = arn:aws:iam::123456789012:role/reports"

  /// The warnings of a derived profile whose source gives its own credentials, too.
  private func warnings(_ lines: String, source: String) -> [String] {
    problems(
      inText: derivedText(lines, source: source).replacing("vend_credentials = no\n", with: "\n")
    ).map { String($0.drop { $0 != " " }.dropFirst()) }
  }

  private static let bindsNobody =
    "warning: narrow binds nobody: set vend_credentials = no in 'work', or give the program a socket "
    + "with a cap"

  @Test(arguments: [
    ("", "", true), ("", "allow_users = alice", true), ("allow_users = *", "", true),
    ("allow_users = alice", "", true), ("allow_units = a.service", "allow_users = *", true),
    ("allow_users = alice", "allow_users = bob alice", true),
    ("allow_groups = ops", "allow_groups = ops staff\nallow_users = alice", true),
    ("allow_units = a.service", "allow_units = a.service", true),
    // Its own programs narrow the source's, and what they may use, the source gives, too.
    ("allow_executables = /bin/x", "allow_users = alice", true),
    ("", "allow_executables = /bin/x", true),
    ("allow_users = alice\nallow_executables = /bin/x", "allow_executables = /bin/x", true),
    // These are not all admitted by the source, as far as anybody knows.
    ("allow_users = alice", "allow_groups = staff", false),
    ("allow_units = a.service", "allow_users = alice", false),
    ("allow_users = alice", "allow_executables = /bin/x", false),
    ("allow_groups = ops", "allow_units = a.service", false),
  ])
  func whoeverGetsTheSourceIsNotBound(_ lines: String, _ source: String, _ isWarned: Bool) {
    let found = warnings("duration = 1h\n\(lines)", source: source)
    expect(found, equals: isWarned ? [Self.bindsNobody] : [])
    // Where the source gives nothing, everybody is bound.
    expect(
      problems(inDerived: "duration = 1h\n\(lines)", source: source).filter {
        $0.contains("binds nobody")
      }, equals: [])
  }

  @Test(arguments: [
    ("policy_file = /p", true), ("\(role)\npolicy_file = /p", true),
    ("\(role)\npolicy_arns = arn:aws:iam::aws:policy/X", true),
    ("\(role)\nsession_tags.user = {user}", true), ("\(role)\nsource_identity = {user}", true),
    // A role alone is more, not less.
    (role, false), ("\(role)\nexternal_id = abc\nduration = 1h", false),
  ])
  func whatIsMeantToBindIs(_ lines: String, _ isWarned: Bool) {
    expect(warnings(lines, source: ""), equals: isWarned ? [Self.bindsNobody] : [])
  }

  @Test(arguments: [("narrow", false), ("narrow work", true), ("other", true)])
  func aSocketWithoutTheSourceBinds(_ profiles: String, _ isWarned: Bool) {
    let socket = "[socket /run/agents/sock]\nprofiles = \(profiles)\n"
    let other = "[profile other]\nidentity_pool_id = \(examplePool)\n"
    let text = derivedText("duration = 1h", source: "")
      .replacing("vend_credentials = no\n", with: "\n")
    expect(
      problems(inText: text + "\n" + other + socket).contains { $0.hasSuffix(Self.bindsNobody) },
      equals: isWarned)
  }

  @Test func aSourceAboveTheSourceBindsNobodyEither() {
    func text(_ middle: String, _ root: String) -> String {
      """
      [profile top]
      source_profile = narrow
      duration = 1h
      [profile narrow]
      source_profile = work
      duration = 1h
      vend_credentials = \(middle)
      [profile work]
      identity_pool_id = \(examplePool)
      vend_credentials = \(root)
      """
    }
    func names(_ middle: String, _ root: String) -> [Substring?] {
      problems(inText: text(middle, root)).map {
        $0.firstMatch(of: /binds nobody: .* in '(.*?)'/)?.1
      }
    }
    expect(names("no", "no"), equals: [])
    expect(names("yes", "no"), equals: ["narrow"])
    // At the profile in between, too.
    expect(names("no", "yes"), equals: ["work", "work"])
    expect(names("yes", "yes"), equals: ["narrow", "work", "work"])
  }

  @Test(arguments: [
    ("allow_users = *", "allow_users = alice", "3: warning: allow_users", "every user"),
    ("allow_users = alice bob", "allow_users = alice", "3: warning: allow_users", "user 'bob'"),
    ("allow_groups = ops", "allow_users = alice", "3: warning: allow_groups", "group 'ops'"),
  ])
  func usersWhomTheSourceDoesNotAdmitAreNamed(
    _ lines: String, _ source: String, _ start: String, _ others: String
  ) {
    expect(
      problems(inDerived: "\(lines)\nduration = 1h", source: source),
      equals: [
        "\(start): [profile work] does not admit \(others), who cannot sign in there, and gets "
          + "credentials here only where the backend trusts this host"
      ])
  }

  @Test(arguments: [
    ("allow_users = alice", "allow_users = alice bob"), ("allow_users = alice", ""),
    // Only the host knows who is in a group, and whose a unit is.
    ("allow_users = alice", "allow_groups = staff"),
    ("allow_users = alice", "allow_units = a.service"),
    ("allow_units = a.service", "allow_users = alice"), ("", "allow_users = alice"),
  ])
  func whereTheSourceMayAdmitThemNothingIsSaid(_ lines: String, _ source: String) {
    expect(problems(inDerived: "\(lines)\nduration = 1h", source: source), equals: [])
  }

  @Test func guestsOfTheEnhancedFlowGetNothing() {
    let basic = "flow = basic\n\(Self.role)\nguest = yes"
    for line in ["duration = 1h", Self.role] {
      expect(
        problems(inDerived: line, source: "guest = yes"),
        equals: [
          "2: warning: source_profile: guests of [profile work] get no credentials here: Cognito's own "
            + "policy for guests allows no call of STS"
        ])
      expect(problems(inDerived: line, source: basic), equals: [])
    }
  }

  // MARK: Tokens

  private static let http = "[backend b]\ntype = http\nurl = https://h\n"
  private static let staff =
    "[backend b]\ntype = user-pool\nuser_pool_id = us-east-1_AbCdEf123\nclient_id = 2abc\n"

  private func tokens(_ words: String, _ keys: String, _ backend: String) -> [String] {
    let provider = backend == Self.http ? "developer_provider = d\nbackend = b\n" : ""
    let own = backend == Self.staff ? "backend = b\n" : provider
    return problems(
      inText: plainProfile + "vend_tokens = \(words)\n\(keys)\n" + own + backend)
  }

  private static func opens(_ word: String) -> String {
    "3: warning: vend_tokens: '\(word)' opens the wide role: for this token Cognito gives the "
      + "credentials that 'vend_credentials = no' withholds"
  }

  @Test func tokensThatOpenTheWideRoleAreWarnedOf() {
    expect(
      tokens("developer", "vend_credentials = no", Self.http), equals: [Self.opens("developer")])
    expect(
      tokens("id access", "vend_credentials = no", Self.staff), equals: [Self.opens("id")])
    expect(tokens("access", "vend_credentials = no", Self.staff), equals: [])
    expect(tokens("id access", "", Self.staff), equals: [])
    // A linked provider's, too.
    let linked =
      "link_backend = okta\n[backend okta]\ntype = oidc\nissuer = https://o.example/\nclient_id = x\n"
      + "sign_in = device\n"
    let text =
      plainProfile
      + "vend_tokens = id\nvend_credentials = no\ndeveloper_provider = d\nbackend = b\n"
      + linked + Self.http
    expect(problems(inText: text), equals: [Self.opens("id")])
    // A client may bring the developer token itself.
    expect(
      tokens("developer", "vend_credentials = no", ""), equals: [Self.opens("developer")])
  }

  @Test func theDeveloperTokenIsNamedOnlyWhereItIsNotGivenAnyway() {
    for keys in ["", "vend_credentials = yes"] {
      expect(
        tokens("developer", keys, Self.http),
        equals: [
          "3: vend_tokens: 'developer' has an effect only beside 'vend_credentials = no'; else the "
            + "developer token is given anyway"
        ])
    }
    // Without credentials it would be refused all the same.
    expect(
      tokens("developer", "", Self.staff),
      equals: ["3: vend_tokens: [backend b] is a user pool, which gives no 'developer' tokens"])
    // Other words are a provider's, and a provider has no developer tokens.
    expect(
      tokens("developer id", "vend_credentials = no", Self.http).contains(
        "3: vend_tokens: [backend b] is no user pool, and has no tokens for programs"))
    expect(
      tokens("developer", "vend_credentials = no", Self.staff).contains(
        "3: vend_tokens: [backend b] is a user pool, which gives no 'developer' tokens"))
  }

  @Test func theDeveloperTokenKeepsNoAccessToken() throws {
    for (words, keeps) in [("id", false), ("access", true)] {
      let text = plainProfile + "backend = b\nvend_tokens = \(words)\n" + Self.staff
      let configuration = try #require(CredCoreTests.reading(text).configuration)
      let settings = try #require(configuration.profiles["p"])
      expect(
        try Profile(settings, in: configuration) { _ in nil }.plan.keepsAccessToken, equals: keeps)
    }
    let text =
      plainProfile + "developer_provider = d\nbackend = b\nvend_credentials = no\n"
      + "vend_tokens = developer\n" + Self.http
    let configuration = try #require(CredCoreTests.reading(text).configuration)
    let settings = try #require(configuration.profiles["p"])
    expect(!(try Profile(settings, in: configuration) { _ in nil }.plan.keepsAccessToken))
  }

  // MARK: Another profile with the same identity

  private func twins(_ one: String, _ other: String, keys: String = "") -> [String] {
    let text = """
      [profile a]
      identity_pool_id = \(examplePool)
      vend_credentials = no
      developer_provider = d
      backend = b
      \(one)
      [profile z]
      identity_pool_id = \(examplePool)
      developer_provider = d
      backend = b
      \(other)

      """
    return problems(inText: text + Self.http)
  }

  @Test(arguments: [
    ("", "", true), ("allow_users = alice", "", true), ("", "flow = basic\n\(role)", true),
    ("allow_users = alice", "allow_users = alice bob", true),
    ("allow_users = alice", "allow_groups = staff", true),
    ("allow_users = alice", "allow_users = bob", false),
    ("", "vend_credentials = no", false), ("", "user_identifier = {uid}", false),
  ])
  func anotherProfileWithTheSameIdentityIsNamed(_ one: String, _ other: String, _ isWarned: Bool) {
    let message =
      "3: warning: vend_credentials: [profile z] may give the same users the credentials of the same "
      + "identity; set vend_credentials = no there, too, or admit other users there"
    expect(twins(one, other), equals: isWarned ? [message] : [])
  }

  @Test func inAProfileOfTokensAloneTheKeyHasNoEffect() {
    let text = "[profile p]\nbackend = b\nvend_tokens = id\nvend_credentials = no\n" + Self.staff
    expect(
      problems(inText: text),
      equals: [
        "4: vend_credentials: has no effect without 'identity_pool_id': '[profile p]' gives tokens alone"
      ])
  }
}
