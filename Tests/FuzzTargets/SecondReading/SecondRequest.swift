import CredCore

/// The second reading of a request line, from the tables of credd-protocol(7). It collects every
/// problem, where the daemon names the first.
struct SecondRequest {
  /// The keys of each operation, besides `op` and `id`.
  private static let operations: [String: Set<String>] = [
    "get": ["profile", "min_ttl", "refresh", "wait", "user"],
    "token": ["profile", "min_ttl", "refresh", "wait", "kind"],
    "identity": ["profile"],
    "login": [
      "profile", "username", "password", "identity_id", "token", "logins", "alone",
      "custom_role_arn", "client_metadata", "validation_data", "browser", "device",
    ],
    "respond": ["handle", "answers", "wait", "cancel", "client_metadata"],
    "account": [
      "profile", "action", "username", "password", "attributes", "code", "old_password", "name",
      "names", "preferred", "enabled", "after", "device", "remembered", "session",
      "client_metadata", "validation_data",
    ],
    "logout": ["profile", "global", "revoke", "sso"],
    "clear": ["profile", "what"],
    "release": ["profile"],
    "status": ["all", "profiles", "limit", "after"],
    "watch": ["profile"],
    "endpoint": ["profile"],
    "metrics": [],
    "check": ["profile", "all"],
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

  mutating func problem(_ code: ProtocolErrorCode = .invalidRequest) {
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

  private mutating func status() -> Operation {
    var status = StatusRequest(all: flag("all"), profiles: flag("profiles"))
    if let value = members["limit"] {
      let limit = value.number ?? 0
      if !(1...1000).contains(limit) || limit != limit.rounded() { problem() }
      status.limit = Int(min(max(limit, 1), 1000))
    }
    if let text = text("after") {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      let uid = parts.first.flatMap { UInt32($0) }
      if parts.count == 2, SecondRules.isMade(parts[0], of: SecondRules.digits, 1...Int.max),
        SecondRules.isProfileName(parts[1]), let uid
      {
        status.after = SessionCursor(uid: uid, profile: parts[1])
      } else {
        problem()
      }
    }
    return .status(status)
  }

  mutating func text(_ key: String) -> String? {
    guard let value = members[key] else { return nil }
    if value.text == nil { problem() }
    return value.text
  }

  mutating func flag(_ key: String, standard: Bool = false) -> Bool {
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

  mutating func profile() -> String {
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
          wait: seconds("wait", upTo: 300) ?? .seconds(5), kind: kind()))
    case "identity": return .identity(profile: profile())
    case "login": return login()
    case "respond": return respond()
    case "account": return account()
    case "logout":
      let logout = LogoutRequest(
        profile: profile(), global: flag("global"), revoke: flag("revoke", standard: true),
        sso: flag("sso"))
      if logout.sso, !logout.revoke { problem() }
      return .logout(logout)
    case "clear":
      let what = text("what")
      if what != "credentials", what != "identity" { problem() }
      return .clear(profile: profile(), what == "identity" ? .identity : .credentials)
    case "release": return .release(profile: profile())
    case "status": return status()
    case "metrics": return .metrics
    case "check":
      let name = profile()
      let isForAll = flag("all")
      if isForAll, members["profile"] != nil { problem() }
      return .check(profile: isForAll ? nil : name)
    case "endpoint": return .endpoint(profile: profile())
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
    let has = { [members] (key: String) in members[key] != nil }
    if has("password") && !has("username") { problem() }
    if has("token") && !has("identity_id") || has("identity_id") && !has("token") && !has("logins")
    {
      problem()
    }
    if has("alone") && !has("logins") { problem() }
    var means = ["username", "token", "logins"].filter(has)
    if has("username"), has("identity_id") { means.append("identity_id") }
    let isLinking = means == ["username", "logins"] && has("password") && !has("alone")
    if isLinking { means = ["username"] }
    let elsewhere = ["browser", "device"].filter(has)
    if elsewhere.count > 1 || !elsewhere.isEmpty && (!means.isEmpty || has("alone")) { problem() }
    means = elsewhere + means
    if means.count > 1 { problem() }
    let signIn: SignInInput =
      switch means.first {
      case "username": has("password") ? password(isLinking: isLinking) : .username(username())
      case "token": developerToken()
      case "logins": logins()
      case "browser": browser()
      case "device": device()
      default: .host
      }
    var login = LoginRequest(profile: profile(), signIn: signIn, customRoleARN: role)
    (login.metadata, login.validationData) = triggerTexts()
    return .login(login)
  }

  /// Both together have 64 texts at most, and no name twice.
  mutating func triggerTexts() -> (ClientMetadata?, ClientMetadata?) {
    let texts = (metadata("client_metadata"), metadata("validation_data"))
    let names = ["client_metadata", "validation_data"].flatMap {
      Array((members[$0]?.object ?? [:]).keys)
    }
    if names.count > 64 || Set(names).count < names.count { problem() }
    return texts
  }

  private mutating func device() -> SignInInput {
    if !flag("device") { problem() }
    return .device
  }

  private mutating func browser() -> SignInInput {
    if members["browser"]?.object == nil { problem() }
    let given = members["browser"]?.object ?? [:]
    let known = ["redirect_uri", "identity_provider", "prompt", "scopes"].map { Array($0.utf8) }
    if !given.keys.allSatisfy({ known.contains(Array($0.utf8)) }) { problem() }
    var login = BrowserLogin()
    login.redirectURI = shortText(given["redirect_uri"], upTo: 1024)
    login.identityProvider = shortText(given["identity_provider"], upTo: 1024)
    if let word = shortText(given["prompt"], upTo: 1024) {
      login.prompt =
        ["login", "select_account", "consent"].contains(word)
        ? AuthorizationRequest.Prompt(rawValue: word) : nil
      if login.prompt == nil { problem() }
    }
    if let value = given["scopes"] {
      var words: [SecondJSON] = []
      if case .array(let elements) = value { words = elements } else { problem() }
      if words.count > 64 { problem() }
      login.scopes = words.compactMap { shortText($0, upTo: 256) }
    }
    return .browser(login)
  }

  private mutating func shortText(_ value: SecondJSON?, upTo most: Int) -> String? {
    guard let value else { return nil }
    guard let text = value.text, (1...most).contains(text.utf8.count) else {
      problem()
      return nil
    }
    return text
  }

  mutating func username() -> String {
    let username = text("username") ?? ""
    let hasControl = username.unicodeScalars.contains { $0.properties.generalCategory == .control }
    if !(1...1024).contains(username.unicodeScalars.count) || hasControl { problem() }
    return username
  }

  /// Texts by names, in the order of the names.
  private mutating func metadata(_ key: String) -> ClientMetadata? {
    guard let value = members[key] else { return nil }
    var entries: [(name: String, value: Secret)] = []
    guard let given = value.object, given.count <= 64 else {
      problem()
      return nil
    }
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      guard let text = value.text, !name.isEmpty, name.utf8.count + text.utf8.count <= 131_072
      else {
        problem()
        continue
      }
      entries.append((name, Secret(text)))
    }
    guard let metadata = try? ClientMetadata(entries) else {
      problem()
      return nil
    }
    return metadata
  }

