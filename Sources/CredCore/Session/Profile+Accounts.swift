extension Profile {
  /// Why the profile's backend does not do this action; nil if it may.
  public func refusal(of account: AccountRequest) -> ProtocolError? {
    let action = account.input.action.rawValue
    guard let backend else {
      return ProtocolError(
        .invalidRequest, "profile '\(settings.name)' has no backend, and so no accounts")
    }
    let place = "backend '\(backend.name)' of profile '\(settings.name)'"
    if case .userPool(let pool) = backend.kind {
      guard pool.accountActions.contains(account.input.action) else {
        return ProtocolError(
          .accessDenied,
          "\(place) does not allow the action \(action.quoted): see account_actions")
      }
      return account.input.refusalByAnyPool
    }
    guard case .signUp(let signUp) = account.input else {
      return ProtocolError(.invalidRequest, "\(place) does not offer the action \(action.quoted)")
    }
    return refusal(of: signUp, at: backend, place)
  }

  private func refusal(
    of signUp: SignUp, at backend: BackendSettings, _ place: String
  ) -> ProtocolError? {
    switch backend.kind {
    case .http(let http) where http.registerURL != nil: return nil
    case .awsSample(let sample):
      if !signUp.attributes.isEmpty {
        return ProtocolError(.invalidRequest, "\(place) takes no \"attributes\"")
      }
      // All its other requests are signed or encrypted with the password. This one carries it.
      guard sample.url.isEncrypted || sample.url.isLoopback else {
        return ProtocolError(
          .invalidRequest, "\(place) would get the password in clear: its url is no https:// URL")
      }
      return nil
    case .http, .exec, .cognito, .userPool, .oidc:
      return ProtocolError(
        .invalidRequest,
        "\(place) does not offer the action \"sign-up\": it has no register_url")
    }
  }
}

extension AccountInput {
  /// What any user pool would refuse, said before it is asked.
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
    case .get, .mfa, .devices, .rememberDevice, .forgetDevice, .delete: break
    }
  }
}
