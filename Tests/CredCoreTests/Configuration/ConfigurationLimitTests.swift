import TestSupport
import Testing

@testable import CredCore

/// Limits and alphabets of values that no other test tries.
struct ConfigurationLimitTests {
  private static func many(_ count: Int, _ word: (Int) -> String) -> String {
    (0..<count).map(word).joined(separator: " ")
  }

  private static let policy = "arn:aws:iam::aws:policy/P"
  private static let basic = "flow = basic\n\(ConfigurationRuleTests.role)\n"

  /// Lines of a profile, of which the last one is wrong.
  @Test(arguments: [
    "forget_after = 999ms", "forget_after = 3651d", "duration = 12h1s", "duration = 899s",
    "\(basic)policy_arns = \(many(11) { "\(policy)\($0)" })",
    "\(basic)policy_arns = arn:aws:iam::123456789012:role/x",
    "\(basic)policy_arns = arn:aws-cn:iam::aws:policy/P",
    "developer_provider = \(String(repeating: "d", count: 129))",
    "logins_key = \(String(repeating: "k", count: 129))",
    "user_identifier = \(String(repeating: "u", count: 1025))",
    "allow_users = \(String(repeating: "u", count: 257))", "vend_tokens = id id",
    "vend_tokens = none id", "keep_warm = no alice", "impersonate = a:b",
    "allow_executables = /\(String(repeating: "x", count: 4095))",
    "ca_file = /\(String(repeating: "x", count: 4095))",
  ])
  func profilesAreRefused(lines: String) {
    expect(profile(lines) == nil)
    expect(Self.names(lines, problems(inProfile: lines)))
  }

  /// The same of a daemon.
  @Test(arguments: [
    "max_connections = 65537", "max_connections_per_user = 0", "upstream_connections = 1025",
    "max_sessions = 100001", "exit_on_idle = 999ms", "exit_on_idle = 8d", "admin_group = a:b",
    "metrics_users = a:b", "get_id_rate_limit = 0/s", "get_credentials_rate_limit = 10001/s",
    "get_openid_token_rate_limit = 5/h", "assume_role_rate_limit = +5/s",
  ])
  func daemonsAreRefused(line: String) {
    expect(Self.names(line, problems("[daemon]\n\(line)\n\(plainProfile)")))
  }

  /// The same of a backend.
  @Test(arguments: [
    ("exec", "command = /x \(many(256) { "\($0)" })"),
    ("exec", "command = /x\nrate_limit = 5/s/s"), ("exec", "command = /x\nmax_parallel = 1025"),
    ("http", "url = https://h/{user}\nheader.X = \"\""),
    ("http", "url = https://{user}.example.com/"), ("http", "url = https://h/%zz"),
    ("cognito", "credentials_file = /c\ncredentials_profile = a/b"),
    ("cognito", "token_duration = 0"),
    ("cognito", "principal_tags.team = \(String(repeating: "t", count: 257))"),
    ("aws-sample", "url = https://h\napp_name = My.App"), ("aws-sample", "url = https://h/?a"),
  ])
  func backendsAreRefused(type: String, lines: String) {
    expect(backend(type, lines) == nil)
    expect(Self.names(lines, problems(inBackend: type, lines)))
  }

  /// The same of a provider, or of a user pool with a Hosted UI.
  @Test(arguments: [
    "idp_identifier = a b", "identity_provider = \(many(65) { "p\($0)" })",
    "authorize.lang = \(String(repeating: "x", count: 1025))", "logout.client_id = x",
    "authorize.a/b = x", "scopes = openid a\\b", "logout_redirect_uri = http://a.example/",
    "account_actions = none get", "redirect_uri = http://a.example/", "provider_name = a b",
    "client_id = \(String(repeating: "c", count: 129))",
  ])
  func userPoolsAreRefused(line: String) {
    let key = String(line.prefix { $0 != " " })
    let all = UserPoolConfigurationTests.keys + "domain = a.example\nredirect_uri = http://[::1]/"
    let rest = all.split(separator: "\n").filter { !$0.hasPrefix("\(key) ") }
      .joined(separator: "\n")
    let text = "[backend b]\ntype = user-pool\n\(rest)\n\(line)\n\(plainProfile)backend = b\n"
    expect(Self.names(line, problems(text)))
  }

  /// A link is made by a backend that is told of logins, with a provider.
  @Test(arguments: [
    ("http", "method = GET\nurl = https://h/{user}", "oidc", false),
    ("http", "url = https://h/", "oidc", true), ("http", "url = https://h/", "exec", false),
    ("exec", "command = /x", "oidc", true), ("cognito", "", "oidc", true),
  ])
  func links(type: String, lines: String, linked: String, isGood: Bool) {
    let keys = [
      "oidc": "issuer = https://s.example/\nclient_id = s\nredirect_uri = http://127.0.0.1/",
      "exec": "command = /y",
    ]
    let text =
      "[backend s]\ntype = \(linked)\n\(keys[linked] ?? "")\n"
      + "[backend b]\ntype = \(type)\n\(lines)\n"
    let reading = reading(text + userOfBackend + "link_backend = s\n")
    expect((reading.configuration != nil), equals: isGood, "\(reading.diagnostics)")
  }

  /// Whether there is an error, and each names the key of the last line.
  private static func names(_ lines: String, _ problems: [String]) -> Bool {
    let key = lines.split(separator: "\n").last?.prefix { $0 != " " } ?? ""
    let errors = problems.filter { !$0.contains(": warning: ") }
    return !errors.isEmpty && errors.allSatisfy { $0.contains(key) }
  }
}
