import FoundationEssentials

/// The next step of a sign-in.
extension UserPool {
  /// A reply with a challenge.
  ///
  /// - Parameter handle: a text under which the client finds the sign-in again without a Session.
  mutating func challenge(
    _ signIn: SignIn, _ step: SignIn.Step, _ parameters: [String: JSON],
    handle: String? = nil, available: [String]? = nil
  ) -> JSON {
    var signIn = signIn
    signIn.step = step
    signIn.misses = 0
    let life = Double(clients[signIn.client]?.signInLifetime ?? 180)
    let session = signIns.open(
      signIn, as: handle, until: now.addingTimeInterval(life), random: &random)
    var all = parameters
    all["USER_ID_FOR_SRP"] = .string(signIn.username)
    var reply: [String: JSON] = [
      "ChallengeName": .string(signIn.challenge), "ChallengeParameters": .object(all),
    ]
    if handle == nil { reply["Session"] = .string(session) }
    if let available { reply["AvailableChallenges"] = .array(available.map { .string($0) }) }
    return .object(reply)
  }

  /// Checks a plain password, and counts a wrong one.
  mutating func checkPassword(_ password: String, of signIn: SignIn) throws(ServiceError) {
    guard let user = user(signIn.username) else { throw .wrongPassword }
    guard !user.lockout.isOn(at: now) else { throw .lockedOut }
    try judged(isPassword(password, of: user), signIn)
  }

  /// Counts a right or wrong proof of a password.
  mutating func judged(_ isRight: Bool, _ signIn: SignIn) throws(ServiceError) {
    let now = now
    try change(signIn.username) { user throws(ServiceError) in
      if isRight { user.lockout.succeeded() } else { user.lockout.failed(at: now) }
    }
    guard isRight else { throw .wrongPassword }
  }

  /// The next challenge, or the tokens.
  mutating func proceed(_ signIn: SignIn) throws(ServiceError) -> JSON {
    if signIn.isCustom, !signIn.hasCustomPassed { return try customChallenge(signIn, round: 0) }
    guard let user = user(signIn.username) else { throw .wrongPassword }
    try check(statusOf: user, signIn)
    if user.status == .mustChangePassword { return newPasswordChallenge(signIn, user) }
    let remembered = signIn.deviceKey.flatMap { user.devices[$0] }.map {
      $0.isConfirmed && $0.isRemembered
    }
    let asksDevice = remembered == true && !signIn.hasDevicePassed
    if asksDevice, settings.deviceReplacesFactor { return challenge(signIn, .device, [:]) }
    let isReplaced = signIn.hasDevicePassed && settings.deviceReplacesFactor
    if !signIn.hasFactorPassed, !isReplaced, let reply = try factorChallenge(signIn, user) {
      return reply
    }
    if asksDevice { return challenge(signIn, .device, [:]) }
    return try signedIn(signIn, user)
  }

  private func check(statusOf user: PoolUser, _ signIn: SignIn) throws(ServiceError) {
    guard !user.isDisabled else { throw .disabledUser }
    switch user.status {
    case .unconfirmed: throw .unconfirmedUser
    case .mustResetPassword:
      // The error for a required reset would show that the user exists.
      throw clients[signIn.client]?.hidesUsers == true ? .wrongPassword : .resetRequired
    case .mustChangePassword:
      let end = user.passwordSetAt.addingTimeInterval(
        Double(settings.temporaryPasswordDays) * 86_400)
      guard now < end else { throw .temporaryPasswordExpired }
    case .confirmed: break
    }
  }

  private mutating func newPasswordChallenge(_ signIn: SignIn, _ user: PoolUser) -> JSON {
    let required = PoolAttributes.missing(user.attributes, in: settings)
    let names = JSON.array(required.map { .string("userAttributes." + $0) })
    let values = JSON.object(user.attributes.mapValues { .string($0) })
    return challenge(
      signIn, .newPassword,
      ["requiredAttributes": .jsonText(names), "userAttributes": .jsonText(values)])
  }

  /// The challenge of a second factor; nil if none is needed.
  private mutating func factorChallenge(
    _ signIn: SignIn, _ user: PoolUser
  ) throws(ServiceError) -> JSON? {
    guard settings.mfa != .off else { return nil }
    let own = user.factorList.filter(settings.factors.contains)
    if let preferred = user.preferredFactor, own.contains(preferred) {
      return try begin(preferred, signIn, user)
    }
    if own.count > 1 {
      let names = JSON.array(own.map { .string($0.rawValue) })
      return challenge(signIn, .selectFactor(own), ["MFAS_CAN_CHOOSE": .jsonText(names)])
    }
    if let only = own.first { return try begin(only, signIn, user) }
    guard settings.mfa == .on else { return nil }
    // If the pool requires a factor, it uses an address that it knows.
    for factor in [Factor.sms, .email] where settings.factors.contains(factor) {
      if let address = factor.address, user.isVerified(address) {
        return try begin(factor, signIn, user)
      }
    }
    let possible = settings.factors.filter { $0 != .sms }
    guard !possible.isEmpty else {
      throw ServiceError(
        "InvalidUserPoolConfigurationException", "No factor can be set up in this user pool.")
    }
    let names = JSON.array(possible.map { .string($0.rawValue) })
    return challenge(
      signIn, .setup(possible, secret: nil, isProven: false),
      ["MFAS_CAN_SETUP": .jsonText(names)])
  }

