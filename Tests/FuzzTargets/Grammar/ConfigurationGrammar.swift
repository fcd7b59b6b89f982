extension Dice {
  /// A configuration of a few sections, most of whose lines are right.
  mutating func configuration() -> String {
    let backends = Array(["corp", "b.2"].prefix(number(3)))
    var sections = backends.map { backend($0) }
    if once(in: 2) { sections.append(section("[daemon]", Self.daemonLines)) }
    for name in ["p", "default", "work-1"].prefix(number(3) + 1) {
      sections.append(profile(name, backends))
    }
    if once(in: 4) {
      let path = pick(["/run/a/sock", "/run/a/sock", "/run/a/b/s", "run/s", "/run//s", "/", "/é/s"])
      sections.append(section("[socket \(path)]", Self.socketLines, needed: ["profiles = p"]))
    }
    if once(in: 30) {
      sections.append(pick(["[default]\n", "[profile a b]\n", "[backend]\n", "[x"]))
    }
    let text = sections.shuffled(using: &self).joined(separator: pick(["\n", "", "; c\n"]))
    return (once(in: 20) ? "\u{FEFF}" : "") + text
  }

  private static let daemonLines = [
    "max_connections = 4096", "admin_group = adm", "metrics_users = alice, \"domain users\"",
    "log_level = info", "exit_on_idle = 1h30m", "get_id_rate_limit = 25/s",
  ]
  private static let profileLines = [
    "user_identifier = u-{uid}@{host}", "guest = yes", "duration = 1h", "forget_after = 30d",
    "account_id = 123456789012", "allow_users = alice bob, \"é\"", "allow_groups = 0",
    "allow_units = billing.service user@*.service/app-*", "allow_executables = /usr/bin/x",
    "keep_warm = yes", "cognito_endpoint = http://127.0.0.1:4599", "fips = no",
    "ca_file = ${DIRECTORY}/ca.pem",
  ]
  private static let socketLines = ["operations = get ping", "operations = watch, token endpoint"]
  private static let basicLines = [
    "flow = basic", "role_arn = arn:aws:iam::123456789012:role/x", "policy_file = ${A1_}/z",
  ]
  /// By type: lines that it needs, and others.
  private static let backendLines: [String: (needed: [String], others: [String])] = [
    "http": (
      ["url = https://auth.example.com/{user}"],
      [
        "method = GET", "header.X-Team = \"a ; b\"", "login_url = https://h/in", "timeout = 500ms",
        "header_file.X-Key = /run/key", "header_file.x-team = /run/team",
      ]
    ),
    "exec": (
      ["command = /bin/cat -n \"a b\""],
      ["environment.A_1 = \"\"", "rate_limit = 90/m", "environment_file.a_1 = ${DIRECTORY}/b"]
    ),
    "cognito": ([], ["credentials_file = /etc/keys", "principal_tags.team = {user}"]),
    "aws-sample": (["url = https://h.example"], ["app_name = my.app-1", "max_parallel = 007"]),
    "user-pool": (
      ["user_pool_id = eu-west-1_AbCdEf123", "client_id = 2abc"],
      ["auth_flow = choice", "account_actions = get delete", "remember_device = ask"]
    ),
    "oidc": (
      ["issuer = https://a/b", "client_id = a.b:c/d", "redirect_uri = http://127.0.0.1/"],
      ["sign_in = browser device", "authorize.lang = de", "require.email = {user}@example.com"]
    ),
  ]

  private mutating func backend(_ name: String) -> String {
    let type = pick(Self.backendLines.keys.sorted())
    let lines = Self.backendLines[type] ?? ([], [])
    return section("[backend \(name)]", lines.others, needed: ["type = \(type)"] + lines.needed)
  }

  private mutating func profile(_ name: String, _ backends: [String]) -> String {
    var needed = ["identity_pool_id = \(FuzzTarget.identityPool)"]
    if once(in: 3) { needed += Self.basicLines }
    if let backend = backends.randomElement(using: &self), once(in: 2) {
      needed.append("backend = \(once(in: 16) ? "none" : backend)")
      if !once(in: 3) { needed.append("developer_provider = login.example.app") }
    }
    let header = "[\(pick(["profile", "profile", " profile\t"])) \(name)]"
    return section(header, Self.profileLines, needed: needed)
  }

  private mutating func section(
    _ header: String, _ lines: [String], needed: [String] = []
  ) -> String {
    var text = header + pick(["", "", " ", " ; c", "#c"]) + newLine()
    for line in needed where !once(in: 60) { text += written(line: line) }
    for line in lines where once(in: 8) { text += written(line: line) }
    return text
  }

  private mutating func newLine() -> String { once(in: 10) ? "\r\n" : "\n" }

  /// A line as somebody may write it, seldom with a fault.
  private mutating func written(line: String) -> String {
    let before = once(in: 12) ? pick(["# c", "", "; x = y", "  ", "\t# c"]) + newLine() : ""
    var line = line.replacing(" = ", with: pick([" = ", "=", "\t=\t", " ="]), maxReplacements: 1)
    if once(in: 60) { line += pick(["x", " x", ",", "\"", "${EMPTY}", "{", "é", "\\"]) }
    return before + line + pick(["", "", "", "  ", " ; c", "\t# \""]) + newLine()
  }
}
