extension Dice {
  /// A configuration of a few sections.
  mutating func configuration() -> String {
    let names = ["p", "default", "work-1"]
    let backends = ["corp", "b.2"].prefix(number(3))
    var sections: [String] = []
    if once(in: 2) {
      sections.append(section("[daemon]", DaemonRows.all.map { ($0.name, $0.kind) }, needed: []))
    }
    for name in backends { sections.append(backend(name)) }
    for name in names.prefix(number(3) + 1) { sections.append(profile(name, Array(backends))) }
    if once(in: 30) {
      sections.append(pick(["[default]\n", "[profile a b]\n", "[backend]\n", "[x"]))
    }
    let text = sections.shuffled(using: &self).joined(separator: pick(["\n", "", "; c\n"]))
    return (once(in: 20) ? "\u{FEFF}" : "") + text
  }

  private mutating func backend(_ name: String) -> String {
    let type = pick(["http", "http", "exec", "cognito", "aws-sample", "user-pool", "oidc"])
    let rows = BackendRows.all.filter { $0.type.isEmpty && $0.name != "type" || $0.type == type }
    let needed =
      [
        "http": ["url"], "exec": ["command"], "aws-sample": ["url"],
        "user-pool": ["user_pool_id", "client_id"],
        "oidc": ["issuer", "client_id", "redirect_uri"],
      ][type] ?? []
    var text = section("[backend \(name)]", rows.map { ($0.name, $0.kind) }, needed: needed)
    if !once(in: 30) { text += line("type", type) }
    return text
  }

  private mutating func profile(_ name: String, _ backends: [String]) -> String {
    let special = [
      "backend", "developer_provider", "flow", "role_arn", "web_identity_token_file",
      "web_identity_provider", "policy_file", "policy_arns",
    ]
    let rows = ProfileRows.all.filter { !special.contains($0.name) || once(in: 30) }
    var text = section(
      "[\(pick(["profile", "profile", " profile\t"])) \(name)]", rows.map { ($0.name, $0.kind) },
      needed: ["identity_pool_id"])
    if let backend = backends.randomElement(using: &self), once(in: 2) {
      text += line("backend", once(in: 16) ? "none" : backend)
      if !once(in: 16) { text += line("developer_provider", "login.example.app") }
    }
    if once(in: 3) {
      text += line("flow", pick(["basic", "basic", "enhanced"]))
      if !once(in: 6) { text += line("role_arn", "arn:aws:iam::123456789012:role/x") }
      if once(in: 4) { text += line("policy_file", value(.path(4095))) }
    }
    if once(in: 6) {
      text += line("web_identity_token_file", "/run/token")
      if !once(in: 6) {
        text += line("web_identity_provider", pick(["idp.example.com", "cognito-identity.x"]))
      }
    }
    return text
  }

  private mutating func section(
    _ header: String, _ rows: [(name: String, kind: ValueKind)], needed: [String]
  ) -> String {
    var text = header + pick(["", "", " ", " ; c", "#c"]) + newLine()
    for row in rows where needed.contains(row.name) && !once(in: 30) || once(in: 12) {
      let name = row.name.hasSuffix(".") ? row.name + memberName() : row.name
      text += line(once(in: 60) ? misspelt(name) : name, value(row.kind))
    }
    return text
  }

  private mutating func misspelt(_ key: String) -> String {
    once(in: 2) ? String(key.dropLast()) : key.uppercased()
  }

  private mutating func memberName() -> String {
    once(in: 30)
      ? pick([
        "", "Host", "a b", "é", "1X", "Authorization", "X-Team", "x-team", "content-type",
        "Content-Length", "Transfer-Encoding", "Connection",
      ])
      : text("ABCxyz_", 1...6)
  }

  private mutating func newLine() -> String { once(in: 10) ? "\r\n" : "\n" }

  private mutating func line(_ key: String, _ value: String) -> String {
    var text = once(in: 12) ? pick(["# c", "", "; x = y", "  ", "\t# c"]) + newLine() : ""
    text += key + pick([" = ", "=", "\t=\t", " ="]) + value
    return text + pick(["", "", "", "  ", " ; c", "\t# \""]) + newLine()
  }
}

// MARK: Values

extension Dice {
  private mutating func value(_ kind: ValueKind) -> String {
    if once(in: 60) {
      return pick([
        "", "\"", "\"\"", "\"a\" b", "a\"b", "\"a\\n\"", "${HOME}", "é", "a,b", "\\", ";x", "#",
      ])
    }
    let plain = plainValue(kind)
    guard once(in: 12), !plain.contains("\"") else { return plain }
    let quoted = plain.unicodeScalars.map {
      "\"\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)"
    }
    return "\"" + quoted.joined() + "\""
  }

