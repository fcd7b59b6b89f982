import FoundationEssentials

/// ForgotPassword, ConfirmForgotPassword and ChangePassword.
extension UserPool {
  mutating func forgotPassword(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    let typed = try nameWithHash(input, client)
    guard let user = find(typed) else {
      guard client.hidesUsers else { throw .unknownUser }
      return ["CodeDeliveryDetails": inventedDelivery(for: typed)]
    }
    guard !user.isDisabled else { throw .disabledUser }
    guard user.status != .mustChangePassword else {
      throw .poolRefused("User password cannot be reset in the current state.")
    }
    let verified = ["email", "phone_number"].first { user.isVerified($0) }
    guard let attribute = verified, let address = user.attributes[attribute] else {
      throw .poolInvalid(
        "Cannot reset password for the user as there is no registered/verified email or "
          + "phone_number")
    }
    let delivery = try sendCode(
      to: user.username, attribute: attribute, address: address, purpose: .password)
    return ["CodeDeliveryDetails": delivery]
  }

  mutating func confirmForgotPassword(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    var input = input
    let typed = try input.text("Username", .poolUser)
    let code = try input.text("ConfirmationCode", .confirmationCode)
    let password = try input.text("Password", .password)
    let hash = try input.optionalText("SecretHash", .secretHash)
    try input.takeCommonMembers()
    try input.finish()
    try client.checkHash(hash, of: typed)
    try settings.passwordPolicy.check(password)
    guard var user = find(typed) else {
      throw client.hidesUsers ? .expiredCode : .unknownUser
    }
    _ = try takeCode(code, of: user.username, purpose: .password, limit: .failedAttempts)
    user = find(typed) ?? user
    try setPassword(password, of: &user)
    user.status = .confirmed
    user.lockout.succeeded()
    try store(user)
    return [:]
  }

  mutating func changePassword(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let previous = try input.optionalText("PreviousPassword", .password)
    let proposed = try input.text("ProposedPassword", .password)
    try input.finish()
    var user = holder
    guard user.attempts.take("ChangePassword", limit: settings.attemptsPerHour, at: now) else {
      throw .attemptLimit
    }
    try store(user)
    switch previous {
    case nil where user.verifier != nil: throw .missing("PreviousPassword")
    case let previous? where !isPassword(previous, of: user): throw .wrongPassword
    default: break
    }
    try setPassword(proposed, of: &user)
    user.attempts.clear("ChangePassword")
    try store(user)
    return [:]
  }
}
