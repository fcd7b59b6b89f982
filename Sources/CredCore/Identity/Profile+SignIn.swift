extension Profile {
  /// Why a `login` cannot be meant for this profile; found out before anybody is called.
  public func refusal(of login: LoginRequest) -> ProtocolError? {
    if login.customRoleARN != nil, plan.flow == .basic {
      return ProtocolError(
        .invalidRequest,
        "\"custom_role_arn\" belongs to the enhanced flow, and profile '\(settings.name)' has the "
          + "basic one: its role is role_arn")
    }
    switch login.signIn {
    case .host: return refusalOfHost
    case .password:
      guard plan.backend != .password else { return nil }
      return ProtocolError(
        .invalidRequest, "profile '\(settings.name)' has no backend that takes passwords")
    case .developerToken(let identityID, _):
      guard identityID.region != pool.region else { return nil }
      return ProtocolError(
        .invalidRequest,
        "\"identity_id\" is of region \(identityID.region.quotedForMessage), and the pool of profile "
          + "'\(settings.name)' of \(pool.region)")
    case .logins: return nil
    }
  }

  private var refusalOfHost: ProtocolError? {
    if plan.worksUnattended { return nil }
    guard plan.backend != .password else {
      // By this code a client knows that it should ask the user for one.
      return ProtocolError(.signInRequired, "profile '\(settings.name)' needs a password")
    }
    return ProtocolError(
      .invalidRequest,
      "profile '\(settings.name)' has no backend: \"login\" needs \"identity_id\" with \"token\", or "
        + "\"logins\"")
  }
}
