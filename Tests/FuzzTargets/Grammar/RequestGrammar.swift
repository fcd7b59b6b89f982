extension Dice {
  private static let operations = [
    "get", "token", "identity", "login", "login", "respond", "account", "logout", "clear",
    "release", "status", "watch", "endpoint", "metrics", "check", "ping",
  ]

  /// One to three request lines.
  mutating func requestLines() -> String {
    var text = ""
    for _ in 0..<(once(in: 4) ? number(3) + 1 : 1) {
      text += request() + pick(["\n", "\n", "\r\n", "\n\n", " \n", "\n\t\n"])
    }
    // The last line of a stream needs no newline.
    return once(in: 4) ? String(text.dropLast()) : text
  }

  private mutating func request() -> String {
    if once(in: 30) { return written(anyJSON()) }
    let name = pick(Self.operations)
    var members = self.members(of: name)
    if name != "get" || once(in: 2) {
      members.append(("op", .string(once(in: 20) ? pick(["Get", "gett", "", "ключ"]) : name)))
    }
    if once(in: 3) { members.append(("id", id())) }
    if once(in: 6) { members.append(("purpose", .string(purpose()))) }
    return pick(["", "", "", " "]) + written(disturbed(members))
  }

  private mutating func purpose() -> String {
    once(in: 3)
      ? pick(Self.oddTexts + [String(repeating: "p", count: 129)])
      : pick(["nightly backup", "~", String(repeating: "p", count: 128)])
  }

  private mutating func id() -> JSONText {
    switch number(5) {
    case 0: .raw(number())
    case 1: .string(String(repeating: "i", count: pick([255, 256, 257])))
    case 2: .string(pick(Self.oddTexts))
    default: .string("r\(number(1000))")
    }
  }

  private mutating func members(of operation: String) -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = []
    if !["status", "metrics", "ping", "respond"].contains(operation), once(in: 2) {
      members.append(("profile", .string(profileName())))
    }
    switch operation {
    case "get", "token":
      if once(in: 3) { members.append(("min_ttl", seconds(43_200))) }
      if once(in: 3) { members.append(("wait", seconds(300))) }
      if once(in: 3) { members.append(("refresh", .raw(pick(["true", "false"])))) }
      guard operation == "get" else {
        if once(in: 3) {
          members.append(("kind", .string(pick(["developer", "id", "access", "refresh"]))))
        }
        break
      }
      if once(in: 4) { members.append(("user", .string(accountName()))) }
    case "login": members += signIn()
    case "respond": members += respond()
    case "account": members += account()
    case "logout":
      for name in ["global", "revoke", "sso"] where once(in: 2) {
        members.append((name, .raw(pick(["true", "false"]))))
      }
    case "clear":
      members.append(("what", .string(pick(["credentials", "identity", "identity", "all"]))))
    case "check":
      if once(in: 2) { members.append(("all", .raw(pick(["true", "false", "1"])))) }
    case "status":
      for name in ["all", "profiles"] where once(in: 2) {
        members.append((name, .raw(pick(["true", "false"]))))
      }
      if once(in: 3) {
        members.append(("limit", .raw(pick(["1", "1000", "1001", "0", "-1", "400"]))))
      }
      if once(in: 3) {
        let uid = once(in: 8) ? pick(["4294967296", "+1", "", "-1"]) : "\(number(70_000))"
        members.append(("after", .string(uid + "/" + profileName())))
      }
    default: break
    }
    return members
  }

  private mutating func seconds(_ most: Int) -> JSONText {
    .raw(
      once(in: 4)
        ? pick([
          "-0", "0", "\(most)", "\(most).0001", "\(most + 1)", "-1", "1e1", "0.0004", "0.0005",
        ])
        : "\(number(most)).\(number(10_000))")
  }

  mutating func profileName() -> String {
    switch number(8) {
    case 0:
      pick(["", "a b", "é", "../x", "a\u{0}", "w\u{FF0E}k", String(repeating: "p", count: 65)])
    case 1: String(repeating: "p", count: 64)
    default: text("abcWORK09._-", 1...12)
    }
  }

  mutating func accountName() -> String {
    switch number(8) {
    case 0: pick(["", "a:b", String(repeating: "u", count: 257), "a\u{0}b"])
    case 1: pick(["zoë", "domain users", "CORP\\al", String(repeating: "u", count: 256)])
    default: text("abcdef09-_", 1...10)
    }
  }
}

// MARK: login

