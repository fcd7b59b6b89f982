import TestSupport
import Testing

@testable import CredCore

/// A message that recommends a key names one that is allowed beside what is there.
struct ConfigurationAdviceTests {
  private static let role = "arn:aws:iam::123456789012:role/staff"
  private static let backends = """
    [backend http]
    type = http
    url = https://auth.example.com/token
    [backend okta]
    type = oidc
    issuer = https://login.example.com/
    client_id = client-1
    redirect_uri = http://127.0.0.1/
    [profile source]
    identity_pool_id = \(examplePool)

    """

  /// Profiles of every kind, each right as it stands.
  private static let profiles = [
    "identity_pool_id = \(examplePool)",
    "identity_pool_id = \(examplePool)\nbackend = http\ndeveloper_provider = login.example.app",
    "identity_pool_id = \(examplePool)\nbackend = okta",
    "identity_pool_id = \(examplePool)\nflow = basic\nrole_arn = \(role)",
    "flow = direct\nregion = us-east-1\nrole_arn = \(role)\nbackend = okta",
    "flow = direct\nregion = us-east-1\nrole_arn = \(role)\nweb_identity_token_file = /run/token",
    "backend = okta\nvend_tokens = id", "source_profile = source\nduration = 1h",
    "source_profile = source\nrole_arn = \(role)",
  ]

  /// A value for each key of a profile. Some keys have a second value, for which there are rules.
  private static let values = [
    "identity_pool_id": [examplePool], "developer_provider": ["login.example.app"],
    "backend": ["http", "okta"], "link_backend": ["okta"], "user_identifier": ["{uid}"],
    "flow": ["basic", "direct", "enhanced"], "role_arn": [role],
    "role_session_name": ["{uid}", "{claim.sub}"], "duration": ["1h"], "policy_file": ["/p"],
    "policy_arns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"], "guest": ["yes"],
    "account_id": ["123456789012"], "web_identity_token_file": ["/run/token"],
    "web_identity_provider": ["login.example.com"], "allow_users": ["*"], "allow_groups": ["x"],
    "allow_units": ["x.service"], "allow_executables": ["/bin/x"], "forget_after": ["1d"],
    "keep_warm": ["yes"], "vend_tokens": ["id", "developer"], "impersonate": ["bob"],
    "impersonate_signed_in": ["yes"], "cognito_endpoint": ["https://h", "http://h"],
    "sts_endpoint": ["https://h", "http://h"], "allow_plain_http": ["yes"], "fips": ["yes"],
    "dualstack": ["yes"], "ca_file": ["/ca"], "logins_key": ["x"], "source_profile": ["source"],
    "region": ["us-east-1"], "session_description": ["nightly"], "external_id": ["ext"],
    "session_tags.NAME": ["x"], "transitive_tags": ["NAME"], "source_identity": ["{user}"],
    "vend_credentials": ["no"],
  ]

  private func messages(_ lines: String) -> [String] {
    problems(inText: "[profile p]\n\(lines)\n\(Self.backends)")
  }

  /// What a message says to add: 'KEY' or 'KEY = VALUE' behind one of these words.
  private func advised(_ message: String) -> [String] {
    // Then nothing is to be added.
    guard !message.contains(": remove ") else { return [] }
    let quoted = message.split(separator: "'", omittingEmptySubsequences: false)
    return quoted.indices.filter { $0 % 2 == 1 }.compactMap { index in
      let before = quoted[index - 1]
      guard
        ["requires ", "set ", " beside ", " or ", "only "].contains(where: { before.hasSuffix($0) })
      else { return nil }
      let key = quoted[index].prefix { $0 != " " }
      return Self.values[String(key)] == nil ? nil : String(quoted[index])
    }
  }

  @Test func everyKeyHasAValue() {
    expect(
      ConfigurationSchema.profile.map(\.reference.shown).filter { Self.values[$0] == nil },
      equals: [])
    for profile in Self.profiles {
      expect(!messages(profile).contains { !$0.contains("warning: ") }, "\(messages(profile))")
    }
  }

  @Test(arguments: profiles)
  func whatIsRecommendedIsNoErrorBesideTheRest(_ profile: String) {
    for (key, values) in Self.values.sorted(by: { $0.key < $1.key })
    where !profile.contains("\(key) = ") {
      for value in values {
        let lines = "\(profile)\n\(key) = \(value)"
        for message in messages(lines) { check(message, beside: lines) }
      }
    }
  }

  private func check(_ message: String, beside lines: String) {
    let advice = advised(message)
    // One of several ways must be open.
    let isOpen = advice.contains { advice in
      let key = advice.prefix { $0 != " " }
      let value = advice.contains(" = ") ? [] : Self.values[String(key)] ?? []
      let added = advice.contains(" = ") ? [advice] : value.map { "\(key) = \($0)" }
      let rest = lines.split(separator: "\n").filter { !$0.hasPrefix("\(key) = ") }
        .joined(separator: "\n")
      return added.contains { line in
        let after = messages("\(rest)\n\(line)")
        return !after.contains(message)
          && !after.contains {
            $0.contains(" \(key): cannot be combined") || $0.contains(" \(key): has no effect")
              || $0.contains("cannot be combined with '\(key)")
          }
      }
    }
    expect(advice.isEmpty || isOpen, "\(lines)\n\(message)\n\(advice)")
  }
}
