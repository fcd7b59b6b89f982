/// The pool's replies, and the steps that follow without the user.
extension PoolConversation {
  // MARK: Begin

  mutating func start(_ context: inout Context) -> Action {
    switch plan.flow {
    case .srp, .customSRP: return prepare(.start, &context)
    case .choice where input.password != nil: return prepare(.start, &context)
    case .choice: return initiate(.choice(nil))
    case .custom: return initiate(.custom)
    case .password:
      guard let password = input.password else { return fail(Self.noPassword(upstream)) }
      return initiate(.password(password), isOfPassword: true)
    }
  }

  /// Begins again without the device that the pool does not know.
  mutating func startWithoutDevice(_ context: inout Context) -> Action {
    droppedDevice = device?.key
    device = nil
    input.devices = []
    username = input.username
    hasGivenPassword = false
    isPasswordProved = false
    return start(&context)
  }

  private mutating func prepare(_ what: Prepared, _ context: inout Context) -> Action {
    state = .preparing(what)
    return .compute(.keyPair(SRPPrivateValue(using: &context.random)))
  }

  private mutating func initiate(
    _ start: PoolSignInStart, pair: SRPKeyPair? = nil, isOfPassword: Bool = false
  ) -> Action {
    // The SDKs send the data for only the first trigger in the same member.
    let entries = input.metadata.entries + input.validationData.entries
    let metadata = (try? ClientMetadata(entries)) ?? input.metadata
    return send(
      .initiate(start, username: username, device: device?.key, metadata: metadata),
      Sent(pair: pair, isOfPassword: isOfPassword))
  }

  mutating func send(_ request: PoolRequest, _ sent: Sent) -> Action {
    requests += 1
    guard requests <= Limits.Challenge.requestsPerAnswer else {
      return fail(malformed("the pool", "asks for more than a sign-in has"))
    }
    state = .sending(sent)
    return .send(request)
  }

  /// - Parameter session: replaces the challenge's own Session.
  mutating func respond(
    _ answer: PoolAnswer, to challenge: PoolChallenge, _ sent: Sent, session: Secret? = nil
  ) -> Action {
    send(
      .respond(
        answer, username: username, session: session ?? challenge.session, device: device?.key,
        metadata: input.metadata),
      sent)
  }

  // MARK: Proofs

  mutating func computed(_ result: PoolProof.Result, _ context: inout Context) -> Action {
    switch (result, state) {
    case (.refused(let error), _): return fail(.malformed(error.asInput, from: upstream))
    case (.keyPair(let pair), .preparing(let what)): return send(what, with: pair)
    case (.claim(let claim), .proving(let challenge, let isOfDevice)):
      return respond(
        isOfDevice ? .devicePasswordVerifier(claim) : .passwordVerifier(claim), to: challenge,
        Sent(isOfDevice: isOfDevice, isOfPassword: !isOfDevice))
    case (.deviceVerifier(let verifier), .confirming(let arrival, let device, .computing)):
      return .send(confirm(device, arrival, verifier, attempt: 1))
    default: preconditionFailure("the result belongs to another state")
    }
  }

  private mutating func send(_ what: Prepared, with pair: SRPKeyPair) -> Action {
    let value = pair.publicValue
    switch what {
    case .start:
      switch plan.flow {
      case .customSRP: return initiate(.customAfterSRP(value), pair: pair)
      case .choice: return initiate(.choice(.passwordSRP(value)), pair: pair)
      case .srp, .password, .custom: return initiate(.srp(value), pair: pair)
      }
    case .device(let challenge):
      return respond(.deviceSRP(value), to: challenge, Sent(pair: pair, isOfDevice: true))
    case .password(let challenge, let asChoice, let question):
      return respond(
        asChoice ? .choice(.passwordSRP(value)) : .passwordSRP(value), to: challenge,
        Sent(pair: pair, question: question))
    }
  }

  private mutating func prove(
    _ identity: SRPIdentity, _ srp: SRPChallenge, _ pair: SRPKeyPair, _ challenge: PoolChallenge,
    ofDevice: Bool, _ context: Context
  ) -> Action {
    state = .proving(challenge, ofDevice: ofDevice)
    let time = serverTime.map { $0.time + (context.now - $0.at) } ?? context.wallTime
    return .compute(.claim(pair, identity, srp, at: time))
  }

  // MARK: Replies

  mutating func replied(_ reply: PoolReply, _ context: inout Context) -> Action {
    switch (reply, state) {
    case (.signIn(let reply), .sending(let sent)):
      serverTime = reply.serverTime.map { ($0, context.now) }
      switch reply.step {
      case .tokens(let tokens): return received(tokens, reply.serverTime, &context)
      case .challenge(let challenge): return received(challenge, sent, &context)
      }
    case (.softwareToken(let token), .sending(let sent)):
      return ask(
        .appCode(sent.setupChallenge, token, proved: nil), to: sent.setupChallenge, context)
    case (.softwareTokenVerified(let session), .sending(let sent)):
      return respond(
        .mfaIsSetUp, to: sent.setupChallenge, Sent(question: sent.question?.proved(session)),
        session: session)
    case (.deviceConfirmed(let needsConsent), .confirming(let arrival, let device, .sending)):
      return confirmed(device, arrival, needsConsent: needsConsent)
    case (.deviceRemembered, .confirming(let arrival, let device, .remembering)):
      return finish(arrival, with: device)
    default: preconditionFailure("the reply belongs to another request")
    }
  }

