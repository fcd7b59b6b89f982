/// The actions of `account` that a user pool allows.
extension UserPoolSettings {
  public func refusal(of input: AccountInput, at backend: String) -> ProtocolError? {
    guard accountActions.contains(input.action) else {
      return ProtocolError(
        .accessDenied,
        "\(backend) does not allow the action \(input.action.rawValue.quoted): see account_actions")
    }
    return input.refusalByAnyPool
  }
}

extension AccountInput {
  /// The refusal of an action that any user pool would refuse, so that credd need not ask.
  fileprivate var refusalByAnyPool: ProtocolError? {
    do throws(InvalidInput) {
      try check()
      return nil
    } catch {
      return .invalid("\(error.field) \(error.reason)")
    }
  }

  private func check() throws(InvalidInput) {
    if let username { _ = try UserPoolInput.username(username) }
    switch self {
    case .signUp(let signUp):
      _ = try UserPoolInput.password(signUp.password)
      for attribute in signUp.attributes { _ = try UserPoolInput.attribute(attribute) }
    case .confirm(_, let code): _ = try UserPoolInput.code(code)
    case .resend, .forgotPassword: break
    case .resetPassword(_, let code, let password):
      _ = (try UserPoolInput.code(code), try UserPoolInput.password(password))
    case .own(let input): try Self.check(input)
    }
  }

  private static func check(_ input: OwnAccountInput) throws(InvalidInput) {
    switch input {
    case .changePassword(let old, let new):
      _ = (try UserPoolInput.password(old), try UserPoolInput.password(new))
    case .setAttributes(let attributes):
      guard !attributes.isEmpty else {
        throw InvalidInput(field: "attributes", reason: "are none")
      }
      for attribute in attributes { _ = try UserPoolInput.attribute(attribute) }
    case .verifyAttribute(let name, let code):
      _ = try UserPoolInput.attributeName(name)
      if let code { _ = try UserPoolInput.code(code) }
    case .deleteAttributes(let names):
      for name in names { _ = try UserPoolInput.attributeName(name) }
    case .totp(let code, let name):
      if let code { _ = try UserPoolInput.code(code) }
      if let name {
        _ = try UserPoolInput.text(Secret(name), "name", 1...Limits.UserPool.deviceNameLength)
      }
    case .get, .mfa, .devices, .rememberDevice, .forgetDevice, .sessions, .endSession, .delete:
      break
    }
  }
}
