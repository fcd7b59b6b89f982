import CredCore
import TestSupport
import Testing

/// A profile without an identity pool, for the tokens of its provider alone.
struct TokensAloneConfigurationTests {
  private static let backend = """
    [backend staff]
    type = user-pool
    user_pool_id = us-east-1_AbCdEf123
    client_id = 2abc

    """

  private func problems(_ lines: String, backend: String = Self.backend) -> [String] {
    CredCoreTests.problems("[profile p]\n\(lines)\n" + backend).map {
      $0.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? $0
    }
  }

  @Test func aProviderAndItsTokensAreEnough() throws {
    let text = "[profile p]\nbackend = staff\nvend_tokens = id access\n" + Self.backend
    expect(reading(text).diagnostics, equals: [])
    let configuration = try #require(reading(text).configuration)
    let settings = try #require(configuration.profiles["p"])
    let profile = try Profile(settings, in: configuration) { _ in nil }
    expect(profile.pool == nil && profile.plan.way == .tokens)
    expect(profile.refusalOfCredentials?.code, equals: .invalidRequest)
    let keys = "keep_warm = yes\nforget_after = 1d\nallow_users = alice\nfips = yes"
    expect(problems("backend = staff\nvend_tokens = id\n\(keys)"), equals: [])
  }

  private static let lack =
    "'[profile p]' lacks 'identity_pool_id', an identity pool id (REGION:UUID)"

  @Test func whatIsMissingIsNamed() {
    for words in ["", "\nvend_tokens = none"] {
      expect(
        problems("backend = staff" + words),
        equals: [
          Self.lack + "; or 'vend_tokens', for a provider's tokens alone; or 'flow = direct'"
        ])
    }
    // Another backend gives no tokens of its own, and without one there is nobody to give any.
    let http = "[backend staff]\ntype = http\nurl = https://auth.example.com/token\n"
    expect(
      problems("backend = staff\ndeveloper_provider = login.example.app", backend: http),
      equals: [Self.lack])
    expect(problems("guest = yes", backend: ""), equals: [Self.lack])
    // A wrong word is the only mistake.
    expect(problems("backend = staff\nvend_tokens = ids").count, equals: 1)
  }

  @Test func keysOfIdentityPoolsHaveNoEffect() {
    for line in [
      "guest = yes", "user_identifier = {uid}", "account_id = 123456789012",
      "cognito_endpoint = http://127.0.0.1:1", "impersonate = deploy",
      "role_arn = arn:aws:iam::123456789012:role/x",
    ] {
      let key = line.prefix { $0 != " " }
      expect(
        problems("backend = staff\nvend_tokens = id\n\(line)"),
        equals: [
          "\(key): has no effect without 'identity_pool_id': '[profile p]' gives tokens alone"
        ])
    }
  }
}
