/// The questions to the user, and the answers.
extension PoolConversation {
  /// A question, with the purpose of its answer.
  struct Question: Sendable {
    enum Subject: Sendable {
      /// A challenge of the pool that the user answers directly.
      case pool(PoolChallenge)
      /// A way to sign in.
      case choice(PoolChallenge, [ChallengeName])
      case password(PoolChallenge, PasswordWay)
      /// A second factor to set up.
      case setup(PoolChallenge, [MFAFactor])
      /// The address for the codes of a second factor.
      case address(PoolChallenge)
      /// The first code of an authenticator app. There is a Session once the pool has accepted a
      /// code: it does not accept a second one.
      case appCode(PoolChallenge, SoftwareToken, proved: Secret?)
      /// The question whether the pool should remember the device.
      case device(ReceivedTokens, DeviceSecret)
    }

    let subject: Subject
    let challenge: SignInChallenge
    let deadline: Instant
  }

  // MARK: Questions

  /// - Parameter sent: the request that brought the challenge.
  mutating func ask(
    _ subject: Question.Subject, to challenge: PoolChallenge, after sent: Sent = Sent(),
    _ context: Context
  ) -> Action {
    ask(subject, name: challenge.name, after: sent.question, context)
  }

  mutating func ask(
    _ subject: Question.Subject, name: String, after former: Question?, _ context: Context
  ) -> Action {
    let challenge = SignInChallenge(step(of: subject), name: name)
    // After a wrong answer, the pool's own trigger does not report an error, but asks again.
    let isTriggers = former?.isCustom ?? false && subject.isCustom
    let isSame = isTriggers && former?.challenge == challenge
    if isSame { wrongAnswers += 1 }
    // The trigger may change something in each question. A sign-in has a few questions; guessing
    // leads to many.
    let isOneTooMany =
      isTriggers && !isSame && unjudgedAnswers >= Limits.Challenge.freeQuestions
    if isOneTooMany { wrongAnswers += 1 }
    if isTriggers, !isSame, !isOneTooMany { unjudgedAnswers += 1 }
    let isRefusal = isSame || isOneTooMany
    guard wrongAnswers < Limits.Challenge.wrongAnswers else {
      return fail(tooManyAnswers, isRefusal: isRefusal)
    }
    state = .asked(
      Question(
        subject: subject, challenge: challenge, deadline: context.now + Limits.Challenge.answerTime)
    )
    return .ask(challenge, isRefusal: isRefusal)
  }

  private func step(of subject: Question.Subject) -> SignInStep {
    switch subject {
    case .pool(let challenge): step(of: challenge)
    case .choice(_, let choices): .select(choices.map(\.rawValue))
    case .password: .password
    case .setup(_, let factors): .select(factors.map(\.rawValue))
    case .address:
      .custom([NamedSecret(name: "Setup", value: Secret(MFAFactor.email.rawValue))])
    case .appCode(_, let token, _):
      .totpSetup(
        secret: token.secret,
        uri: token.uri(issuer: plan.backend, username: username))
    case .device: .select(["yes", "no"])
    }
  }

  private func step(of challenge: PoolChallenge) -> SignInStep {
    switch challenge.kind {
    case .code(let medium, let destination): return .code(medium, destination: destination)
    case .mfaType(let types): return .select(types.filter(ChallengeName.mayAnswer))
    case .newPassword(let required, let attributes):
      // An attribute that has a value already must not be given again.
      let missing = required.filter { name in
        !attributes.contains { $0.name == name && !$0.value.isEmpty }
      }
      return .newPassword(required: missing, attributes: attributes)
    case .custom(let parameters):
      return .custom(parameters.filter { !Self.ownParameters.contains($0.name) })
    default: preconditionFailure("other challenges are not for the user")
    }
  }

  /// Parameters that the pool adds to the trigger's parameters.
  private static let ownParameters = ["USERNAME", "USER_ID_FOR_SRP"]

  // MARK: Answers

  mutating func answered(
    _ answers: ChallengeAnswers, _ metadata: ClientMetadata?, _ context: inout Context
  ) -> Action {
    guard case .asked(let question) = state else {
      preconditionFailure("only a question is answered")
    }
    do throws(ProtocolError) {
      try answers.check(fit: question.challenge.step)
      let action = try self.answer(question, answers, metadata, &context)
      return action
    } catch {
      return .refuse(error)
    }
  }

  /// Takes an answer. Nothing changes until the answer is known to fit.
  private mutating func answer(
    _ question: Question, _ answers: ChallengeAnswers, _ metadata: ClientMetadata?,
    _ context: inout Context
  ) throws(ProtocolError) -> Action {
    let former = (requests, input.metadata)
    requests = 0
    if let metadata { input.metadata = metadata }
    do throws(ProtocolError) {
      return try follow(question, answers, &context)
    } catch {
      (requests, input.metadata) = former
      throw error
    }
  }

