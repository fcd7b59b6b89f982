import CredCore

/// What comes of the steps of a sign-in at a user pool.
extension SessionService {
  /// How long a session's calls may take after the pool has accepted the user.
  private static let acceptanceTime: Duration = .seconds(30)

  /// Takes an event of a sign-in, and does what follows.
  func take(_ event: PoolConversation.Event, _ signIn: OpenSignIn, _ now: Instant) {
    signIn.call = nil
    if signIn.maySendMessage, case .failed(let failure) = event, failure.isReplyLost {
      countMessage(of: signIn, now)
    }
    signIn.maySendMessage = false
    guard case .pool(var conversation) = signIn.conversation else {
      preconditionFailure("a user pool answers sign-ins at user pools alone")
    }
    let before = signIn.conversation
    let action = conversation.handle(
      event, now: now, wallTime: host.clock.wallTime, random: &host.random)
    signIn.conversation = .pool(conversation)
    if case .send(let request) = action, let error = messageRefusal(request, signIn, now) {
      // The question stays.
      signIn.conversation = before
      return perform(.refuse(error), signIn, now)
    }
    perform(action, signIn, now)
  }

  func perform(
    _ action: PoolConversation.Action, _ signIn: OpenSignIn, _ now: Instant
  ) {
    switch action {
    case .compute(let proof): perform(.compute(proof), signIn)
    case .send(let request): send(request, signIn, now)
    case .sendLater(let request, let pause): signIn.later = (request, now + pause)
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
    if signIn.call == nil, signIn.later == nil { stepTaken(signIn) }
    armSignInTimer()
  }

  func fail(_ signIn: OpenSignIn, _ failure: UpstreamFailure, isRefusal: Bool) {
    signIns.remove(signIn)
    recordJudgement(signIn, isRefusal: isRefusal)
    countUnjudged(signIn)
    revokeUnclaimed(of: signIn)
    if isRefusal, signIn.client == nil { recordRefusal(of: signIn, failure.signInRefusal) }
    answer(signIn, withRefusal: failure.signInRefusal, isOpen: false)
    // What concerns the provider and not its user is for the operator too.
    if failure.severity == .operatorMustAct || failure.failureClass.isTransient,
      let session = sessions[signIn.key]
    {
      announce(.signInFailed(failure), session)
    }
  }

  func send(_ request: PoolRequest, _ signIn: OpenSignIn, _ now: Instant) {
    signIn.maySendMessage = request.maySendMessage
    callAllowance.spent(by: accountNumber(of: signIn.key.uid), now: now)
    backendCalls += 1
    perform(.send(request), signIn)
  }

  func perform(_ step: ConversationStep, _ signIn: OpenSignIn) {
    let id = beginCall(of: signIn)
    let call = ConversationCall(id: id, profile: signIn.place, user: signIn.user, step: step)
    host.upstream.converse(call) { [unowned self] event in
      callEnded(id, of: signIn) {
        take(event, $0, host.clock.now)
      } late: {
        guard case .pool(let conversation) = signIn.conversation else { return nil }
        return conversation.unclaimedTokens(in: event, now: host.clock.now)
      }
    }
  }

  // MARK: Calls

  /// A step's outcome belongs to its own call alone.
  func beginCall(of signIn: OpenSignIn) -> CallID {
    let id = callIDs.next()
    signIn.call = id
    return id
  }

  /// Hands the outcome of a call to the sign-in that waits for it. If that has ended before, the user is
  /// signed in and nobody has the tokens: they are revoked.
  ///
  /// - Parameter late: the tokens that the outcome brings; nil for none.
  func callEnded(
    _ id: CallID, of signIn: OpenSignIn, _ take: (OpenSignIn) -> Void, late: () -> PoolSession?
  ) {
    // One that has ended is not in the book any more.
    if let open = signIns[signIn.key], open.call == id {
      open.call = nil
      return take(open)
    }
    guard !renewals.isStopping, let tokens = late(), !goesOn(tokens, of: signIn.key.uid) else {
      return
    }
    revokeTokens(
      BackendSignOut(callIDs.next(), signIn.key, signIn.place, signIn.user, of: tokens))
  }

  func ask(
    _ challenge: SignInChallenge, _ isRefusal: Bool, _ signIn: OpenSignIn, _ now: Instant
  ) {
    recordJudgement(signIn, isRefusal: isRefusal)
    countMessage(before: challenge, signIn, now)
    // Nobody gets a new handle where nobody waits: the former one leads to the new question.
    let known = signIn.client == nil ? signIn.handle : nil
    let handle = known ?? ChallengeHandle(using: &host.random)
    signIns.setHandle(handle, of: signIn)
    guard let session = sessions[signIn.key], let deadline = signIn.deadline else {
      preconditionFailure("an open sign-in has a session, and a question its time")
    }
    sendEvent(.challenge(challenge, remaining: deadline - now), session)
    let again = Operation.respond(RespondRequest(handle, .wait(.zero)))
    guard let waiter = signIn.client.take(), !asksAnew(waiter, in: session, for: again),
      let (client, request) = endWait(waiter, in: session)
    else { return }
    giveQuestion(of: signIn, session, request, client, now)
  }

  /// The pool has accepted the user: now it is the session's sign-in.
  private func finish(_ signIn: OpenSignIn, _ result: PoolSignInResult, _ now: Instant) {
    signIns.remove(signIn)
    passwordsUnderWay.remove(signIn.key)
    passwordLimiter.succeeded(signIn.attempt)
    guard let session = sessions[signIn.key] else { return }
    let username = result.signIn.username
    if result.droppedDevice != nil { forgetDevice(of: session, username: username) }
    if let device = result.newDevice ?? result.unusedDevice {
      forgetFormerDevice(of: session, result.signIn)
      keepDevice(
        device, of: session, username: username, isUsed: result.newDevice != nil)
    }
    use(result.signIn, of: signIn, session, now)
  }

  /// The session goes on with the tokens of a sign-in.
  func use(_ tokens: PoolSignIn, of signIn: OpenSignIn, _ session: Session, _ now: Instant) {
    // Of a device code nobody may wait any more: then nobody is answered.
    guard signIn.client != nil || signIn.pollsUntil != nil else {
      if let unclaimed = PoolSession(tokens, keepsAccessToken: false) {
        revoke(unclaimed, of: session, signIn.profile)
      }
      return
    }
    let onlookers = signIn.onlookers
    signIn.onlookers = []
    session.signInAskers[signIn.number] = signIn.asker.named(tokens.username)
    handle(
      .signInRequested(
        SignInRequest(
          id: signIn.client, number: signIn.number, input: .poolTokens(tokens),
          customRoleARN: signIn.customRoleARN, deadline: now + Self.acceptanceTime,
          onlookers: onlookers)),
      session, now)
  }

  /// Records whether the pool took a password or an answer.
  func recordJudgement(_ signIn: OpenSignIn, isRefusal: Bool) {
    if isRefusal {
      let now = host.clock.now
      passwordLimiter.failed(signIn.attempt, now: now)
      if let factor = signIn.factor { passwordLimiter.failed(factor, now: now) }
    }
    stepEnded(signIn)
  }

  /// Another step may begin.
  func stepEnded(_ signIn: OpenSignIn) {
    passwordsUnderWay.remove(signIn.key)
    signIn.factor = nil
  }

  /// Answers of which the pool did not say whether they were right, in a sign-in that has come to
  /// nothing: some of them were wrong.
  func countUnjudged(_ signIn: OpenSignIn) {
    for _ in 0..<signIn.conversation.unjudgedAnswers {
      passwordLimiter.failed(signIn.attempt, now: host.clock.now)
    }
  }

  /// - Parameter isOpen: whether the same challenge may be answered again.
  func answer(_ signIn: OpenSignIn, withRefusal error: ProtocolError, isOpen: Bool) {
    var error = error
    error.handle = isOpen ? signIn.handle : nil
    guard let client = signIn.client.take(), let session = sessions[signIn.key] else { return }
    recordRefusal(of: signIn, error)
    refuse(client, error, session)
  }
}

extension UpstreamFailure {
  /// The error for a `login` or a `respond`. `SignInRequired` would be wrong, unless a password is
  /// missing: to clients it means just that.
  var signInRefusal: ProtocolError {
    var error = protocolError
    if error.code == .signInRequired, failureClass == .signInRequired { error.code = .signInFailed }
    return error
  }
}