  private mutating func plainValue(_ kind: ValueKind) -> String {
    switch kind {
    case .number(let range):
      once(in: 20)
        ? pick(["\(range.upperBound + 1)", "0", "-1", "+1", "1.0", "99999999999999999999", "٣"])
        : pick(["\(range.lowerBound)", "\(range.upperBound)", "007", "\(number(in: range))"])
    case .duration(let range, _): duration(range)
    case .rate:
      once(in: 20)
        ? pick(["0/s", "10001/s", "5/h", "5", "+5/s", "5/s/s"]) : pick(["1/m", "10000/s", "25/s"])
    case .yesNo:
      once(in: 20) ? pick(["Yes", "1"]) : pick(["yes", "no", "true", "false", "on", "off"])
    case .choice(let known): once(in: 20) ? pick(known) + "x" : pick(known)
    case .text(let right, _): once(in: 20) ? named() : pick(right)
    case .path(let limit): path(limit)
    case .url: once(in: 12) ? url() : pick(Self.goodURLs)
    case .endpoint:
      once(in: 12) ? url() : pick(["https://h", "https://h.example/a//", "http://127.0.0.1:4599"])
    case .template: template()
    case .list(_, let right, _): list(right)
    case .words(let known): once(in: 8) ? pick(["none", "none id", "id id", "x"]) : list(known)
    case .kept: once(in: 2) ? pick(["no", "yes", "yes no", "alice yes"]) : list(["alice", "0"])
    case .executables:
      once(in: 20)
        ? pick(["x", "sha256:\(digest())"])
        : pick(["/usr/bin/x", "/usr/bin/x sha256:\(digest())", "/a,/b*"])
    case .command:
      once(in: 20) ? "cat" : pick(["/bin/cat", "/bin/cat -n \"a b\"", "/x \"\"", "\"/a b\" c"])
    case .header, .variable: once(in: 30) ? "\"\"" : pick(["v", "\"a ; b\"", "a;b#c", "a\\b"])
    case .tag, .claim: template()
    case .parameter:
      once(in: 30) ? "\"\"" : pick(["v", "login", "none", "\"a b\"", "https://a/?b=c"])
    case .domain:
      once(in: 8)
        ? url() : pick(["a.auth.eu-west-1.amazoncognito.com", "https://a", "http://[::1]:1/"])
    }
  }

  private static let goodURLs = [
    "https://auth.example.com/token", "http://127.0.0.1:8080/{user}?u={uid}", "http://[::1]/a%20b",
    "https://h:443?host={host}", "http://localhost/", "https://h/{{x}}/{user}",
  ]

  private mutating func digest() -> String {
    text("0123456789abcdef", once(in: 12) ? 63...63 : 64...64)
  }

  private mutating func named() -> String {
    once(in: 2)
      ? pick([
        "us-east-1:11111111-2222-3333-4444-555555555555", "login.example.app", "123456789012",
        "adm",
        "arn:aws:iam::123456789012:role/x", "arn:aws-cn:iam::123456789012:role/a/b@c",
      ])
      : pick([
        poolID(), accountName(), profileName(), "arn:aws:iam::12345678901:role/x",
        "arn:aws:iam::aws:role/x",
        "arn:awsX:iam::123456789012:role/x", "arn:aws:iam::123456789012:role/", "1234567890123",
      ])
  }

  private mutating func duration(_ range: ClosedRange<Int>) -> String {
    if once(in: 30) {
      return pick([
        "1m1h", "1.5s", "1s1s", "ms", "1 s", "1d1d", "1h1d", "", "9999999999s", "h1", "1h1",
        "500us", "0",
      ])
    }
    let most = min(range.upperBound, 50_000_000)
    let seconds = max(number(in: range.lowerBound...most) / 1000, range.lowerBound / 1000)
    guard once(in: 12) else { return pick(["\(seconds)s", "\(seconds)", "\(seconds)s0ms"]) }
    return pick([
      "\(number(in: range.lowerBound...most))ms", "1h30m", "15m", "90s",
      "\(range.upperBound / 1000)s",
      "\(range.upperBound / 1000)s1ms", "1s500ms", "1h1m1s", "1d12h",
    ])
  }

  private mutating func path(_ limit: Int) -> String {
    once(in: 30)
      ? pick([
        "x", "${HOME}/x", "${}/x", "/a${", "$DIRECTORY/x",
        "/" + String(repeating: "a", count: limit),
        "${EMPTY}/x", "/é/ü",
      ])
      : pick(["/run/x", "${DIRECTORY}/token", "/a b", "/a$b", "/x${DIRECTORY}y", "${A1_}/z"])
  }

  private mutating func template() -> String {
    once(in: 30)
      ? pick([
        "{", "}", "{x}", "{user", "{{user}", "{User}", "a{}b", "{user}}",
        String(repeating: "t", count: 300),
      ])
      : pick([
        "{user}", "{uid}", "u-{uid}@{host}", "plain", "{{x}}", "a{{{user}}}", "{user}{uid}",
        "{user}}}",
      ])
  }

  private mutating func list(_ right: [String]) -> String {
    let words = (0..<number(in: 1...3)).map { _ in
      once(in: 40) ? pick(["a:b", "x/y/z.service", "é", "\"a b\"", "arn:x", "\"\""]) : pick(right)
    }
    return words.joined(separator: pick([" ", ",", ", ", "\t", " , "])) + (once(in: 40) ? "," : "")
  }
}
