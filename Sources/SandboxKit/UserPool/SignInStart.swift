import FoundationEssentials

/// InitiateAuth.
extension UserPool {
  mutating func initiateAuth(
    _ input: CognitoInput, client: AppClient
  ) throws(ServiceError) -> JSON {
    var input = input
    let flow = try input.text("AuthFlow", .anyText)
    let parameters = try input.parameters("AuthParameters")
    let session = try input.optionalText("Session", .session)
    try input.takeCommonMembers()
    try input.finish()
    guard session == nil || flow == "USER_AUTH" else { throw .foreignSession }
    try Self.check(flow, of: client)
    switch flow {
    case "USER_SRP_AUTH":
      let request = try StartRequest(parameters, client, ["SRP_A"])
      return try startProof(request, client, isCustom: false)
    case "USER_PASSWORD_AUTH":
      let request = try StartRequest(parameters, client, ["PASSWORD"])
      return try startPassword(request, client)
    case "CUSTOM_AUTH":
      return try startCustom(
        StartRequest(parameters, client, ["SRP_A", "CHALLENGE_NAME"]), client)
    case "USER_AUTH":
      let request = try StartRequest(
        parameters, client, ["SRP_A", "PASSWORD", "PREFERRED_CHALLENGE"])
      return try startChoice(request, client, session: session)
    case "REFRESH_TOKEN_AUTH", "REFRESH_TOKEN":
      return try refresh(byFlow: parameters, client)
    case "ADMIN_USER_PASSWORD_AUTH", "ADMIN_NO_SRP_AUTH", "ADMIN_USER_SRP_AUTH":
      throw .poolInvalid("Initiate Auth method not supported.")
    default:
      throw .poolInvalid(
        CognitoInput.summary(of: [
          "Value '\(flow)' at 'authFlow' failed to satisfy constraint: Member must satisfy enum "
            + "value set: [USER_SRP_AUTH, USER_PASSWORD_AUTH, USER_AUTH, CUSTOM_AUTH, "
            + "REFRESH_TOKEN_AUTH, REFRESH_TOKEN, ADMIN_USER_PASSWORD_AUTH, ADMIN_NO_SRP_AUTH]"
        ]))
    }
  }

  /// Checks that the app client allows a flow. Each refusal has its own text.
  private static func check(_ flow: String, of client: AppClient) throws(ServiceError) {
    let (isAllowed, refusal) =
      switch flow {
      case "USER_SRP_AUTH":
        (client.flows.contains(.srp), "USER_SRP_AUTH is not enabled for the client.")
      case "USER_PASSWORD_AUTH":
        (
          client.flows.contains(.password), "USER_PASSWORD_AUTH flow not enabled for this client"
        )
      case "CUSTOM_AUTH":
        (client.flows.contains(.custom), "Initiate Auth method not supported.")
      case "USER_AUTH": (client.flows.contains(.choice), "Initiate Auth method not supported.")
      default: (true, "")
      }
    guard isAllowed else { throw .poolInvalid(refusal) }
  }

  /// A sign-in of the user, or of an invented one if the client hides which users exist.
  private func newSignIn(
    _ request: StartRequest, _ client: AppClient, isCustom: Bool
  ) throws(ServiceError) -> SignIn {
    let user = find(request.username)
    guard user != nil || client.hidesUsers else { throw .unknownUser }
    if let key = request.deviceKey {
      guard user?.devices[key] != nil else { throw .unknownDevice }
    }
    return SignIn(
      client: client.id, username: user?.username ?? inventedName(for: request.username),
      typed: request.username, exists: user != nil, isCustom: isCustom, step: .newPassword,
      deviceKey: request.deviceKey, began: now)
  }

  private func inventedName(for typed: String) -> String {
    let digits = Array(hexadecimal(invented("name", typed)))
    func part(_ range: Range<Int>) -> String { String(digits[range]) }
    return "\(part(0..<8))-\(part(8..<12))-4\(part(13..<16))-9\(part(17..<20))-\(part(20..<32))"
  }

  /// PASSWORD_VERIFIER, for a user who exists or is invented.
  private mutating func startProof(
    _ request: StartRequest, _ client: AppClient, isCustom: Bool
  ) throws(ServiceError) -> JSON {
    let signIn = try newSignIn(request, client, isCustom: isCustom)
    guard let value = request.values["SRP_A"] else { throw .missing("SRP_A") }
    // Like Cognito, gives a Session here only if all steps of the sign-in have one.
    return try proofChallenge(signIn, clientValue: value, withSession: isCustom)
  }