  private mutating func follow(
    _ question: Question, _ answers: ChallengeAnswers, _ context: inout Context
  ) throws(ProtocolError) -> Action {
    switch question.subject {
    case .pool(let challenge):
      return respond(
        try poolAnswer(answers, to: challenge, question), to: challenge,
        Sent(question: question))
    case .choice(let challenge, _):
      return try choose(try chosen(question, answers), challenge, question, &context)
    case .password(let challenge, let way):
      input.password = try password(answers)
      hasGivenPassword = false
      return givePassword(way, to: challenge, question, &context)
    case .setup(let challenge, _):
      guard let factor = MFAFactor(rawValue: try chosen(question, answers)) else {
        preconditionFailure("only known factors are offered")
      }
      return setUp(factor, challenge, question, context)
    case .address(let challenge):
      let address = try Self.answer("answer") { () throws(InvalidInput) in
        try UserPoolInput.text(
          answers["answer"] ?? Secret(""), "answer", 1...Limits.UserPool.attributeLength)
      }
      return respond(.mfaEmail(address), to: challenge, Sent(question: question))
    case .appCode(let challenge, _, let session?):
      return respond(.mfaIsSetUp, to: challenge, Sent(question: question), session: session)
    case .appCode(let challenge, let token, nil):
      return try verify(token, answers, challenge, question)
    case .device(let arrival, let device):
      wantsDevice = try chosen(question, answers) == "yes"
      return computeVerifier(of: device, arrival, &context)
    }
  }

  private func poolAnswer(
    _ answers: ChallengeAnswers, to challenge: PoolChallenge, _ question: Question
  ) throws(ProtocolError) -> PoolAnswer {
    switch question.challenge.step {
    case .code: .code(try code(answers), to: challenge.name)
    case .select: .mfaType(try chosen(question, answers))
    case .newPassword(let required, _):
      .newPassword(
        try password(answers), attributes: try attributes(answers, required: required))
    case .custom:
      .custom(
        try Self.answer("answer") { () throws(InvalidInput) in
          try UserPoolInput.text(
            answers["answer"] ?? Secret(""), "answer", 1...Limits.UserPool.answerBytes)
        }, to: challenge.name)
    case .password, .totpSetup, .browser, .device, .confirm:
      preconditionFailure("the pool has no such challenge")
    }
  }

  private func chosen(
    _ question: Question, _ answers: ChallengeAnswers
  ) throws(ProtocolError) -> String {
    guard case .select(let choices) = question.challenge.step else {
      preconditionFailure("a choice is made where there is one")
    }
    guard let choice = answers["choice"]?.exposedText(), choices.contains(choice) else {
      throw .invalid(
        "\"choice\" must be one of \(choices.map(\.quoted).joined(separator: ", "))")
    }
    return choice
  }

  private mutating func choose(
    _ name: String, _ challenge: PoolChallenge, _ question: Question, _ context: inout Context
  ) throws(ProtocolError) -> Action {
    switch ChallengeName(rawValue: name) {
    case .password: givePassword(.plain(asChoice: true), to: challenge, question, &context)
    case .passwordSRP: givePassword(.proof(asChoice: true), to: challenge, question, &context)
    default:
      respond(.choice(.code(name)), to: challenge, Sent(question: question))
    }
  }

  private mutating func verify(
    _ token: SoftwareToken, _ answers: ChallengeAnswers, _ challenge: PoolChallenge,
    _ question: Question
  ) throws(ProtocolError) -> Action {
    let code = try code(answers)
    let name = try answers["name"].map { (name: Secret) throws(ProtocolError) -> String in
      let longest = Limits.UserPool.deviceNameLength
      guard let text = name.exposedText(), (1...longest).contains(text.unicodeScalars.count)
      else { throw .invalid("\"name\" must be 1 to \(longest) characters") }
      return text
    }
    guard let session = token.session ?? challenge.session else {
      return fail(malformed(challenge.name, "has no Session"))
    }
    return send(
      .verifySoftwareToken(session: session, code: code, name: name),
      Sent(question: question, setup: challenge))
  }

  private func code(_ answers: ChallengeAnswers) throws(ProtocolError) -> Secret {
    try Self.answer("code") { () throws(InvalidInput) in
      try UserPoolInput.code(answers["code"] ?? Secret(""))
    }
  }

  private func password(_ answers: ChallengeAnswers) throws(ProtocolError) -> Secret {
    try Self.answer("password") { () throws(InvalidInput) in
      try UserPoolInput.password(answers["password"] ?? Secret(""))
    }
  }

  private func attributes(
    _ answers: ChallengeAnswers, required: [String]
  ) throws(ProtocolError) -> [NamedSecret] {
    let given = answers.attributes ?? []
    if let stray = given.first(where: { !required.contains($0.name) }) {
      throw .invalid(
        "attribute \(stray.name.quoted) is not asked for: only those in \"Required\" may be given")
    }
    if let missing = required.first(where: { name in !given.contains { $0.name == name } }) {
      throw .invalid("\"attributes\" must have \(missing.quoted)")
    }
    for attribute in given {
      _ = try Self.answer("attributes") { () throws(InvalidInput) in
        try UserPoolInput.attribute(attribute)
      }
    }
    return given
  }
}

extension PoolConversation.Question {
  /// The same question, if the pool did not get the message to go on after the code.
  func proved(_ session: Secret?) -> Self {
    guard case .appCode(let challenge, let token, _) = subject else { return self }
    return Self(
      subject: .appCode(challenge, token, proved: session ?? challenge.session),
      challenge: self.challenge, deadline: deadline)
  }

  fileprivate var isCustom: Bool { subject.isCustom }
}

extension PoolConversation.Question.Subject {
  /// Whether the pool's own trigger judges the answer.
  fileprivate var isCustom: Bool {
    if case .pool(let challenge) = self, case .custom = challenge.kind { true } else { false }
  }
}