  /// The challenge of this second factor.
  mutating func begin(
    _ factor: Factor, _ signIn: SignIn, _ user: PoolUser
  ) throws(ServiceError) -> JSON {
    guard let attribute = factor.address else {
      guard let token = user.softwareToken else {
        throw ServiceError(
          "SoftwareTokenMFANotFoundException", "Software Token MFA has not been set up.")
      }
      return challenge(
        signIn, .softwareToken, token.name.map { ["FRIENDLY_DEVICE_NAME": .string($0)] } ?? [:])
    }
    guard let address = user.attributes[attribute] else {
      throw ServiceError("MFAMethodNotFoundException", "The user has no \(attribute).")
    }
    return codeChallenge(signIn, user, attribute, address, isFirst: false)
  }

  /// Sends a code for the sign-in.
  mutating func codeChallenge(
    _ signIn: SignIn, _ user: PoolUser, _ attribute: String, _ address: String, isFirst: Bool
  ) -> JSON {
    let life = Double(clients[signIn.client]?.signInLifetime ?? 180)
    // An e-mail code as the only factor has eight digits.
    let code = newCode(
      to: user, attribute: attribute, address: address, purpose: .factor,
      digits: isFirst && attribute == "email" ? 8 : 6, lifetime: life)
    return challenge(
      signIn, .code(code, isFirst: isFirst),
      [
        "CODE_DELIVERY_DELIVERY_MEDIUM": attribute == "email" ? "EMAIL" : "SMS",
        "CODE_DELIVERY_DESTINATION": .string(PoolAttributes.masked(address)),
      ])
  }

  /// A round of the scripted challenge.
  mutating func customChallenge(_ signIn: SignIn, round: Int) throws(ServiceError) -> JSON {
    guard round < settings.customRounds.count else {
      throw ServiceError(
        "InvalidLambdaResponseException", "CreateAuthChallenge failed with no more rounds.")
    }
    var parameters = settings.customRounds[round].parameters.mapValues { JSON.string($0) }
    parameters["USERNAME"] = .string(signIn.username)
    return challenge(signIn, .custom(round: round), parameters)
  }
}

/// One of the first factors of USER_AUTH.
extension UserPool {
  /// The factors among which a person may choose. For an unknown user, all that the pool offers.
  func firstFactors(of signIn: SignIn) -> [String] {
    guard let user = user(signIn.username) else {
      return settings.firstFactors + ["PASSWORD_SRP", "PASSWORD"]
    }
    var available: [String] = []
    // A code as the only factor excludes a second factor.
    let hasSecond = settings.mfa == .on || (settings.mfa == .optional && !user.factors.isEmpty)
    if user.status != .mustChangePassword, !hasSecond {
      for factor in settings.firstFactors {
        let attribute = factor == "EMAIL_OTP" ? "email" : "phone_number"
        if user.attributes[attribute] != nil { available.append(factor) }
      }
    }
    if user.verifier != nil { available += ["PASSWORD_SRP", "PASSWORD"] }
    return available
  }

  /// Goes on with the chosen factor.
  mutating func begin(
    _ choice: String, _ signIn: SignIn, _ values: [String: String]
  ) throws(ServiceError) -> JSON {
    switch choice {
    case "PASSWORD":
      guard let password = values["PASSWORD"] else { throw .missing("PASSWORD") }
      try checkPassword(password, of: signIn)
      return try proceed(signIn)
    case "PASSWORD_SRP":
      guard let value = values["SRP_A"] else { throw .missing("SRP_A") }
      return try proofChallenge(signIn, clientValue: value, withSession: true)
    case "EMAIL_OTP", "SMS_OTP":
      let attribute = choice == "EMAIL_OTP" ? "email" : "phone_number"
      guard let user = user(signIn.username), let address = user.attributes[attribute] else {
        return inventedCodeChallenge(signIn, attribute)
      }
      return codeChallenge(signIn, user, attribute, address, isFirst: true)
    default: throw .poolInvalid("\(choice) is not a challenge that can be chosen.")
    }
  }

  /// Answers as for an existing user, but no valid code is sent.
  private mutating func inventedCodeChallenge(_ signIn: SignIn, _ attribute: String) -> JSON {
    let code = OneTimeCode(
      code: random.text(40, of: Array("0123456789".utf8)), expiration: now.addingTimeInterval(180),
      attribute: attribute, address: "")
    let delivery = inventedDelivery(for: signIn.typed)
    return challenge(
      signIn, .code(code, isFirst: true),
      [
        "CODE_DELIVERY_DELIVERY_MEDIUM": attribute == "email" ? "EMAIL" : "SMS",
        "CODE_DELIVERY_DESTINATION": delivery["Destination"] ?? "",
      ])
  }
}

extension JSON {
  /// JSON in a string: the form of lists and objects in challenge parameters.
  static func jsonText(_ json: JSON) -> JSON {
    .string(String(decoding: json.bytes, as: UTF8.self))
  }
}