extension Dice {
  private mutating func signIn() -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = []
    for _ in 0..<(once(in: 12) ? 2 : 1) {
      switch number(6) {
      case 0: break
      case 5: members.append(("username", .string(accountName())))
      case 1:
        members += [
          ("username", .string(accountName())),
          (
            "password",
            .string(pick(["p", "p\"w\\\n", "", "päss", String(repeating: "p", count: 4097)]))
          ),
        ]
        if once(in: 3) { members.append(("logins", logins())) }
      case 2, 3:
        members += [("identity_id", .string(identityID())), ("token", .string(token()))]
      default:
        members.append(("logins", logins()))
        if once(in: 3) { members.append(("identity_id", .string(identityID()))) }
        if once(in: 3) { members.append(("alone", .raw(pick(["true", "false"])))) }
      }
    }
    if once(in: 4) {
      members.append(
        (
          "custom_role_arn",
          .string(
            pick(["arn:aws:iam::123456789012:role/x", "arn:x", "arn:aws:iam::1:role/a b c d"]))
        ))
    }
    for key in ["client_metadata", "validation_data"] where once(in: 6) {
      members.append((key, metadata(key)))
    }
    return members
  }

  private mutating func metadata(_ prefix: String) -> JSONText {
    let texts: [(name: String, value: JSONText)] = (0..<number(once(in: 8) ? 70 : 4)).map {
      (
        once(in: 20) ? "" : once(in: 10) ? "same" : "\(prefix)-\($0)",
        once(in: 12) ? anyJSON(levels: 1) : .string("v")
      )
    }
    return disturbed(texts, once: 8)
  }

  private mutating func respond() -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = []
    let handle = once(in: 8) ? pick(Self.oddTexts) : text("0123456789abcdef", 32...32)
    members.append(("handle", .string(once(in: 12) ? handle.uppercased() : handle)))
    switch number(4) {
    case 0: members.append(("wait", seconds(300)))
    case 1: members.append(("cancel", .raw(pick(["true", "true", "false", "1"]))))
    default:
      var answers: [(name: String, value: JSONText)] = [
        (pick(["code", "password", "choice", "answer", "new"]), .string(pick(Self.oddTexts)))
      ]
      if once(in: 3) {
        let attributes: [(name: String, value: JSONText)] = [
          ("given_name", .string("A")),
          ("custom:x", once(in: 4) ? anyJSON(levels: 1) : .string("")),
        ]
        answers.append(("attributes", disturbed(attributes, once: 6)))
      }
      members.append(("answers", disturbed(answers, once: 8)))
    }
    if once(in: 4) { members.append(("client_metadata", metadata("m"))) }
    if once(in: 16) { members.append(("wait", seconds(300))) }
    return members
  }

  private static let actions: [String: [String]] = [
    "sign-up": ["username", "password", "attributes"], "confirm": ["username", "code"],
    "resend": ["username"], "forgot-password": ["username"],
    "reset-password": ["username", "code", "password"], "get": [], "delete": [],
    "change-password": ["old_password", "password"], "set-attributes": ["attributes"],
    "verify-attribute": ["name", "code"], "delete-attributes": ["names"],
    "mfa": ["preferred", "enabled"], "totp": ["code", "name"], "devices": ["after"],
    "remember-device": ["device", "remembered"], "forget-device": ["device"],
    "sessions": ["after"], "end-session": ["session"], "sign up": [],
  ]

  private mutating func account() -> [(name: String, value: JSONText)] {
    let action = pick(Self.actions.keys.sorted())
    var members: [(name: String, value: JSONText)] = [("action", .string(action))]
    for key in Self.actions[action] ?? [] where !once(in: 10) { members.append((key, value(key))) }
    if once(in: 8) {
      let key = pick(["code", "names", "device", "session", "enabled", "password"])
      if !members.contains(where: { $0.name == key }) { members.append((key, value(key))) }
    }
    for key in ["client_metadata", "validation_data"] where once(in: 6) {
      members.append((key, metadata(key)))
    }
    return members
  }

  private mutating func value(_ key: String) -> JSONText {
    let factors = ["SMS_MFA", "SOFTWARE_TOKEN_MFA", "EMAIL_OTP", "sms"]
    switch key {
    case "username": return .string(accountName())
    case "attributes":
      let attributes: [(name: String, value: JSONText)] = (0..<number(once(in: 8) ? 60 : 4)).map {
        ("custom:\($0)", .string(once(in: 12) ? String(repeating: "a", count: 2049) : "v"))
      }
      return disturbed(attributes, once: 6)
    case "names":
      return .raw(pick([#"["email"]"#, #"["a","b"]"#, "[]", "[1]", #""email""#]))
    case "enabled":
      return .raw(
        "[" + (0..<number(4)).map { _ in #""\#(pick(factors))""# }.joined(separator: ",") + "]")
    case "preferred": return .string(pick(factors + ["none"]))
    case "remembered": return .raw(pick(["true", "false", "1"]))
    case "device":
      return .string(pick(["us-east-1_0123-abc", "us-east-1_", "_0", "a_G", "x"]))
    case "session":
      let letters = String(repeating: "a0", count: 12)
      return .string(
        pick([
          "tkn\(letters)z", "sso\(letters)9", "tkn\(letters)", "abc\(letters)z", "tkn\(letters)Z",
          "",
        ]))
    case "code": return .string(pick(["123456", "123 456", "", "x"]))
    default: return .string(pick(["secret", "", "name"]))
    }
  }

  mutating func logins() -> JSONText {
    let count = once(in: 6) ? pick([0, 10, 11]) : number(in: 1...3)
    let members: [(name: String, value: JSONText)] = (0..<count).map { index in
      (
        once(in: 8)
          ? pick([
            "cognito-identity.amazonaws.com", "https://idp", "a b", "é", "", "cognito-identity",
            String(repeating: "p", count: 129),
          ])
          : pick(["graph.facebook.com", "accounts.google.com", "idp.example.com/x"]) + "\(index)",
        once(in: 12) ? anyJSON(levels: 1) : .string(token())
      )
    }
    return disturbed(members, once: 8)
  }

  mutating func identityID(region: String = "us-east-1") -> String {
    switch number(10) {
    case 0: pick(["us-east-1", ":1", "us east:1", "us-east-1:G", "a:", "us-east-1:1:2", "é:1"])
    case 1: "\(text("ABCz_-09", 1...20)):\(text("0123456789abcdef-", 1...34))"
    case 2: "eu-west-1:\(text("0123456789abcdef", 8...8))"
    default: "\(region):11111111-2222-3333-4444-5555\(text("0123456789abcdef", 8...8))"
    }
  }
}
