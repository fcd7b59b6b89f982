extension AccountRequest {
  init(_ object: RequestObject) throws(ProtocolError) {
    let names = AccountAction.allCases.map(\.rawValue)
    guard let text = try object.text("action") else {
      throw .invalid(#""account" needs "action", such as "sign-up""#)
    }
    guard let action = AccountAction(rawValue: text) else {
      throw .invalid(
        "unknown action \(text.quoted)"
          + (NearestName.of(text, in: names).map { #", did you mean "\#($0)"?"# } ?? ""))
    }
    let profile = try object.profile()
    try object.checkKeys(
      among: OperationName.keysOfEvery + ["profile", "action"] + action.keys,
      of: "action \(text.quoted)")
    let (metadata, validationData) = try object.triggerTexts()
    let input = try AccountInput(action, object)
    if case .own(.verifyAttribute(_, code: _?)) = input, metadata != nil {
      // VerifyUserAttribute takes none.
      throw .invalid(
        #"action "verify-attribute" with a "code" takes no "client_metadata": no trigger gets it"#)
    }
    self.init(
      profile: profile, input: input, metadata: metadata, validationData: validationData)
  }
}

extension AccountAction {
  /// Its keys, with those for the triggers that a user pool runs for it.
  var keys: [String] {
    switch self {
    case .signUp: ownKeys + ["client_metadata", "validation_data"]
    case .confirm, .resend, .forgotPassword, .resetPassword, .setAttributes, .verifyAttribute:
      ownKeys + ["client_metadata"]
    case .get, .changePassword, .deleteAttributes, .mfa, .totp, .devices, .rememberDevice,
      .forgetDevice, .sessions, .endSession, .delete:
      ownKeys
    }
  }

  private var ownKeys: [String] {
    switch self {
    case .signUp: ["username", "password", "attributes"]
    case .confirm: ["username", "code"]
    case .resend, .forgotPassword: ["username"]
    case .resetPassword: ["username", "code", "password"]
    case .get, .delete: []
    case .changePassword: ["old_password", "password"]
    case .setAttributes: ["attributes"]
    case .verifyAttribute: ["name", "code"]
    case .deleteAttributes: ["names"]
    case .mfa: ["preferred", "enabled"]
    case .totp: ["code", "name"]
    case .devices, .sessions: ["after"]
    case .rememberDevice: ["device", "remembered"]
    case .forgetDevice: ["device"]
    case .endSession: ["session"]
    }
  }
}

extension AccountInput {
  fileprivate init(_ action: AccountAction, _ object: RequestObject) throws(ProtocolError) {
    switch action {
    case .signUp:
      self = .signUp(
        SignUp(
          username: try object.username(), password: try object.password(),
          attributes: try object["attributes"].map {
            (value: JSONValue) throws(ProtocolError) -> [NamedSecret] in
            try RequestObject.attributes(value, upTo: Limits.Upstream.attributeBytes)
          } ?? []))
    case .confirm:
      self = .confirm(username: try object.username(), code: try object.code())
    case .resend: self = .resend(username: try object.username())
    case .forgotPassword: self = .forgotPassword(username: try object.username())
    case .resetPassword:
      self = .resetPassword(
        username: try object.username(), code: try object.code(),
        password: try object.password())
    case .get, .changePassword, .setAttributes, .verifyAttribute, .deleteAttributes, .mfa, .totp,
      .devices, .rememberDevice, .forgetDevice, .sessions, .endSession, .delete:
      self = .own(try OwnAccountInput(action, object))
    }
  }
}

extension OwnAccountInput {
  fileprivate init(_ action: AccountAction, _ object: RequestObject) throws(ProtocolError) {
    switch action {
    case .changePassword:
      self = .changePassword(
        from: try object.password("old_password"), to: try object.password())
    case .setAttributes:
      guard let value = object["attributes"] else {
        throw .invalid(#"action "set-attributes" needs "attributes""#)
      }
      self = .setAttributes(
        try RequestObject.attributes(value, upTo: Limits.UserPool.attributeBytes))
    case .verifyAttribute:
      guard let name = try object.text("name") else {
        throw .invalid(#"action "verify-attribute" needs the "name" of an attribute"#)
      }
      self = .verifyAttribute(name, code: try object.codeIfGiven())
    case .deleteAttributes: self = .deleteAttributes(try object.names())
    case .mfa: self = .mfa(try MFAChoice(object))
    case .totp: self = .totp(code: try object.codeIfGiven(), name: try object.text("name"))
    case .devices: self = .devices(after: try object.text("after"))
    case .rememberDevice:
      self = .rememberDevice(
        try object.device(), try object.flag("remembered", standard: true))
    case .forgetDevice: self = .forgetDevice(try object.device())
    case .sessions: self = .sessions(after: try object.text("after"))
    case .endSession: self = .endSession(try object.session())
    case .delete: self = .delete
    case .get: self = .get
    case .signUp, .confirm, .resend, .forgotPassword, .resetPassword:
      preconditionFailure("the action is not about the own account")
    }
  }
}

extension MFAChoice {
  fileprivate init(_ object: RequestObject) throws(ProtocolError) {
    var factors: [MFAFactor]?
    if let value = object["enabled"] {
      guard case .array(let elements) = value, elements.count <= MFAFactor.allCases.count else {
        throw .invalid("\"enabled\" must be a list of \(MFAFactor.names)")
      }
      var chosen: [MFAFactor] = []
      for element in elements { chosen.append(try MFAFactor.named(element.text, "enabled")) }
      factors = chosen
    }
    var preferred: MFAFactor??
    if let name = try object.text("preferred") {
      preferred = .some(name == "none" ? nil : try MFAFactor.named(name, "preferred"))
    }
    guard factors != nil || preferred != nil else {
      throw .invalid(#"action "mfa" needs "enabled", "preferred" or both"#)
    }
    if let factors, case .some(.some(let first)) = preferred, !factors.contains(first) {
      throw .invalid(#""preferred" must be among "enabled""#)
    }
    self.init(enabled: factors, preferred: preferred)
  }
}

extension MFAFactor {
  fileprivate static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  fileprivate static func named(
    _ name: String?, _ key: String
  ) throws(ProtocolError) -> MFAFactor {
    guard let factor = name.flatMap({ MFAFactor(rawValue: $0) }) else {
      throw .invalid(
        "\"\(key)\" takes \(names)" + (name.map { ", not \($0.quoted)" } ?? ""))
    }
    return factor
  }
}

extension RequestObject {
  fileprivate func code() throws(ProtocolError) -> Secret {
    guard let code = try codeIfGiven() else { throw .invalid(#""code" is missing"#) }
    return code
  }

  fileprivate func codeIfGiven() throws(ProtocolError) -> Secret? {
    guard let value = self["code"] else { return nil }
    guard let code = value.secret, (1...4 * Limits.UserPool.codeLength).contains(code.count) else {
      throw .invalid("\"code\" must be a string of 1 to \(Limits.UserPool.codeLength) characters")
    }
    return code
  }

  fileprivate func device() throws(ProtocolError) -> String? {
    guard let key = try text("device") else { return nil }
    do { return try DeviceKey.checked(key) } catch {
      throw .invalid("\"device\" \(error.reason): 'devices' lists them")
    }
  }

  fileprivate func session() throws(ProtocolError) -> TrackedSessionID {
    guard let text = try text("session") else {
      throw .invalid(#"action "end-session" needs "session": 'sessions' lists them"#)
    }
    do { return try TrackedSessionID(text) } catch {
      throw .invalid("\"session\" \(error.reason): 'sessions' lists them")
    }
  }

  fileprivate func names() throws(ProtocolError) -> [String] {
    guard case .array(let elements)? = self["names"],
      (1...Limits.Upstream.accountAttributes).contains(elements.count)
    else {
      throw .invalid(
        "\"names\" must be a list of 1 to \(Limits.Upstream.accountAttributes) attributes")
    }
    var names: [String] = []
    for element in elements {
      guard let name = element.text else {
        throw .invalid("\"names\" must be a list of texts")
      }
      names.append(name)
    }
    return names
  }

  /// Texts by the names of attributes.
  ///
  /// - Parameter longest: the most bytes of a text.
  static func attributes(
    _ value: JSONValue, upTo longest: Int
  ) throws(ProtocolError) -> [NamedSecret] {
    guard case .object(let members) = value, members.count <= Limits.Upstream.accountAttributes
    else {
      throw .invalid(
        "\"attributes\" must be an object of at most \(Limits.Upstream.accountAttributes) texts")
    }
    var attributes: [NamedSecret] = []
    for member in members {
      let named = "attribute \(member.key.quoted) at byte \(member.keyOffset)"
      guard (1...Limits.Upstream.attributeNameBytes).contains(member.key.utf8.count),
        member.key.utf8.allSatisfy(\.isVisible)
      else {
        throw .invalid(
          "\(named) must have a name of 1 to \(Limits.Upstream.attributeNameBytes) printable "
            + "ASCII characters")
      }
      guard let text = member.value.secret, text.count <= longest else {
        throw .invalid(
          "\(named) must be a string of at most \(longest) bytes")
      }
      attributes.append(NamedSecret(name: member.key, value: text))
    }
    return attributes
  }
}
