/// Profiles without an identity pool. Users sign in at their provider, and programs get its tokens alone.
extension Profile {
  /// Why it gives no credentials; nil where it does.
  public var refusalOfCredentials: ProtocolError? {
    guard plan.givesTokensAlone else { return nil }
    return .invalid(
      "profile '\(settings.name)' has no identity_pool_id, and so no credentials: ask for a token, as "
        + "'credctl token --profile \(settings.name)' does (operation \"token\")")
  }

  /// What a `login` can only have for an identity pool; nil where it has nothing of that.
  func refusalWithoutPool(of login: LoginRequest) -> ProtocolError? {
    guard plan.givesTokensAlone || directRole != nil else { return nil }
    if login.customRoleARN != nil { return needsPool("custom_role_arn") }
    switch login.signIn {
    case .logins: return needsPool("logins")
    case .developerToken: return needsPool("identity_id")
    case .host, .username, .password, .browser, .device, .providerTokens: return nil
    }
  }

  private func needsPool(_ key: String) -> ProtocolError {
    .invalid(
      "\(key.quoted) is for an identity pool, and profile '\(settings.name)' has none: it gives "
        + (directRole == nil ? "its provider's tokens alone" : "the role of its role_arn"))
  }
}