  mutating func proofChallenge(
    _ signIn: SignIn, clientValue text: String, withSession: Bool
  ) throws(ServiceError) -> JSON {
    let verifier =
      user(signIn.username)?.verifier
      ?? SRPVerifier(
        salt: Natural(invented("salt", signIn.typed).prefix(16)),
        verifier: SRPGroup.power(
          SRPGroup.generator, Natural(invented("verifier", signIn.typed))))
    let exchange = try exchange(
      domain: name, name: signIn.username, verifier: verifier, clientValue: text)
    var parameters: [String: JSON] = exchange.parameters
    parameters["USERNAME"] = .string(signIn.username)
    parameters["USER_ID_FOR_SRP"] = .string(signIn.username)
    return challenge(
      signIn, .proof(exchange), parameters,
      handle: withSession ? nil : exchange.secretBlock)
  }

  mutating func exchange(
    domain: String, name: String, verifier: SRPVerifier, clientValue text: String
  ) throws(ServiceError) -> SRPExchange {
    let shape =
      settings.proofShape ?? SRPExchange.Shape.cycle[proofs % SRPExchange.Shape.cycle.count]
    proofs += 1
    guard let value = Natural(hexadecimal: text), value.bitWidth <= 3072,
      let exchange = SRPExchange(
        domain: domain, name: name, verifier: verifier, clientValue: value, shape: shape,
        random: &random)
    else { throw .poolInvalid("SRP_A is not a valid public value.") }
    return exchange
  }

  private mutating func startPassword(
    _ request: StartRequest, _ client: AppClient
  ) throws(ServiceError) -> JSON {
    guard let password = request.values["PASSWORD"] else { throw .missing("PASSWORD") }
    let signIn = try newSignIn(request, client, isCustom: false)
    try checkPassword(password, of: signIn)
    return try proceed(signIn)
  }

  private mutating func startCustom(
    _ request: StartRequest, _ client: AppClient
  ) throws(ServiceError) -> JSON {
    guard !settings.customRounds.isEmpty else {
      throw .poolInvalid("Custom auth lambda trigger is not configured for the user pool.")
    }
    switch (request.values["CHALLENGE_NAME"], request.values["SRP_A"]) {
    case ("SRP_A", _): return try startProof(request, client, isCustom: true)
    case (nil, nil): return try proceed(newSignIn(request, client, isCustom: true))
    case (nil, _): throw .missing("CHALLENGE_NAME")
    default: throw .poolInvalid("CHALLENGE_NAME must be SRP_A")
    }
  }

  private mutating func startChoice(
    _ request: StartRequest, _ client: AppClient, session: String?
  ) throws(ServiceError) -> JSON {
    var signIn = try newSignIn(request, client, isCustom: false)
    if let session {
      let earlier = try signIns.signIn(session, client: client.id, at: now)
      guard case .confirmed = earlier.step, earlier.username == signIn.username else {
        throw .foreignSession
      }
      signIns.use(session)
      return try proceed(signIn)
    }
    let available = firstFactors(of: signIn)
    let preferred = request.values["PREFERRED_CHALLENGE"]
    let values = request.values
    if let preferred, ["PASSWORD", "PASSWORD_SRP"].contains(preferred),
      values[preferred == "PASSWORD" ? "PASSWORD" : "SRP_A"] == nil
    {
      signIn.step = preferred == "PASSWORD" ? .password : .passwordProof
      return challenge(signIn, signIn.step, [:])
    }
    let sole = available.count == 1 && available.first != "PASSWORD" ? available.first : nil
    guard let choice = preferred ?? sole, available.contains(choice) else {
      return challenge(signIn, .selectChallenge(available), [:], available: available)
    }
    return try begin(choice, signIn, values)
  }
}

/// The parameters of InitiateAuth in every flow except the refresh.
struct StartRequest {
  var username: String
  var deviceKey: String?
  var values: [String: String]

  init(
    _ parameters: [String: String], _ client: AppClient, _ others: Set<String>
  ) throws(ServiceError) {
    let known = others.union(["USERNAME", "SECRET_HASH", "DEVICE_KEY"])
    if let unknown = parameters.keys.filter({ !known.contains($0) }).min() {
      throw .poolInvalid("The flow has no parameter \(unknown).")
    }
    guard let username = parameters["USERNAME"], !username.isEmpty else {
      throw .missing("USERNAME")
    }
    if let violation = InputRule.poolUser.violation(of: username, at: "username") {
      throw .poolInvalid(CognitoInput.summary(of: [violation]))
    }
    try client.checkHash(parameters["SECRET_HASH"], of: username)
    self.username = username
    deviceKey = parameters["DEVICE_KEY"]
    values = parameters
  }
}

extension SRPExchange {
  /// The parameters of a challenge.
  var parameters: [String: JSON] {
    [
      "SALT": .string(verifier.salt.hexadecimalText),
      "SRP_B": .string(serverValue.hexadecimalText), "SECRET_BLOCK": .string(secretBlock),
    ]
  }
}
