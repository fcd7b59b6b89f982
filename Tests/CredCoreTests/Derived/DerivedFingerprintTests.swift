import TestSupport
import Testing

@testable import CredCore

/// What a stored session of a derived profile must have in common with the configuration.
struct DerivedFingerprintTests {
  private static let role = "role_arn = arn:aws:iam::123456789012:role/reports"

  private func fingerprints(
    _ lines: String, source: String = "", policy: String = narrowPolicy
  ) throws -> (identity: Fingerprint, credentials: Fingerprint) {
    let other = narrowPolicy.replacing("s3:", with: "sqs:")
    let reading = reading(
      derivedText(lines, source: source) + "[profile other]\nidentity_pool_id = \(examplePool)\n"
        + "user_identifier = {uid}\n",
      policies: ["/p": policy, "/same": narrowPolicy, "/other": other])
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    let settings = try #require(configuration.profiles["narrow"])
    let profile = try Profile(settings, in: configuration) { _ in nil }
    return (profile.identityFingerprint, profile.credentialsFingerprint)
  }

  /// Another value of each key that a derived profile may have, or none where there is one.
  private static let others = [
    "policy_file": "/other", "duration": "45m", "session_description": "weekly",
    "role_arn": "arn:aws:iam::123456789012:role/other",
    "policy_arns": "arn:aws:iam::aws:policy/Other", "role_session_name": "{uid}",
    "external_id": "def", "session_tags.team": "dev", "transitive_tags": "uid",
    "source_identity": "{uid}", "region": "eu-central-1", "sts_endpoint": "https://127.0.0.1:2",
  ]
  private static let scope =
    "policy_file = /p\nduration = 30m\nsession_description = nightly\nregion = eu-west-1\n"
    + "sts_endpoint = https://127.0.0.1:1"
  private static let hop =
    "\(role)\npolicy_file = /p\npolicy_arns = arn:aws:iam::aws:policy/One\nduration = 30m\n"
    + "role_session_name = {user}\nexternal_id = abc\nsession_tags.team = ops\n"
    + "session_tags.uid = {uid}\ntransitive_tags = team\nsource_identity = {user}\n"
    + "region = eu-west-1\nsts_endpoint = https://127.0.0.1:1"

  @Test(arguments: [scope, hop])
  func eachKeyThatDecidesWhatTheyMayDoCounts(_ text: String) throws {
    let usual = try fingerprints(text)
    expect(try fingerprints(text) == usual)
    var seen: Set = [usual.credentials]
    let lines = text.split(separator: "\n").map(String.init)
    for (index, line) in lines.enumerated() {
      let key = String(line.prefix { $0 != " " })
      guard let other = Self.others[key] else { continue }
      var changed = lines
      changed[index] = "\(key) = \(other)"
      let next = try fingerprints(changed.joined(separator: "\n"))
      expect(next.identity, equals: usual.identity, "\(key)")
      expect(seen.insert(next.credentials).inserted, "\(key)")
      // The last key of a call cannot go.
      guard !["role_arn", "session_tags.team"].contains(key) else { continue }
      changed.remove(at: index)
      // {user} is the default.
      let without = try fingerprints(changed.joined(separator: "\n"))
      expect(seen.insert(without.credentials).inserted != (key == "role_session_name"), "\(key)")
    }
  }

  /// Each of these keys has its place in the table above, or is none of which the credentials know.
  @Test func noKeyIsForgotten() {
    let known = Set(
      Self.others.keys.map { $0.hasPrefix("session_tags.") ? "session_tags.NAME" : $0 })
    let others: Set = [
      "source_profile", "allow_users", "allow_groups", "allow_units", "allow_executables",
      "impersonate", "impersonate_signed_in", "allow_plain_http", "ca_file", "fips", "dualstack",
      "vend_credentials",
    ]
    let keys = ConfigurationSchema.profile.map(\.reference.shown).filter { key in
      !problems(inDerived: "duration = 1h\n\(key) = 1").contains {
        $0.contains("cannot be combined with 'source_profile'")
      }
    }
    expect(Set(keys), equals: known.union(others))
  }

  @Test(arguments: ["fips = yes", "dualstack = yes"])
  func anotherHostCounts(_ line: String) throws {
    expect(
      try fingerprints("duration = 1h\n\(line)").credentials
        != fingerprints("duration = 1h").credentials)
  }

  @Test(arguments: [
    "allow_users = alice", "allow_groups = ops", "allow_units = a.service",
    "allow_executables = /bin/x", "impersonate = bob", "vend_credentials = no",
  ])
  func whoMayUseItDoesNot(_ line: String) throws {
    expect(try fingerprints("duration = 1h\n\(line)") == fingerprints("duration = 1h"))
  }

  /// The bytes count that are sent, and not the name of the file.
  @Test func thePolicysTextCounts() throws {
    let usual = try fingerprints("policy_file = /p")
    expect(try fingerprints("policy_file = /same") == usual)
    expect(
      try fingerprints("policy_file = /p", policy: narrowPolicy.replacing(",", with: " , "))
        == usual)
    let others = [
      narrowPolicy.replacing("s3:Get*", with: "s3:GetObject"),
      narrowPolicy.replacing(#""*""#, with: #""arn:aws:s3:::{user}""#),
      narrowPolicy.replacing(#""*""#, with: #""arn:aws:s3:::{uid}""#),
      narrowPolicy.replacing(#""*""#, with: #""arn:aws:s3:::{{x}""#),
    ]
    var seen: Set = [usual.credentials]
    for other in others {
      expect(
        seen.insert(try fingerprints("policy_file = /p", policy: other).credentials).inserted)
    }
  }

  /// Another identity, or another wide role, gives other credentials.
  @Test func whatIsAboveCounts() throws {
    let usual = try fingerprints("duration = 1h")
    for source in ["account_id = 123456789012", "forget_after = 1d", "allow_users = alice"] {
      expect(try fingerprints("duration = 1h", source: source) == usual)
    }
    let basic = try fingerprints("duration = 1h", source: "flow = basic\n\(Self.role)")
    expect(basic.identity == usual.identity && basic.credentials != usual.credentials)
    let other = try fingerprints("duration = 1h", source: "user_identifier = {uid}")
    expect(other.identity != usual.identity && other.credentials != usual.credentials)
    var text = derivedText("duration = 1h").replacing(
      "source_profile = work", with: "source_profile = b")
    text += "[profile b]\nidentity_pool_id = \(examplePool)\nvend_credentials = no\n"
    let configuration = try #require(reading(text, policies: [:]).configuration)
    let settings = try #require(configuration.profiles["narrow"])
    expect(
      try Profile(settings, in: configuration) { _ in nil }.identityFingerprint != usual.identity)
  }

  /// What ends one list never begins the next one.
  @Test func listsAreKeptApart() throws {
    func text(_ policies: String, _ more: String) -> String {
      "\(Self.role)\npolicy_arns = \(policies)\n\(more)"
    }
    let (one, two) = ("arn:aws:iam::aws:policy/One", "arn:aws:iam::aws:policy/Two")
    let found = try [
      text(one, ""), text("\(one) \(two)", ""), text("\(two) \(one)", ""),
      text(one, "session_tags.a = b"), text(one, "session_tags.a = b\ntransitive_tags = a"),
      text(one, "session_tags.a = b\nsession_tags.b = a\ntransitive_tags = a"),
      text(one, "session_tags.a = b\nsession_tags.b = a\ntransitive_tags = a b"),
    ].map { try fingerprints($0).credentials }
    expect(Set(found).count, equals: found.count)
  }
}
