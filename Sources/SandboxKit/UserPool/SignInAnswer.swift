import FoundationEssentials

/// One answer to a challenge.
struct ChallengeAnswer {
  let challenge: String
  let values: [String: String]
  /// The handle of the sign-in: the Session, or the secret block.
  let handle: String

  /// The keys of each challenge, in addition to USERNAME and SECRET_HASH.
  static let keys: [String: Set<String>] = [
    "PASSWORD_VERIFIER": [
      "PASSWORD_CLAIM_SECRET_BLOCK", "PASSWORD_CLAIM_SIGNATURE", "TIMESTAMP",
    ],
    "DEVICE_SRP_AUTH": ["SRP_A"],
    "DEVICE_PASSWORD_VERIFIER": [
      "PASSWORD_CLAIM_SECRET_BLOCK", "PASSWORD_CLAIM_SIGNATURE", "TIMESTAMP",
    ],
    "SMS_MFA": ["SMS_MFA_CODE"], "SMS_OTP": ["SMS_OTP_CODE"], "EMAIL_OTP": ["EMAIL_OTP_CODE"],
    "SOFTWARE_TOKEN_MFA": ["SOFTWARE_TOKEN_MFA_CODE"], "SELECT_MFA_TYPE": ["ANSWER"],
    "MFA_SETUP": ["EMAIL"], "NEW_PASSWORD_REQUIRED": ["NEW_PASSWORD"],
    "SELECT_CHALLENGE": ["ANSWER", "PASSWORD", "SRP_A"], "PASSWORD": ["PASSWORD"],
    "PASSWORD_SRP": ["SRP_A"], "CUSTOM_CHALLENGE": ["ANSWER"],
  ]

  /// The keys of all challenges. Public clients repeat those of an earlier challenge, and the
  /// service ignores them.
  static let allKeys = keys.values.reduce(["USERNAME", "SECRET_HASH", "DEVICE_KEY"] as Set) {
    $0.union($1)
  }

  func value(_ name: String) throws(ServiceError) -> String {
    guard let value = values[name], !value.isEmpty else { throw .missing(name) }
    return value
  }
}

/// RespondToAuthChallenge.
extension UserPool {
  mutating func respond(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    var input = input
    let name = try input.text("ChallengeName", .anyText)
    let values = try input.parameters("ChallengeResponses")
    let session = try input.optionalText("Session", .session)
    try input.takeCommonMembers()
    try input.finish()
    guard ChallengeAnswer.keys[name] != nil else {
      throw .poolInvalid("The challenge \(name) is not supported.")
    }
    let takesAttributes = name == "NEW_PASSWORD_REQUIRED"
    let others = values.keys.filter {
      !ChallengeAnswer.allKeys.contains($0) && !(takesAttributes && $0.hasPrefix("userAttributes."))
    }
    if let unknown = others.min() {
      throw .poolInvalid("The challenge has no response \(unknown).")
    }
    guard let username = values["USERNAME"], !username.isEmpty else { throw .missing("USERNAME") }
    try client.checkHash(values["SECRET_HASH"], of: username)
    let handle = if let session { session } else { try handle(withoutSession: name, values) }
    let answer = ChallengeAnswer(challenge: name, values: values, handle: handle)
    let signIn = try find(answer, of: username, client, hasSession: session != nil)
    return try take(answer, signIn)
  }

  /// The first proof of a password has no Session, so the secret block is its handle.
  private func handle(
    withoutSession name: String, _ values: [String: String]
  ) throws(ServiceError) -> String {
    guard name == "PASSWORD_VERIFIER" else { throw .missing("Session") }
    guard let block = values["PASSWORD_CLAIM_SECRET_BLOCK"] else {
      throw .missing("PASSWORD_CLAIM_SECRET_BLOCK")
    }
    return block
  }

  private func find(
    _ answer: ChallengeAnswer, of username: String, _ client: AppClient, hasSession: Bool
  ) throws(ServiceError) -> SignIn {
    let signIn: SignIn
    do {
      signIn = try signIns.signIn(answer.handle, client: client.id, at: now)
    } catch {
      // A secret block that was changed, was used, or belongs to another sign-in, is a wrong proof.
      throw hasSession ? error : .wrongPassword
    }
    guard signIn.challenge == answer.challenge else { throw .foreignSession }
    let isSame =
      signIn.exists
      ? find(username)?.username == signIn.username
      : [signIn.username, signIn.typed].contains(username)
    guard isSame else { throw hasSession ? .foreignSession : .wrongPassword }
    return signIn
  }