  private mutating func received(
    _ challenge: PoolChallenge, _ sent: Sent, _ context: inout Context
  ) -> Action {
    if let name = challenge.username {
      username = name
      if device == nil { device = Self.device(of: name, in: input) }
    }
    // The pool went on, so the password was right: a wrong one ends the sign-in.
    if sent.isOfPassword { isPasswordProved = true }
    switch challenge.kind {
    case .passwordVerifier(let srp, let userID):
      guard let pair = sent.pair, !sent.isOfDevice, let password = input.password else {
        return fail(malformed(challenge.name, "comes without a proof that was begun"))
      }
      return prove(
        .user(userID, of: plan.pool, password: password), srp, pair, challenge,
        ofDevice: false,
        context)
    case .deviceSRP:
      guard device != nil else {
        return fail(malformed(challenge.name, "is about a device, and none was named"))
      }
      return prepare(.device(challenge), &context)
    case .devicePasswordVerifier(let srp):
      guard let pair = sent.pair, sent.isOfDevice, let device else {
        return fail(malformed(challenge.name, "comes without a proof that was begun"))
      }
      return prove(.device(device), srp, pair, challenge, ofDevice: true, context)
    case .password, .passwordSRP: return passwordWanted(challenge, &context)
    case .choice(let choices): return choiceWanted(choices, challenge, &context)
    case .mfaSetup(let factors): return setupWanted(factors, challenge, context)
    case .mfaType([]):
      return fail(malformed(challenge.name, "offers nothing to choose from"))
    case .mfaType(let types) where !types.contains(where: ChallengeName.mayAnswer):
      return fail(unsupported(types, of: challenge.name))
    case .unsupported: return fail(unsupported([challenge.name]))
    case .mfaType, .code, .newPassword, .custom:
      return ask(.pool(challenge), to: challenge, after: sent, context)
    }
  }

  /// PASSWORD and PASSWORD_SRP.
  private mutating func passwordWanted(
    _ challenge: PoolChallenge, _ context: inout Context
  ) -> Action {
    let isProof = challenge.kind == .passwordSRP
    guard isProof || plan.mayShowPassword else { return fail(unsupported([challenge.name])) }
    let way: PasswordWay = isProof ? .proof(asChoice: false) : .plain(asChoice: false)
    return givePassword(way, to: challenge, nil, &context)
  }

  /// Gives the password of the request if there is one and it was not given yet. Else asks for a
  /// password.
  mutating func givePassword(
    _ way: PasswordWay, to challenge: PoolChallenge, _ question: Question?,
    _ context: inout Context
  ) -> Action {
    guard let password = input.password, !hasGivenPassword else {
      return ask(.password(challenge, way), to: challenge, context)
    }
    hasGivenPassword = true
    switch way {
    case .plain(let asChoice):
      return respond(
        asChoice ? .choice(.password(password)) : .password(password), to: challenge,
        Sent(question: question, isOfPassword: true))
    case .proof(let asChoice):
      return prepare(.password(challenge, asChoice: asChoice, question), &context)
    }
  }

  /// SELECT_CHALLENGE. If there is a password, the user is not asked.
  private mutating func choiceWanted(
    _ choices: [String], _ challenge: PoolChallenge, _ context: inout Context
  ) -> Action {
    let known = choices.compactMap(ChallengeName.init).filter {
      ChallengeName.choices.contains($0) && ($0 != .password || plan.mayShowPassword)
    }
    guard !known.isEmpty else {
      return fail(unsupported(choices, of: challenge.name))
    }
    if input.password != nil, !hasGivenPassword {
      if known.contains(.passwordSRP) {
        return givePassword(.proof(asChoice: true), to: challenge, nil, &context)
      }
      if known.contains(.password) {
        return givePassword(.plain(asChoice: true), to: challenge, nil, &context)
      }
    }
    return ask(.choice(challenge, known), to: challenge, context)
  }

  private mutating func setupWanted(
    _ factors: [String], _ challenge: PoolChallenge, _ context: Context
  ) -> Action {
    let known = factors.compactMap(MFAFactor.init).filter { $0 != .sms }
    switch (known.count, known.first) {
    // An older pool does not say which factors it accepts.
    case (0, _) where factors.isEmpty: return setUp(.app, challenge, nil, context)
    case (1, let factor?): return setUp(factor, challenge, nil, context)
    case (2..., _): return ask(.setup(challenge, known), to: challenge, context)
    default: return fail(unsupported(factors, of: challenge.name))
    }
  }

  /// - Parameter question: the question with which the user chose the factor.
  mutating func setUp(
    _ factor: MFAFactor, _ challenge: PoolChallenge, _ question: Question?, _ context: Context
  ) -> Action {
    guard factor == .app else { return ask(.address(challenge), to: challenge, context) }
    guard let session = challenge.session else {
      return fail(malformed(challenge.name, "has no Session"))
    }
    return send(
      .associateSoftwareToken(session: session), Sent(question: question, setup: challenge))
  }
}

extension PoolConversation.Sent {
  fileprivate var setupChallenge: PoolChallenge {
    guard let setup else { preconditionFailure("the request sets up no authenticator app") }
    return setup
  }
}

/// How a password goes to the pool after its first request.
enum PasswordWay: Sendable, Equatable {
  /// - Parameter asChoice: whether it answers SELECT_CHALLENGE.
  case plain(asChoice: Bool)
  case proof(asChoice: Bool)
}

extension PoolConversation.Plan {
  /// Whether the pool may get the password itself. If a proof is configured, it may not, even if it
  /// asks for the password.
  var mayShowPassword: Bool {
    switch flow {
    case .password, .choice: true
    case .srp, .custom, .customSRP: false
    }
  }
}
