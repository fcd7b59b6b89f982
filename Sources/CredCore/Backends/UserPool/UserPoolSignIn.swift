/// How a sign-in begins: the flow and its data.
public enum PoolSignInStart: Sendable, Equatable {
  /// USER_SRP_AUTH, with SRP_A.
  case srp(SRPInteger)
  /// USER_PASSWORD_AUTH: the password itself goes to the pool.
  case password(Secret)
  /// USER_AUTH; without a preference the pool offers a choice.
  case choice(PoolChoice?)
  /// CUSTOM_AUTH: the pool's own triggers ask.
  case custom
  /// CUSTOM_AUTH that begins with a proof of the password, with SRP_A.
  case customAfterSRP(SRPInteger)

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] {
    switch self {
    case .password(let password), .choice(.password(let password)): [password]
    default: []
    }
  }
}

/// The way in which a user chooses to sign in: PREFERRED_CHALLENGE, and the answer to
/// SELECT_CHALLENGE.
public enum PoolChoice: Sendable, Equatable {
  case password(Secret)
  /// With SRP_A.
  case passwordSRP(SRPInteger)
  /// A code, by the pool's name for the way it comes: EMAIL_OTP or SMS_OTP.
  case code(String)

  fileprivate var name: String {
    switch self {
    case .password: ChallengeName.password.rawValue
    case .passwordSRP: ChallengeName.passwordSRP.rawValue
    case .code(let name): name
    }
  }
}

/// The answer to a challenge.
public enum PoolAnswer: Sendable, Equatable {
  case passwordVerifier(SRPClaim)
  /// DEVICE_SRP_AUTH, with a new SRP_A.
  case deviceSRP(SRPInteger)
  case devicePasswordVerifier(SRPClaim)
  /// The answer to SMS_MFA, SOFTWARE_TOKEN_MFA, EMAIL_OTP or SMS_OTP.
  case code(Secret, to: String)
  /// SELECT_MFA_TYPE: one of its choices.
  case mfaType(String)
  /// MFA_SETUP, after VerifySoftwareToken, with its Session.
  case mfaIsSetUp
  /// MFA_SETUP by an address that gets codes.
  case mfaEmail(Secret)
  /// NEW_PASSWORD_REQUIRED. The attributes are the ones that the pool requires and the user lacks.
  case newPassword(Secret, attributes: [NamedSecret])
  /// SELECT_CHALLENGE.
  case choice(PoolChoice)
  /// PASSWORD.
  case password(Secret)
  /// PASSWORD_SRP, with SRP_A.
  case passwordSRP(SRPInteger)
  /// CUSTOM_CHALLENGE, or a challenge that credd does not know, by its name.
  case custom(Secret, to: String)

  /// The challenge's name.
  public var challenge: String {
    switch self {
    case .code(_, let name), .custom(_, let name): name
    case .passwordVerifier: ChallengeName.passwordVerifier.rawValue
    case .deviceSRP: ChallengeName.deviceSRP.rawValue
    case .devicePasswordVerifier: ChallengeName.devicePasswordVerifier.rawValue
    case .mfaType: ChallengeName.mfaType.rawValue
    case .mfaIsSetUp, .mfaEmail: ChallengeName.mfaSetup.rawValue
    case .newPassword: ChallengeName.newPassword.rawValue
    case .choice: ChallengeName.choice.rawValue
    case .password: ChallengeName.password.rawValue
    case .passwordSRP: ChallengeName.passwordSRP.rawValue
    }
  }

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] {
    switch self {
    case .code(let secret, _), .custom(let secret, _), .password(let secret),
      .choice(.password(let secret)), .mfaEmail(let secret):
      [secret]
    case .newPassword(let password, let attributes): [password] + attributes.map(\.value)
    case .passwordVerifier(let claim), .devicePasswordVerifier(let claim): [claim.signature]
    case .deviceSRP, .mfaType, .mfaIsSetUp, .choice, .passwordSRP: []
    }
  }
}

extension UserPoolClient {
  /// InitiateAuth.
  ///
  /// - Parameters:
  ///   - user: the name as typed; it may be an alias.
  ///   - device: the key of a device that the pool knows for this user.
  /// - Throws: if Cognito would refuse the password or the key.
  public func initiateAuth(
    _ start: PoolSignInStart, as user: PoolUsername, device: String? = nil,
    metadata: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    var parameters: [(name: String, value: Secret)] = [("USERNAME", Secret(user.name))]
    let flow: String
    switch start {
    case .srp(let publicValue):
      flow = "USER_SRP_AUTH"
      parameters.append(("SRP_A", publicValue.sent))
    case .password(let password):
      flow = "USER_PASSWORD_AUTH"
      parameters.append(("PASSWORD", try UserPoolInput.password(password)))
    case .choice(let choice):
      flow = "USER_AUTH"
      if let choice {
        parameters.append(("PREFERRED_CHALLENGE", Secret(choice.name)))
        parameters += try Self.parameters(of: choice)
      }
    case .custom:
      flow = "CUSTOM_AUTH"
    case .customAfterSRP(let publicValue):
      flow = "CUSTOM_AUTH"
      // The spelling of the SDKs; the API reference has another one.
      parameters.append(("CHALLENGE_NAME", Secret("SRP_A")))
      parameters.append(("SRP_A", publicValue.sent))
    }
    try Self.append(user, device, to: &parameters)
    return clientRequest(.initiateAuth) {
      $0.field("AuthFlow", flow)
      $0.parameters("AuthParameters", parameters)
      $0.metadata(metadata)
    }
  }