  private mutating func take(
    _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    var signIn = signIn
    if let key = answer.values["DEVICE_KEY"] {
      guard user(signIn.username)?.devices[key] != nil else { throw .unknownDevice }
      guard signIn.deviceKey == nil || signIn.deviceKey == key else { throw .foreignSession }
      signIn.deviceKey = key
    }
    switch signIn.step {
    case .proof(let exchange): return try take(proof: exchange, answer, signIn)
    case .newPassword: return try takeNewPassword(answer, signIn)
    case .code(let code, let isFirst):
      return try take(code: code, isFirst: isFirst, answer, signIn)
    case .softwareToken: return try takeSoftwareToken(answer, signIn)
    case .selectFactor(let choices): return try takeFactor(choices, answer, signIn)
    case .setup(let choices, _, let isProven):
      return try takeSetup(choices, isProven: isProven, answer, signIn)
    case .selectChallenge(let available):
      let choice = try answer.value("ANSWER")
      guard available.contains(choice) else {
        throw .poolInvalid("\(choice) is not among the available challenges.")
      }
      signIns.use(answer.handle)
      return try begin(choice, signIn, answer.values)
    case .password, .passwordProof:
      signIns.use(answer.handle)
      return try begin(answer.challenge, signIn, answer.values)
    case .custom(let round): return try takeCustom(round, answer, signIn)
    case .device: return try takeDevice(answer, signIn)
    case .deviceProof(let exchange): return try take(deviceProof: exchange, answer, signIn)
    case .signedUp, .confirmed: throw .foreignSession
    }
  }
}

/// Proofs.
extension UserPool {
  private mutating func take(
    proof exchange: SRPExchange, _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    // A secret block is valid once, whether the proof is right or wrong.
    signIns.use(answer.handle)
    let isRight = try isProven(exchange, by: answer)
    guard let user = user(signIn.username) else { throw .wrongPassword }
    guard !user.lockout.isOn(at: now) else { throw .lockedOut }
    try judged(isRight && user.verifier == exchange.verifier, signIn)
    return try proceed(signIn)
  }

  /// Checks every part of a proof.
  func isProven(
    _ exchange: SRPExchange, by answer: ChallengeAnswer
  ) throws(ServiceError) -> Bool {
    let block = try answer.value("PASSWORD_CLAIM_SECRET_BLOCK")
    let signature = try answer.value("PASSWORD_CLAIM_SIGNATURE")
    let timestamp = try answer.value("TIMESTAMP")
    guard let time = SRPTimestamp.date(timestamp) else {
      throw .poolInvalid("TIMESTAMP format should be EEE MMM d HH:mm:ss z yyyy in english")
    }
    return Cryptography.areEqual(block, exchange.secretBlock)
      && abs(now.timeIntervalSince(time)) <= SRPTimestamp.tolerance
      && Cryptography.areEqual(signature, exchange.signature(timestamp: timestamp))
  }

  private mutating func takeDevice(
    _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    let value = try answer.value("SRP_A")
    guard answer.values["DEVICE_KEY"] != nil else { throw .missing("DEVICE_KEY") }
    guard let device = signIn.deviceKey.flatMap({ user(signIn.username)?.devices[$0] }),
      let verifier = device.verifier
    else { throw .unknownDevice }
    signIns.use(answer.handle)
    let exchange = try exchange(
      domain: device.group, name: device.key, verifier: verifier, clientValue: value)
    var parameters = exchange.parameters
    parameters["DEVICE_KEY"] = .string(device.key)
    parameters["USERNAME"] = .string(signIn.username)
    return challenge(signIn, .deviceProof(exchange), parameters)
  }

  private mutating func take(
    deviceProof exchange: SRPExchange, _ answer: ChallengeAnswer, _ signIn: SignIn
  ) throws(ServiceError) -> JSON {
    guard answer.values["DEVICE_KEY"] != nil else { throw .missing("DEVICE_KEY") }
    signIns.use(answer.handle)
    guard try isProven(exchange, by: answer) else { throw .wrongPassword }
    var signIn = signIn
    signIn.hasDevicePassed = true
    return try proceed(signIn)
  }
}
