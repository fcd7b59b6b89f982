import CredCore

/// Sign-ins at a user pool: carries out the actions of a conversation.
extension SignIns {
  /// Begins a conversation with the user pool of a profile: the session's own, or the linked one.
  /// The session does not change until the conversation ends.
  func beginAtPool(
    _ login: LoginRequest, _ username: String, _ password: Secret?, at pool: Profile,
    _ session: Session, _ turn: Turn
  ) {
    var input = PoolConversation.Input(username: username, password: password)
    input.metadata = login.metadata ?? ClientMetadata()
    input.validationData = login.validationData ?? ClientMetadata()
    if let issuer = pool.plan.backend.issuer {
      input.devices = devices[session.key.uid]?.devices(of: session.owner, at: issuer) ?? []
    }
    guard let plan = pool.conversationPlan else {
      preconditionFailure("the profile has no user pool")
    }
    let conversation: PoolConversation
    do throws(ProtocolError) {
      conversation = try PoolConversation(plan, input)
    } catch {
      return turn.refuse(error)
    }
    let attempt = guesses.attempt(of: session.key, as: username)
    let isCustom = plan.flow == .custom
    if let error = guesses.refusal(of: attempt)
      ?? guesses.refusalOfMessage(attempt, at: isCustom ? nil : plan.backend)
    {
      return refuse(login, session, turn, error)
    }
    let signIn = enter(login, .pool(conversation), attempt, session, turn)
    // Before the user has proved a password, the pool's triggers may send any message.
    if isCustom { countCustomMessage(of: signIn) }
    begin(signIn, session, turn) { take(PoolConversation.Event.started, signIn, turn.now) }
  }

  /// Takes an event of a sign-in, and carries out the action that follows.
  func take(_ event: PoolConversation.Event, _ signIn: OpenSignIn, _ now: Instant) {
    signIn.step = .none
    if signIn.messages.mayBeSent, case .failed(let failure) = event, failure.isReplyLost {
      countMessage(of: signIn)
    }
    signIn.messages.mayBeSent = false
    guard case .pool(var conversation) = signIn.conversation else {
      preconditionFailure("a user pool answers sign-ins at user pools alone")
    }
    let before = signIn.conversation
    let action = conversation.handle(
      event, now: now, wallTime: host.clock.wallTime, random: &host.random)
    signIn.conversation = .pool(conversation)
    if case .send(let request) = action, let error = countMessage(askedForBy: request, signIn) {
      // The question stays open.
      signIn.conversation = before
      return perform(.refuse(error), signIn, now)
    }
    perform(action, signIn, now)
  }

  func perform(_ action: PoolConversation.Action, _ signIn: OpenSignIn, _ now: Instant) {
    switch action {
    case .compute(let proof): start(.compute(proof), signIn)
    case .send(let request): send(request, signIn)
    case .sendLater(let request, let pause): signIn.step = .later(request, at: now + pause)
    case .ask(let challenge, let isRefusal): ask(challenge, isRefusal, signIn, now)
    case .askAgain(let failure, let isRefusal):
      recordJudgement(signIn, isRefusal: isRefusal)
      answer(signIn, withRefusal: failure.signInRefusal, isOpen: true)
    case .refuse(let error):
      stepEnded(signIn)
      answer(signIn, withRefusal: error, isOpen: true)
    case .finish(let result): finish(signIn, result, now)
    case .fail(let failure, let isRefusal): fail(signIn, failure, isRefusal: isRefusal)
    }
    if signIn.isIdle { stepTaken(signIn) }
    armTimer()
  }

  func send(_ request: PoolRequest, _ signIn: OpenSignIn) {
    signIn.messages.mayBeSent = request.maySendMessage
    limits.callSpent(by: signIn.key.uid)
    figures.signInStepSent()
    start(.send(request), signIn)
  }

  private func start(_ step: ConversationStep, _ signIn: OpenSignIn) {
    let id = beginCall(of: signIn)
    let call = ConversationCall(
      id: id, profile: signIn.signInProfile, user: signIn.user, step: step, place: signIn.poolPlace)
    host.upstream.converse(call) { [unowned self] event, place in
      signIn.poolPlace = place
      callEnded(id, of: signIn) {
        take(event, $0, host.clock.now)
      } late: {
        guard case .pool(let conversation) = signIn.conversation else { return nil }
        return conversation.unclaimedTokens(in: event, now: host.clock.now)
      }
    }
  }

  /// The pool has accepted the user: hands the sign-in to the session.
  private func finish(_ signIn: OpenSignIn, _ result: PoolSignInResult, _ now: Instant) {
    accept(signIn)
    guard let session = sessions[signIn.key] else { return }
    let username = result.signIn.username
    if result.droppedDevice != nil { devices.forget(of: session, username: username) }
    if let device = result.newDevice ?? result.unusedDevice {
      devices.forgetFormer(of: session, result.signIn)
      devices.keep(
        device, of: session, username: username, isUsed: result.newDevice != nil)
    }
    use(result.signIn, of: signIn, session, now)
  }
}