  /// RespondToAuthChallenge.
  ///
  /// - Parameters:
  ///   - user: the name from the pool's reply, if it had one.
  ///   - session: the Session of the last reply; nil if that had none.
  ///   - device: the key of a device that the pool knows for this user.
  /// - Throws: if Cognito would refuse a part of the answer.
  public func respond(
    _ answer: PoolAnswer, as user: PoolUsername, session: Secret?, device: String? = nil,
    metadata: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    var responses: [(name: String, value: Secret)] = [("USERNAME", Secret(user.name))]
    responses += try Self.responses(of: answer)
    try Self.append(user, device, to: &responses)
    return clientRequest(.respondToAuthChallenge) {
      $0.field("ChallengeName", answer.challenge)
      $0.parameters("ChallengeResponses", responses)
      $0.field("Session", session)
      $0.metadata(metadata)
    }
  }

  private static func append(
    _ user: PoolUsername, _ device: String?, to parameters: inout [(name: String, value: Secret)]
  ) throws(InvalidInput) {
    if let hash = user.secretHash { parameters.append(("SECRET_HASH", hash)) }
    if let device { parameters.append(("DEVICE_KEY", Secret(try DeviceKey.checked(device)))) }
  }

  private static func parameters(
    of choice: PoolChoice
  ) throws(InvalidInput) -> [(name: String, value: Secret)] {
    switch choice {
    case .password(let password): [("PASSWORD", try UserPoolInput.password(password))]
    case .passwordSRP(let publicValue): [("SRP_A", publicValue.sent)]
    case .code: []
    }
  }

  private static func responses(
    of answer: PoolAnswer
  ) throws(InvalidInput) -> [(name: String, value: Secret)] {
    switch answer {
    case .passwordVerifier(let claim), .devicePasswordVerifier(let claim): claim.responses
    case .deviceSRP(let publicValue), .passwordSRP(let publicValue): [("SRP_A", publicValue.sent)]
    // The names in the API reference: SMS_MFA_CODE, EMAIL_OTP_CODE and so on.
    case .code(let code, let name): [("\(name)_CODE", try UserPoolInput.code(code))]
    case .mfaType(let type): [("ANSWER", Secret(type))]
    case .mfaIsSetUp: []
    case .mfaEmail(let address):
      [("EMAIL", try UserPoolInput.text(address, "email", 1...Limits.UserPool.attributeLength))]
    case .newPassword(let password, let attributes): try newPassword(password, attributes)
    case .choice(let choice): [("ANSWER", Secret(choice.name))] + (try parameters(of: choice))
    case .password(let password): [("PASSWORD", try UserPoolInput.password(password))]
    case .custom(let text, _):
      [("ANSWER", try UserPoolInput.text(text, "answer", 1...Limits.UserPool.answerBytes))]
    }
  }

  private static func newPassword(
    _ password: Secret, _ attributes: [NamedSecret]
  ) throws(InvalidInput) -> [(name: String, value: Secret)] {
    var responses = [("NEW_PASSWORD", try UserPoolInput.password(password))]
    for attribute in attributes {
      let checked = try UserPoolInput.attribute(attribute)
      responses.append(("\(PoolChallenge.attributePrefix)\(checked.name)", checked.value))
    }
    return responses
  }
}

extension SRPInteger {
  /// The number in the form of a parameter.
  fileprivate var sent: Secret { Secret(hexadecimal) }
}

extension SRPClaim {
  fileprivate var responses: [(name: String, value: Secret)] {
    [
      ("PASSWORD_CLAIM_SECRET_BLOCK", secretBlock), ("PASSWORD_CLAIM_SIGNATURE", signature),
      ("TIMESTAMP", Secret(timestamp)),
    ]
  }
}

extension JSONWriter {
  fileprivate mutating func parameters(
    _ name: String, _ parameters: [(name: String, value: Secret)]
  ) {
    field(name) { writer in
      for parameter in parameters { writer.field(parameter.name, parameter.value) }
    }
  }
}
