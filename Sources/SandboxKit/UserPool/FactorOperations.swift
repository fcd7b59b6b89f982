import FoundationEssentials

/// Second factors: preferences, and the setup of an authenticator app.
extension UserPool {
  private static let secretBytes = 32

  func factorSettings(of user: PoolUser) -> [String: JSON] {
    var reply: [String: JSON] = [:]
    if !user.factorList.isEmpty {
      reply["UserMFASettingList"] = .array(user.factorList.map { .string($0.rawValue) })
    }
    if let preferred = user.preferredFactor {
      reply["PreferredMfaSetting"] = .string(preferred.rawValue)
    }
    return reply
  }

  func getFactors(_ holder: PoolUser) -> JSON {
    var reply = factorSettings(of: holder)
    reply["Username"] = .string(holder.username)
    var all: [String] = holder.verifier == nil ? [] : ["PASSWORD"]
    if holder.isVerified("email") { all.append("EMAIL_OTP") }
    if holder.isVerified("phone_number") { all.append("SMS_OTP") }
    if holder.softwareToken != nil { all.append("SOFTWARE_TOKEN") }
    reply["ConfiguredUserAuthFactors"] = .array(all.map { .string($0) })
    return .object(reply)
  }

  mutating func setFactors(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let members: [(String, Factor)] = [
      ("SMSMfaSettings", .sms), ("SoftwareTokenMfaSettings", .software),
      ("EmailMfaSettings", .email),
    ]
    var user = holder
    var preferred: [Factor] = []
    for (name, factor) in members {
      guard let wanted = try input.switches(name, ["Enabled", "PreferredMfa"]) else { continue }
      let isOn = wanted["Enabled"] ?? false
      if isOn { try requireReady(factor, user) }
      if isOn { user.factors.insert(factor) } else { user.factors.remove(factor) }
      let isPreferred = wanted["PreferredMfa"] ?? false
      guard isOn || !isPreferred else {
        throw .poolInvalid("\(factor.rawValue) cannot be preferred while it is not enabled.")
      }
      if isPreferred { preferred.append(factor) }
      if user.preferredFactor == factor, !isPreferred { user.preferredFactor = nil }
    }
    _ = try input.switches("WebAuthnMfaSettings", ["Enabled"])
    try input.finish()
    guard preferred.count <= 1 else {
      throw .poolInvalid("Only one MFA method can be set as preferred.")
    }
    if let factor = preferred.first { user.preferredFactor = factor }
    try store(user)
    return [:]
  }

  private func requireReady(_ factor: Factor, _ user: PoolUser) throws(ServiceError) {
    guard settings.mfa != .off, settings.factors.contains(factor) else {
      throw .poolInvalid("\(factor.rawValue) is not enabled for this user pool.")
    }
    if let attribute = factor.address {
      guard user.attributes[attribute] != nil else {
        throw .poolInvalid("User does not have \(attribute).")
      }
    } else {
      guard user.softwareToken != nil else {
        throw .poolInvalid("User has not verified software token mfa")
      }
    }
  }

  /// AssociateSoftwareToken with an access token.
  mutating func associate(_ holder: PoolUser) throws(ServiceError) -> JSON {
    ["SecretCode": .string(try newSecret(of: holder.username))]
  }

  /// An earlier unproven secret becomes void.
  private mutating func newSecret(of username: String) throws(ServiceError) -> String {
    let secret = random.bytes(UserPool.secretBytes)
    try change(username) { user throws(ServiceError) in user.pendingSecret = secret }
    return Base32.text(secret)
  }

  /// VerifySoftwareToken with an access token.
  mutating func verify(_ call: SetupCode, of holder: PoolUser) throws(ServiceError) -> JSON {
    guard let secret = holder.pendingSecret else { throw UserPool.noSecret }
    try prove(call, secret, of: holder.username)
    return ["Status": "SUCCESS"]
  }

  private static let noSecret = ServiceError(
    "SoftwareTokenMFANotFoundException", "Software Token MFA has not been set up.")

  private mutating func prove(
    _ call: SetupCode, _ secret: [UInt8], of username: String
  ) throws(ServiceError) {
    var token = SoftwareToken(secret: secret, name: call.name)
    guard token.judge(call.code, at: now) == .right else { throw .wrongSetupCode }
    try change(username) { user throws(ServiceError) in
      user.softwareToken = token
      user.pendingSecret = nil
    }
  }
}

/// The setup within a sign-in (MFA_SETUP): each call ends the Session and gives a new one.
extension UserPool {
  mutating func associate(session: String, client: AppClient) throws(ServiceError) -> JSON {
    let signIn = try setup(session, client)
    guard case .setup(let choices, _, _) = signIn.step, choices.contains(.software) else {
      throw .foreignSession
    }
    signIns.use(session)
    let text = try newSecret(of: signIn.username)
    let reply = challenge(
      signIn, .setup(choices, secret: Base32.bytes(text), isProven: false), [:])
    return ["SecretCode": .string(text), "Session": reply["Session"] ?? ""]
  }

  mutating func verify(
    _ call: SetupCode, session: String, client: AppClient
  ) throws(ServiceError) -> JSON {
    let signIn = try setup(session, client)
    guard case .setup(let choices, let secret?, _) = signIn.step else { throw UserPool.noSecret }
    try prove(call, secret, of: signIn.username)
    try change(signIn.username) { user throws(ServiceError) in
      user.factors.formUnion([.software])
    }
    signIns.use(session)
    let reply = challenge(signIn, .setup(choices, secret: nil, isProven: true), [:])
    return ["Status": "SUCCESS", "Session": reply["Session"] ?? ""]
  }

  private func setup(_ session: String, _ client: AppClient) throws(ServiceError) -> SignIn {
    let signIn = try signIns.signIn(session, client: client.id, at: now)
    guard case .setup = signIn.step else { throw .foreignSession }
    return signIn
  }
}

/// UserCode and FriendlyDeviceName of VerifySoftwareToken.
struct SetupCode {
  let code: String
  let name: String?

  init(_ input: inout CognitoInput) throws(ServiceError) {
    code = try input.text("UserCode", .userCode)
    name = try input.optionalText("FriendlyDeviceName", .anyText)
  }
}