  mutating func password(isLinking: Bool = false) -> SignInInput {
    let (username, password) = (username(), text("password") ?? "")
    if !(1...4096).contains(password.utf8.count) { problem() }
    return .password(
      username: username, password: Secret(password), linking: isLinking ? map() : LoginsMap())
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

  private mutating func map() -> LoginsMap {
    guard let given = members["logins"]?.object, (1...10).contains(given.count) else {
      problem()
      return LoginsMap()
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
    return map
  }

  private mutating func logins() -> SignInInput {
    let map = map()
    let chosen = text("identity_id")
    let identity = chosen.flatMap { try? IdentityID($0) }
    if let chosen, identity == nil || !SecondRules.isIdentityID(chosen) { problem() }
    return .logins(map, identityID: identity, isAlone: flag("alone"))
  }
}

// MARK: respond

extension SecondRequest {
  private mutating func respond() -> Operation {
    let handle = text("handle")
    if handle == nil { problem() }
    let isHandle = SecondRules.isMade(handle ?? "", of: "0123456789abcdef", 32...32)
    if !isHandle { problem(.unknownChallenge) }
    if ["answers", "wait", "cancel"].count(where: { members[$0] != nil }) != 1 { problem() }
    var input = RespondInput.cancel
    if members["answers"] != nil { input = .answers(answers()) }
    if let wait = seconds("wait", upTo: 300) { input = .wait(wait) }
    if members["cancel"] != nil, !flag("cancel") { problem() }
    let metadata = metadata("client_metadata")
    guard isHandle, let known = ChallengeHandle(handle ?? "") else { return .ping }
    return .respond(RespondRequest(known, input, metadata: metadata))
  }

  private mutating func answers() -> ChallengeAnswers {
    guard let given = members["answers"]?.object, given.count <= 8 else {
      problem()
      return ChallengeAnswers([])
    }
    var texts: [NamedSecret] = []
    var known: [NamedSecret]?
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      if name.utf8.elementsEqual("attributes".utf8) {
        known = attributes(value, upTo: 8192)
      } else if name.utf8.elementsEqual("confirm".utf8), let word = value.bool {
        texts.append(NamedSecret(name: name, value: Secret("\(word)")))
      } else if let text = value.text {
        texts.append(NamedSecret(name: name, value: Secret(text)))
      } else {
        problem()
      }
    }
    return ChallengeAnswers(texts, attributes: known)
  }
}

extension SecondRequest {
  private mutating func kind() -> TokenKind? {
    guard let name = text("kind") else { return nil }
    let kinds: [String: TokenKind] = ["developer": .developer, "id": .id, "access": .access]
    if kinds[name] == nil { problem() }
    return kinds[name]
  }
}

extension SecondRequest {
  mutating func attributes(_ value: SecondJSON, upTo most: Int) -> [NamedSecret] {
    guard let given = value.object, given.count <= 50 else {
      problem()
      return []
    }
    var attributes: [NamedSecret] = []
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      guard SecondRules.isVisible(name, 1...64), let text = value.text, text.utf8.count <= most
      else {
        problem()
        continue
      }
      attributes.append(NamedSecret(name: name, value: Secret(text)))
    }
    return attributes
  }
}

