import FoundationEssentials

/// Passwords, codes and choices.
extension UserPool {
  mutating func takeNewPassword(
    _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    let password = try answer.value("NEW_PASSWORD")
    let prefix = "userAttributes."
    let attributes = answer.values.filter { $0.key.hasPrefix(prefix) }
      .map { (name: String($0.key.dropFirst(prefix.count)), value: $0.value) }
      .sorted { $0.name < $1.name }
    guard var user = user(signIn.username) else { throw .wrongPassword }
    for (name, _) in attributes {
      guard user.attributes[name] == nil, !PoolAttributes.readOnly.contains(name) else {
        throw .poolInvalid("Cannot modify an already provided \(name)")
      }
    }
    try PoolAttributes.check(attributes, in: settings)
    for (name, value) in attributes { user.set(name, value) }
    let missing = PoolAttributes.missing(user.attributes, in: settings)
    guard missing.isEmpty else {
      throw .poolInvalid("Invalid attributes given, \(missing.joined(separator: ", ")) missing")
    }
    try setPassword(password, of: &user)
    user.status = .confirmed
    try store(user)
    signIns.use(answer.handle)
    return try proceed(signIn)
  }

  mutating func take(
    code: OneTimeCode, isFirst: Bool, _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    let given = try answer.value(answer.challenge + "_CODE")
    guard now < code.expiration else { throw .expiredCode }
    guard Cryptography.areEqual(given, code.code) else { throw missed(answer, signIn) }
    signIns.use(answer.handle)
    try change(signIn.username) { user throws(ServiceError) in
      guard user.attributes[code.attribute] == code.address else { return }
      // The code proves the address, and so the sign-up or the new factor.
      user.attributes[code.attribute + "_verified"] = "true"
      if isFirst, user.status == .unconfirmed { user.status = .confirmed }
      if !isFirst, code.attribute == "email" { user.factors.insert(.email) }
    }
    var signIn = signIn
    signIn.hasFactorPassed = true
    return try proceed(signIn)
  }

  mutating func takeSoftwareToken(
    _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    let given = try answer.value("SOFTWARE_TOKEN_MFA_CODE")
    let now = now
    let verdict = try change(signIn.username) { user throws(ServiceError) in
      user.softwareToken?.judge(given, at: now) ?? .wrong
    }
    switch verdict {
    case .wrong: throw missed(answer, signIn)
    case .used: throw .usedSoftwareToken
    case .right: break
    }
    signIns.use(answer.handle)
    var signIn = signIn
    signIn.hasFactorPassed = true
    return try proceed(signIn)
  }

  /// After a wrong code the handle stays valid, unless the pool ends the sign-in after several.
  private mutating func missed(_ answer: ChallengeAnswer, _ signIn: SignIn) -> ServiceError {
    var signIn = signIn
    signIn.misses += 1
    signIns.update(answer.handle, signIn)
    if settings.codeMisses > 0, signIn.misses >= settings.codeMisses {
      signIns.use(answer.handle)
    }
    return .wrongFactorCode
  }

  mutating func takeFactor(
    _ choices: [Factor], _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    guard let factor = Factor(rawValue: try answer.value("ANSWER")), choices.contains(factor) else {
      throw .poolInvalid("ANSWER is not among MFAS_CAN_CHOOSE.")
    }
    guard let user = user(signIn.username) else { throw .wrongPassword }
    signIns.use(answer.handle)
    return try begin(factor, signIn, user)
  }

  mutating func takeSetup(
    _ choices: [Factor], isProven: Bool, _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    if let address = answer.values["EMAIL"] {
      guard choices.contains(.email) else { throw .poolInvalid("EMAIL_OTP cannot be set up.") }
      try PoolAttributes.checkForm("email", address)
      let user = try change(signIn.username) { user throws(ServiceError) in
        if user.attributes["email"] == nil { user.set("email", address) }
        return user
      }
      signIns.use(answer.handle)
      return codeChallenge(signIn, user, "email", address, isFirst: false)
    }
    guard isProven else { throw .poolInvalid("The software token has not been verified.") }
    signIns.use(answer.handle)
    var signIn = signIn
    signIn.hasFactorPassed = true
    return try proceed(signIn)
  }

  mutating func takeCustom(
    _ round: Int, _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    let given = try answer.value("ANSWER")
    signIns.use(answer.handle)
    var signIn = signIn
    guard round < settings.customRounds.count,
      signIn.exists, Cryptography.areEqual(settings.customRounds[round].answer, given)
    else {
      signIn.customMisses += 1
      guard signIn.customMisses < settings.customAttempts else { throw .wrongPassword }
      return try customChallenge(signIn, round: round)
    }
    guard round + 1 == settings.customRounds.count else {
      return try customChallenge(signIn, round: round + 1)
    }
    signIn.hasCustomPassed = true
    return try proceed(signIn)
  }
}
