import CredCore

/// The second reading of `account`: the table of its actions in credd-protocol(7).
extension SecondRequest {
  private static let keys: [String: Set<String>] = [
    "sign-up": ["username", "password", "attributes", "client_metadata", "validation_data"],
    "confirm": ["username", "code", "client_metadata"],
    "resend": ["username", "client_metadata"], "forgot-password": ["username", "client_metadata"],
    "reset-password": ["username", "code", "password", "client_metadata"], "get": [],
    "change-password": ["old_password", "password"],
    "set-attributes": ["attributes", "client_metadata"],
    "verify-attribute": ["name", "code", "client_metadata"], "delete-attributes": ["names"],
    "mfa": ["preferred", "enabled"], "totp": ["code", "name"], "devices": ["after"],
    "remember-device": ["device", "remembered"], "forget-device": ["device"],
    "sessions": ["after"], "end-session": ["session"], "delete": [],
  ]
  private static let factors: [String: MFAFactor] = [
    "SMS_MFA": .sms, "SOFTWARE_TOKEN_MFA": .app, "EMAIL_OTP": .email,
  ]

  mutating func account() -> Operation {
    let name = text("action") ?? ""
    guard let keys = Self.keys[name] else {
      problem()
      return .ping
    }
    let profile = profile()
    if !keys.union(["op", "id", "purpose", "profile", "action"]).isSuperset(of: members.keys) {
      problem()
    }
    var account = AccountRequest(profile: profile, input: input(name))
    (account.metadata, account.validationData) = triggerTexts()
    let isCodeOfAddress = name == "verify-attribute" && members["code"] != nil
    if isCodeOfAddress, members["client_metadata"] != nil { problem() }
    return .account(account)
  }

  private mutating func input(_ name: String) -> AccountInput {
    switch name {
    case "sign-up":
      let given = members["attributes"].map { self.attributes($0, upTo: 2048) } ?? []
      guard case .password(let user, let password, _) = password() else { return .own(.get) }
      return .signUp(SignUp(username: user, password: password, attributes: given))
    case "confirm": return .confirm(username: username(), code: code() ?? missing())
    case "resend": return .resend(username: username())
    case "forgot-password": return .forgotPassword(username: username())
    case "reset-password":
      guard case .password(let user, let password, _) = password() else { return .own(.get) }
      return .resetPassword(username: user, code: code() ?? missing(), password: password)
    default: return .own(ownInput(name))
    }
  }

  private mutating func ownInput(_ name: String) -> OwnAccountInput {
    switch name {
    case "change-password":
      return .changePassword(from: secret("old_password"), to: secret("password"))
    case "set-attributes":
      guard let value = members["attributes"] else {
        problem()
        return .get
      }
      return .setAttributes(attributes(value, upTo: 8192))
    case "verify-attribute":
      if members["name"] == nil { problem() }
      return .verifyAttribute(text("name") ?? "", code: code())
    case "delete-attributes": return .deleteAttributes(names())
    case "mfa": return .mfa(choice())
    case "totp": return .totp(code: code(), name: text("name"))
    case "devices": return .devices(after: text("after"))
    case "remember-device": return .rememberDevice(device(), flag("remembered", standard: true))
    case "forget-device": return .forgetDevice(device())
    case "sessions": return .sessions(after: text("after"))
    case "end-session": return endSession()
    case "delete": return .delete
    default: return .get
    }
  }

  private mutating func missing() -> Secret {
    problem()
    return Secret("")
  }

  private mutating func secret(_ key: String) -> Secret {
    let text = text(key) ?? ""
    if !(1...4096).contains(text.utf8.count) { problem() }
    return Secret(text)
  }

  private mutating func code() -> Secret? {
    guard let text = text("code") else { return nil }
    if !(1...8192).contains(text.utf8.count) { problem() }
    return Secret(text)
  }

  /// `REGION_UUID`, as Cognito writes it.
  private mutating func device() -> String? {
    guard let key = text("device") else { return nil }
    let parts = key.split(separator: "_", omittingEmptySubsequences: false)
    let isMade =
      parts.count >= 2 && key.utf8.count <= 55 && !key.hasPrefix("_")
      && SecondRules.isMade(String(parts.last ?? ""), of: "0123456789abcdef-", 1...55)
      && key.utf8.allSatisfy {
        let scalar = Unicode.Scalar($0)
        return scalar.isASCII
          && (scalar.properties.isAlphabetic || "0123456789_-".utf8.contains($0))
      }
    if !isMade { problem() }
    return key
  }

  /// `tkn` or `sso` and 25 small letters and digits, as in Cognito's model.
  private mutating func endSession() -> OwnAccountInput {
    let session = text("session") ?? ""
    let isMade =
      (session.hasPrefix("tkn") || session.hasPrefix("sso"))
      && SecondRules.isMade(session, of: "abcdefghijklmnopqrstuvwxyz0123456789", 28...28)
    guard isMade, let id = try? TrackedSessionID(session) else {
      problem()
      return .get
    }
    return .endSession(id)
  }

  private mutating func names() -> [String] {
    guard case .array(let given)? = members["names"], (1...50).contains(given.count) else {
      problem()
      return []
    }
    let names = given.compactMap(\.text)
    if names.count != given.count { problem() }
    return names
  }

  private mutating func choice() -> MFAChoice {
    var enabled: [MFAFactor]?
    if let value = members["enabled"] {
      guard case .array(let given) = value, given.count <= 3 else {
        problem()
        return MFAChoice(enabled: nil, preferred: nil)
      }
      let known = given.compactMap { $0.text.flatMap { Self.factors[$0] } }
      if known.count != given.count { problem() }
      enabled = known
    }
    var preferred: MFAFactor??
    if let name = text("preferred") {
      preferred = .some(Self.factors[name])
      if name != "none", Self.factors[name] == nil { problem() }
      if let enabled, let first = Self.factors[name], !enabled.contains(first) { problem() }
    }
    if members["enabled"] == nil, members["preferred"] == nil { problem() }
    return MFAChoice(enabled: enabled, preferred: preferred)
  }
}
