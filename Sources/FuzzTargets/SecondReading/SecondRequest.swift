import CredCore

/// The second reading of a request line, from the tables of credd-protocol(7). It collects every
/// problem, where the daemon names the first.
struct SecondRequest {
  /// The keys of each operation, besides `op` and `id`.
  private static let operations: [String: Set<String>] = [
    "get": ["profile", "min_ttl", "refresh", "wait", "user"],
    "token": ["profile", "min_ttl", "refresh", "wait"],
    "identity": ["profile"],
    "login": [
      "profile", "username", "password", "identity_id", "token", "logins", "custom_role_arn",
    ],
    "logout": ["profile", "global", "revoke"],
    "clear": ["profile", "what"],
    "release": ["profile"],
    "status": ["all"],
    "watch": ["profile"],
    "ping": [],
  ]

  let members: [String: SecondJSON]
  /// Codes that a refusal may have; none if the line is a request.
  private(set) var problems: Set<ProtocolErrorCode> = []
  private(set) var id: SecondJSON?
  private(set) var purpose: String?
  private(set) var operation: Operation?

  init(_ value: SecondJSON?) {
    members = value?.object ?? [:]
    guard value?.object != nil else {
      problem()
      return
    }
    readID()
    purpose = text("purpose")
    if let purpose, !SecondRules.isVisible(purpose.replacing(" ", with: "_"), 1...128) { problem() }
    guard let name = members["op"] == nil ? "get" : text("op") else { return }
    guard let keys = Self.operations.first(where: { $0.key.utf8.elementsEqual(name.utf8) })?.value
    else {
      problem(.unknownOperation)
      return
    }
    let known = keys.union(["op", "id", "purpose"]).map { Array($0.utf8) }
    if !members.keys.allSatisfy({ known.contains(Array($0.utf8)) }) { problem() }
    operation = operation(name)
    if !problems.isEmpty { operation = nil }
  }

  private mutating func problem(_ code: ProtocolErrorCode = .invalidRequest) {
    problems.insert(code)
  }

  private mutating func readID() {
    switch members["id"] {
    case nil: break
    case .string(let text)? where text.utf8.count <= 256: id = .string(text)
    case .number(let number)?: id = .number(number)
    default: problem()
    }
  }

  private mutating func text(_ key: String) -> String? {
    guard let value = members[key] else { return nil }
    if value.text == nil { problem() }
    return value.text
  }

  private mutating func flag(_ key: String, standard: Bool = false) -> Bool {
    guard let value = members[key] else { return standard }
    if value.bool == nil { problem() }
    return value.bool ?? standard
  }

  private mutating func seconds(_ key: String, upTo most: Double) -> Duration? {
    guard let value = members[key] else { return nil }
    guard let number = value.number, number >= 0, number <= most else {
      problem()
      return nil
    }
    return .milliseconds(Int64((number * 1000).rounded()))
  }

  private mutating func profile() -> String {
    guard members["profile"] != nil, let name = text("profile") else { return "default" }
    if !SecondRules.isProfileName(name) { problem(.unknownProfile) }
    return name
  }

  private mutating func operation(_ name: String) -> Operation {
    switch name {
    case "get":
      let user = text("user")
      if let user, !(1...256).contains(user.utf8.count) || user.contains(":") { problem() }
      return .get(
        GetRequest(
          profile: profile(), minTTL: seconds("min_ttl", upTo: 43_200), refresh: flag("refresh"),
          wait: seconds("wait", upTo: 300) ?? .seconds(5), user: user))
    case "token":
      return .token(
        TokenRequest(
          profile: profile(), minTTL: seconds("min_ttl", upTo: 43_200), refresh: flag("refresh"),
          wait: seconds("wait", upTo: 300) ?? .seconds(5)))
    case "identity": return .identity(profile: profile())
    case "login": return login()
    case "logout":
      return .logout(
        profile: profile(), global: flag("global"), revoke: flag("revoke", standard: true))
    case "clear":
      let what = text("what")
      if what != "credentials", what != "identity" { problem() }
      return .clear(profile: profile(), what == "identity" ? .identity : .credentials)
    case "release": return .release(profile: profile())
    case "status": return .status(all: flag("all"))
    case "watch": return .watch(profile: members["profile"] == nil ? nil : profile())
    default: return .ping
    }
  }
}

// MARK: login

extension SecondRequest {
  private mutating func login() -> Operation {
    let role = text("custom_role_arn")
    if let role, !role.hasPrefix("arn:") || !SecondRules.isVisible(role, 20...2048) { problem() }
    for (one, other) in [("username", "password"), ("identity_id", "token")]
    where (members[one] == nil) != (members[other] == nil) { problem() }
    let means = ["username", "identity_id", "logins"].filter { members[$0] != nil }
    if means.count > 1 { problem() }
    let signIn: SignInInput =
      switch means.first {
      case "username": password()
      case "identity_id": developerToken()
      case "logins": logins()
      default: .host
      }
    return .login(LoginRequest(profile: profile(), signIn: signIn, customRoleARN: role))
  }

  private mutating func password() -> SignInInput {
    let (username, password) = (text("username") ?? "", text("password") ?? "")
    let hasControl = username.unicodeScalars.contains { $0.properties.generalCategory == .control }
    if !(1...1024).contains(username.unicodeScalars.count) || hasControl { problem() }
    if !(1...4096).contains(password.utf8.count) { problem() }
    return .password(username: username, password: Secret(password))
  }

  private mutating func developerToken() -> SignInInput {
    let (identity, token) = (text("identity_id") ?? "", text("token") ?? "")
    if !SecondRules.isIdentityID(identity) || !SecondRules.isToken(token) { problem() }
    guard let id = try? IdentityID(identity), let developer = try? DeveloperToken(Secret(token))
    else {
      problem()
      return .host
    }
    return .developerToken(identityID: id, token: developer)
  }

  private mutating func logins() -> SignInInput {
    guard let given = members["logins"]?.object, (1...10).contains(given.count) else {
      problem()
      return .host
    }
    var map = LoginsMap()
    for (provider, value) in given {
      let isDeveloper =
        provider.hasPrefix("cognito-identity.") || provider.hasPrefix("cognito-identity-")
      guard let token = value.text, SecondRules.isToken(token),
        SecondRules.isVisible(provider, 1...128), !provider.contains("://"), !isDeveloper,
        (try? map.set(provider, token: Secret(token))) != nil
      else {
        problem()
        continue
      }
    }
    return .logins(map)
  }
}

extension Operation {
  /// The same operation with its logins in the order of their names: the order of a second reading
  /// is none.
  var inOrder: Operation {
    guard case .login(var login) = self, case .logins(let map) = login.signIn else { return self }
    var sorted = LoginsMap()
    for entry in map.logins.sorted(by: { $0.provider < $1.provider }) {
      try? sorted.set(entry.provider, token: entry.token)
    }
    login.signIn = .logins(sorted)
    return .login(login)
  }
}
