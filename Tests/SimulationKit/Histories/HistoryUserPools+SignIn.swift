import CredCore

/// Sign-ins with their questions.
extension HistoryUserPools {
  func begin(_ body: JSONValue?, _ server: String) -> HTTPReply {
    let parameters = body?["AuthParameters"]
    guard let name = parameters?["USERNAME"]?.text, let person = HistoryPeople.person(named: name)
    else { return .userPool("UserNotFoundException", "User does not exist.") }
    let user = User(server: server, person: person)
    if let refusal = refusal(ofDeviceIn: parameters, for: user, mayForget: true) { return refusal }
    if parameters?["DEVICE_KEY"] == nil { beganWithoutDevice(user) }
    let device = rememberedDevice(in: parameters)
    let proof = (parameters?["SRP_A"]?.text).map {
      Question.proof(HistoryProof(publicValue: $0, &world.random))
    }
    var questions: [Question]
    switch (body?["AuthFlow"]?.text, proof) {
    case ("USER_SRP_AUTH", let proof?): questions = [proof] + moreQuestions(of: user, on: device)
    case ("USER_PASSWORD_AUTH", _):
      guard parameters?["PASSWORD"]?.text == password(of: person, at: server) else {
        return .wrongPassword
      }
      questions = moreQuestions(of: user, on: device)
    case ("CUSTOM_AUTH", let proof): questions = (proof.map { [$0] } ?? []) + [custom(of: user)]
    case ("USER_AUTH", let proof?): questions = [proof] + moreQuestions(of: user, on: device)
    case ("USER_AUTH", nil):
      questions = [
        .choice(
          challenge: "SELECT_CHALLENGE", among: ["PASSWORD_SRP", "EMAIL_OTP"],
          leadsTo: [code("EMAIL_OTP", user)])
      ]
    default: return .userPool("InvalidParameterException", "Initiate Auth method not supported.")
    }
    return next(
      SignIn(
        user: user, pool: Self.name(of: body), questions: questions, session: 0, ends: world.now,
        device: HistoryFactors.device(withKey: parameters?["DEVICE_KEY"])))
  }

  /// The client names the pool, whose name is part of proofs: see ``HistoryConfiguration/Backend``.
  static func name(of body: JSONValue?) -> String {
    String((body?["ClientId"]?.text ?? "").dropFirst(client.utf8.count))
  }

  /// - Parameter device: which takes the place of a code.
  private func moreQuestions(of user: User, on device: Int?) -> [Question] {
    if let device { return (world.random.happens(0.2) ? [.newPassword] : []) + [.device(device)] }
    return switch world.random.index(8) {
    case 0, 1: [code("SMS_MFA", user)]
    case 2: [.newPassword]
    case 3: [.newPassword, code("EMAIL_OTP", user)]
    case 4:
      [
        .choice(
          challenge: "SELECT_MFA_TYPE", among: ["SMS_MFA", "SOFTWARE_TOKEN_MFA"],
          leadsTo: [code("SOFTWARE_TOKEN_MFA", user)])
      ]
    case 5, 6:
      factors.usersWithApp.contains(user)
        ? [code("SOFTWARE_TOKEN_MFA", user)] : [.appSetup(nil, isVerified: false)]
    default: []
    }
  }

  /// A code is in no table of what may be told: it goes to its user by another way.
  private func code(_ challenge: String, _ user: User) -> Question {
    .code(
      challenge, parameter: "\(challenge)_CODE", answer: HistorySecret.text(upstreams.nextNumber()))
  }

  private func custom(of user: User) -> Question {
    .custom(answer: HistorySecret.text(upstreams.nextNumber()))
  }

