import FoundationEssentials

/// SignUp, ConfirmSignUp and ResendConfirmationCode.
extension UserPool {
  mutating func signUp(_ input: CognitoInput, client: AppClient) throws(ServiceError) -> JSON {
    var input = input
    let typed = try input.text("Username", .poolUser)
    let password = try input.optionalText("Password", .password)
    let given = try input.attributes("UserAttributes") ?? []
    _ = try input.attributes("ValidationData")
    let hash = try input.optionalText("SecretHash", .secretHash)
    try input.takeCommonMembers()
    try input.finish()
    try client.checkHash(hash, of: typed)
    guard settings.allowsSignUp else {
      throw .poolRefused("SignUp is not permitted for this user pool")
    }
    var user = try newUser(typed, given, status: .unconfirmed)
    let missing = PoolAttributes.missing(user.attributes, in: settings)
    guard missing.isEmpty else {
      let text = missing.map { "\($0): The attribute is required" }.joined(separator: "\n")
      throw .poolInvalid("Attributes did not conform to the schema: \(text)\n")
    }
    if let password {
      try setPassword(password, of: &user)
    } else if settings.firstFactors.isEmpty {
      throw .missing("Password")
    }
    if settings.confirmsSignUp { user.status = .confirmed }
    try store(user)
    var reply: [String: JSON] = [
      "UserConfirmed": .bool(settings.confirmsSignUp), "UserSub": .string(user.sub),
    ]
    if !settings.confirmsSignUp, let (attribute, address) = signUpAddress(of: user) {
      reply["CodeDeliveryDetails"] = try sendCode(
        to: user.username, attribute: attribute, address: address, purpose: .signUp)
    }
    if client.flows.contains(.choice) {
      reply["Session"] = signUpSession(user, typed, client, .signedUp)
    }
    return .object(reply)
  }

  /// Makes a user with a typed name, which may be an address.
  mutating func newUser(
    _ typed: String, _ given: [(name: String, value: String)], status: PoolUser.Status
  ) throws(ServiceError) -> PoolUser {
    try PoolAttributes.check(given, in: settings)
    let sub = random.uuid()
    guard find(typed) == nil else {
      throw ServiceError("UsernameExistsException", "User already exists")
    }
    guard let attribute = try addressKind(of: typed) else {
      return try filled(PoolUser(username: typed, sub: sub, status: status), given)
    }
    var user = PoolUser(username: sub, sub: sub, status: status)
    user.set(attribute, typed)
    return try filled(user, given.filter { $0.name != attribute })
  }

  /// The kind of address that a user name must be; nil if the pool has user names.
  private func addressKind(of typed: String) throws(ServiceError) -> String? {
    let kinds = settings.usernameAttributes
    guard !kinds.isEmpty else {
      // A name that looks like an alias could be mistaken for another user's alias.
      guard !settings.aliasAttributes.contains("email") || !typed.contains("@") else {
        throw .poolInvalid(
          "Username cannot be of email format, since user pool is configured for email alias.")
      }
      return nil
    }
    if kinds.contains("email"), typed.contains("@") {
      try PoolAttributes.checkForm("email", typed)
      return "email"
    }
    if kinds.contains("phone_number"), typed.hasPrefix("+") {
      try PoolAttributes.checkForm("phone_number", typed)
      return "phone_number"
    }
    throw .poolInvalid(
      kinds.contains("email")
        ? "Username should be an email." : "Username should be a phone number.")
  }

  private func filled(
    _ user: PoolUser, _ given: [(name: String, value: String)]
  ) throws(ServiceError) -> PoolUser {
    var user = user
    for (name, value) in given { user.set(name, value) }
    for attribute in settings.usernameAttributes {
      guard let value = user.attributes[attribute] else { continue }
      guard owner(of: attribute, value) == nil else {
        let kind = attribute == "email" ? "email" : "phone number"
        throw ServiceError(
          "UsernameExistsException", "An account with the given \(kind) already exists.")
      }
    }
    return user
  }