extension Operation {
  /// The same operation with its logins and attributes in the order of their names: a second reading
  /// has no order.
  var inOrder: Operation {
    switch self {
    case .login(var login):
      login.metadata = login.metadata?.inOrder
      login.validationData = login.validationData?.inOrder
      switch login.signIn {
      case .logins(let map, let identityID, let isAlone):
        login.signIn = .logins(map.inOrder, identityID: identityID, isAlone: isAlone)
      case .password(let username, let password, let map):
        login.signIn = .password(username: username, password: password, linking: map.inOrder)
      default: break
      }
      return .login(login)
    case .respond(var respond):
      respond.metadata = respond.metadata?.inOrder
      if case .answers(let answers) = respond.input {
        respond.input = .answers(
          ChallengeAnswers(
            answers.texts.sorted { $0.name < $1.name },
            attributes: answers.attributes?.sorted { $0.name < $1.name }))
      }
      return .respond(respond)
    case .account(var account):
      account.metadata = account.metadata?.inOrder
      account.validationData = account.validationData?.inOrder
      switch account.input {
      case .signUp(let signUp):
        account.input = .signUp(
          SignUp(
            username: signUp.username, password: signUp.password,
            attributes: signUp.attributes.sorted { $0.name < $1.name }))
      case .own(.setAttributes(let attributes)):
        account.input = .own(.setAttributes(attributes.sorted { $0.name < $1.name }))
      default: break
      }
      return .account(account)
    default: return self
    }
  }
}

extension LoginsMap {
  fileprivate var inOrder: LoginsMap {
    (try? LoginsMap(logins.sorted { $0.provider < $1.provider }.map { ($0.provider, $0.token) }))
      ?? self
  }
}

extension ClientMetadata {
  fileprivate var inOrder: ClientMetadata {
    (try? ClientMetadata(entries.sorted { $0.name < $1.name })) ?? self
  }
}