  /// Asks the next question, or gives tokens.
  private func next(_ signIn: SignIn) -> HTTPReply {
    var signIn = signIn
    signIns[signIn.session] = nil
    guard let question = signIn.questions.first else {
      latest[signIn.user] = nil
      return newSession(signIn.user, at: signIn.pool, on: signIn.device)
    }
    signIn.session = add(.session, signIn.user, 0, lifetime: 180)
    signIn.ends = world.now + Self.answerTime
    signIns[signIn.session] = signIn
    latest[signIn.user] = signIn.session
    let name = signIn.user.name
    var more = ""
    var parameters = #"{"USERNAME":"\#(name)"}"#
    switch question {
    case .proof(let proof): parameters = proof.parameters(name)
    case .choice(challenge: "SELECT_CHALLENGE", let choices, _):
      more = #","AvailableChallenges":[\#(Self.list(choices))]"#
    case .choice(_, let choices, _):
      let list = "[" + choices.map { #"\"\#($0)\""# }.joined(separator: ",") + "]"
      parameters = #"{"USERNAME":"\#(name)","MFAS_CAN_CHOOSE":"\#(list)"}"#
    case .newPassword:
      parameters = #"{"USERNAME":"\#(name)","requiredAttributes":"[]","userAttributes":"{}"}"#
    case .appSetup:
      parameters = #"{"USERNAME":"\#(name)","MFAS_CAN_SETUP":"[\"SOFTWARE_TOKEN_MFA\"]"}"#
    case .deviceProof(let device, let proof):
      parameters = proof.parameters(name, device: HistoryFactors.key(of: device))
    case .code, .custom, .device: break
    }
    return .plain(
      200,
      #"{"ChallengeName":"\#(question.challenge)","#
        + #""Session":"\#(Self.text(ofSession: signIn.session))","#
        + #""ChallengeParameters":\#(parameters)\#(more)}"#)
  }

  static func text(ofSession number: Int) -> String {
    "\(HistorySecret.text(number))-of-a-sign-in"
  }

  private static func list(_ names: [String]) -> String {
    names.map { #""\#($0)""# }.joined(separator: ",")
  }

  func respond(_ body: JSONValue?) -> HTTPReply {
    let answers = body?["ChallengeResponses"]
    guard let number = body?["Session"].flatMap(number), var signIn = signIns[number],
      let question = signIn.questions.first
    else { return .userPool("NotAuthorizedException", "Invalid session for the user.") }
    guard signIn.ends > world.now else {
      signIns[number] = nil
      return .userPool(
        "NotAuthorizedException", "Invalid session for the user, session is expired.")
    }
    guard answers?["USERNAME"]?.text == signIn.user.name else {
      world.violate(
        .neverForeign, "an answer to \(signIn.user.name)'s question is another's")
      return .wrongPassword
    }
    if let refusal = refusal(ofDeviceIn: answers, for: signIn.user) { return refusal }
    guard body?["ChallengeName"]?.text == question.challenge else {
      return .userPool("InvalidParameterException", "another challenge is open")
    }
    signIn.questions.removeFirst()
    switch question {
    case .proof(let proof):
      let expected = proof.signature(
        pool: signIn.pool, username: signIn.user.name,
        password: password(of: signIn.user.person, at: signIn.user.server),
        timestamp: answers?["TIMESTAMP"]?.text ?? "")
      guard answers?["PASSWORD_CLAIM_SIGNATURE"]?.text == expected else {
        signIns[number] = nil
        return .wrongPassword
      }
    case .code(_, let parameter, let answer):
      guard answers?[parameter]?.text == answer else {
        return .userPool("CodeMismatchException", "Invalid code received for user")
      }
    case .choice(_, let choices, let after):
      let chosen = answers?["ANSWER"]?.text ?? ""
      guard choices.contains(chosen) else { return .wrongPassword }
      if chosen == "PASSWORD_SRP" {
        guard let value = answers?["SRP_A"]?.text else { return .wrongPassword }
        signIn.questions = [.proof(HistoryProof(publicValue: value, &world.random))]
      } else {
        signIn.questions = chosen == choices.last ? after : [code(chosen, signIn.user)]
      }
    case .newPassword:
      let password = answers?["NEW_PASSWORD"]?.text
      // A client that does not know the password tries this one.
      guard password != "wrong" else {
        return .userPool("InvalidPasswordException", "Password not long enough")
      }
      passwords[signIn.user] = password
    case .custom(let answer):
      guard answers?["ANSWER"]?.text == answer else {
        signIns[number] = nil
        return .wrongPassword
      }
    case .appSetup(_, let isVerified):
      if let refusal = appIsSetUp(signIn.user, isVerified: isVerified) { return refusal }
    case .device(let device):
      guard let value = answers?["SRP_A"]?.text, let proof = deviceProof(device, publicValue: value)
      else { return .wrongPassword }
      signIn.questions.insert(.deviceProof(device, proof), at: 0)
    case .deviceProof(let device, let proof):
      guard isProved(device, proof, by: answers) else {
        signIns[number] = nil
        return .wrongPassword
      }
    }
    return next(signIn)
  }
}

extension HistoryUserPools.Question {
  fileprivate var challenge: String {
    switch self {
    case .proof: "PASSWORD_VERIFIER"
    case .code(let name, _, _): name
    case .choice(let name, _, _): name
    case .newPassword: "NEW_PASSWORD_REQUIRED"
    case .custom: "CUSTOM_CHALLENGE"
    case .appSetup: "MFA_SETUP"
    case .device: "DEVICE_SRP_AUTH"
    case .deviceProof: "DEVICE_PASSWORD_VERIFIER"
    }
  }
}