  /// The destination of the code of a sign-up.
  private func signUpAddress(of user: PoolUser) -> (attribute: String, address: String)? {
    for attribute in settings.autoVerifiedAttributes {
      if let address = user.attributes[attribute] { return (attribute, address) }
    }
    return nil
  }

  private mutating func signUpSession(
    _ user: PoolUser, _ typed: String, _ client: AppClient, _ step: SignIn.Step
  ) -> JSON {
    let signIn = SignIn(
      client: client.id, username: user.username, typed: typed, isCustom: false, step: step,
      began: now)
    return .string(
      signIns.open(
        signIn, until: now.addingTimeInterval(Double(client.signInLifetime)), random: &random))
  }

  mutating func confirmSignUp(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    var input = input
    let typed = try input.text("Username", .poolUser)
    let code = try input.text("ConfirmationCode", .confirmationCode)
    let forces = try input.optionalBool("ForceAliasCreation") ?? false
    let hash = try input.optionalText("SecretHash", .secretHash)
    let session = try input.optionalText("Session", .session)
    try input.takeCommonMembers()
    try input.finish()
    try client.checkHash(hash, of: typed)
    guard let user = find(typed) else {
      throw client.hidesUsers ? .expiredCode : .unknownUser
    }
    guard user.status == .unconfirmed else {
      throw .poolRefused("User cannot be confirmed. Current status is \(user.status.rawValue)")
    }
    if let session { try checkSignUpSession(session, user, client) }
    let taken = try takeCode(
      code, of: user.username, purpose: .signUp, limit: .failedAttempts)
    try claim(taken.attribute, taken.address, for: user, byForce: forces)
    try change(user.username) { user throws(ServiceError) in
      user.status = .confirmed
      if user.attributes[taken.attribute] == taken.address {
        user.attributes[taken.attribute + "_verified"] = "true"
      }
    }
    guard let session else { return [:] }
    signIns.use(session)
    return ["Session": signUpSession(user, typed, client, .confirmed)]
  }

  private func checkSignUpSession(
    _ session: String, _ user: PoolUser, _ client: AppClient
  ) throws(ServiceError) {
    let signIn = try signIns.signIn(session, client: client.id, at: now)
    guard case .signedUp = signIn.step, signIn.username == user.username else {
      throw .foreignSession
    }
  }

  /// Makes an address the alias of a user. It may be taken from another user.
  mutating func claim(
    _ attribute: String, _ address: String, for user: PoolUser, byForce forces: Bool
  ) throws(ServiceError) {
    guard settings.signInAttributes.contains(attribute),
      let other = owner(of: attribute, address), other.username != user.username
    else { return }
    guard forces else {
      let kind = attribute == "email" ? "email" : "phone number"
      throw ServiceError(
        "AliasExistsException", "An account with the \(kind) already exists.")
    }
    try change(other.username) { user throws(ServiceError) in
      user.attributes[attribute + "_verified"] = "false"
    }
  }

  mutating func resendCode(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    let typed = try nameWithHash(input, client)
    guard let user = find(typed) else {
      guard client.hidesUsers else { throw .unknownUser }
      return ["CodeDeliveryDetails": inventedDelivery(for: typed)]
    }
    guard user.status == .unconfirmed else { throw .poolInvalid("User is already confirmed.") }
    guard let (attribute, address) = signUpAddress(of: user) else {
      throw .poolInvalid("Auto verification not turned on.")
    }
    let delivery = try sendCode(
      to: user.username, attribute: attribute, address: address, purpose: .signUp)
    return ["CodeDeliveryDetails": delivery]
  }

  /// Reads a request with only Username and SecretHash.
  func nameWithHash(_ input: CognitoInput, _ client: AppClient) throws(ServiceError) -> String {
    var input = input
    let typed = try input.text("Username", .poolUser)
    let hash = try input.optionalText("SecretHash", .secretHash)
    try input.takeCommonMembers()
    try input.finish()
    try client.checkHash(hash, of: typed)
    return typed
  }
}
