import CredCore

/// The steps of a sign-in at a pool or a provider: calls, questions, judgements.
extension SignIns {
  /// How long a session's calls may take after the pool has accepted the user.
  private static let acceptanceTime: Duration = .seconds(30)

  // MARK: Calls

  /// Gives the step a new call id: only the outcome of that call counts.
  func beginCall(of signIn: OpenSignIn) -> CallID {
    let id = sessions.nextCallID()
    signIn.step = .call(id)
    return id
  }

  /// Hands the outcome of a call to the sign-in that waits for it. If that sign-in has ended, the
  /// user is signed in at the pool or provider and nobody has the tokens: they are revoked.
  ///
  /// - Parameter late: the tokens that the outcome brings; nil for none.
  func callEnded(
    _ id: CallID, of signIn: OpenSignIn, _ take: (OpenSignIn) -> Void, late: () -> ProviderSession?
  ) {
    // The book does not have ended sign-ins.
    if let open = book[signIn.key], open.call == id {
      open.step = .none
      return take(open)
    }
    guard !tokens.isStopping, let late = late() else { return }
    tokens.revokeLate(late, of: signIn.key, at: signIn.signInProfile, signIn.user)
  }

  // MARK: Questions

  func ask(
    _ challenge: SignInChallenge, _ isRefusal: Bool, _ signIn: OpenSignIn, _ now: Instant
  ) {
    recordJudgement(signIn, isRefusal: isRefusal)
    countMessage(before: challenge, signIn)
    // If no client waits, no client can get a new handle: the former one leads to the new question.
    let known = signIn.waiter == nil ? signIn.handle : nil
    let handle = known ?? ChallengeHandle(using: &host.random)
    book.setHandle(handle, of: signIn)
    guard let session = sessions[signIn.key], let deadline = signIn.deadline else {
      preconditionFailure("an open sign-in has a session, and a question its time")
    }
    watches.send(.challenge(challenge, remaining: deadline - now), of: session)
    let again = Operation.respond(RespondRequest(handle, .wait(.zero)))
    guard let waiter = signIn.waiter.take()?.client,
      !grants.askAnew(waiter, in: session, for: again),
      let turn = clients.endWait(waiter, in: session)
    else { return }
    giveQuestion(of: signIn, session, turn)
  }

  /// - Parameter isOpen: whether the same challenge may be answered again.
  func answer(_ signIn: OpenSignIn, withRefusal error: ProtocolError, isOpen: Bool) {
    var error = error
    error.handle = isOpen ? signIn.handle : nil
    guard let waiter = signIn.waiter.take(), let session = sessions[signIn.key] else { return }
    recordRefusal(of: signIn, error)
    refuse(waiter.client, error, session)
  }

  /// Refuses a client that waits in a session.
  private func refuse(_ waiter: UInt64, _ error: ProtocolError, _ session: Session) {
    guard let turn = clients.endWait(waiter, in: session) else { return }
    waitEnded(turn.request, in: session, Guesses.Judgement(error))
    turn.refuse(error)
  }

  // MARK: Judgements

  /// Records whether the pool took a password or an answer.
  func recordJudgement(_ signIn: OpenSignIn, isRefusal: Bool) {
    if isRefusal {
      guesses.failed(signIn.attempt)
      if let factor = signIn.factor { guesses.failed(factor) }
    }
    stepEnded(signIn)
  }

  /// The step has ended: another one may begin.
  func stepEnded(_ signIn: OpenSignIn) {
    guesses.ended(in: signIn.key)
    signIn.factor = nil
  }

  /// Counts unjudged answers as failures, once the sign-in has ended without success: some of them
  /// were wrong.
  func countUnjudged(_ signIn: OpenSignIn) {
    for _ in 0..<signIn.conversation.unjudgedAnswers { guesses.failed(signIn.attempt) }
  }

  // MARK: The end

  /// The user is known, and has confirmed if that was needed.
  func accept(_ signIn: OpenSignIn) {
    book.remove(signIn)
    guesses.ended(in: signIn.key)
    guesses.succeeded(signIn.attempt)
  }

  /// The session goes on with the tokens of a sign-in.
  func use(_ tokens: AcceptedSignIn, of signIn: OpenSignIn, _ session: Session, _ now: Instant) {
    let refusal = session.profile.refusal(
      of: tokens, for: signIn.user, host: host.process.hostName)
    // A sign-in by device code may succeed when no client waits: then no reply is sent.
    guard refusal == nil, signIn.waiter != nil || signIn.pollsUntil != nil else {
      if let unclaimed = ProviderSession(tokens, keepsAccessToken: false) {
        self.tokens.revoke(unclaimed, of: session, givenBy: signIn.profile)
      }
      guard let refusal else { return }
      answer(signIn, withRefusal: refusal.signInRefusal, isOpen: false)
      return sessions.announce(.signInFailed(refusal), session)
    }
    let onlookers = signIn.onlookers
    signIn.onlookers = []
    session.asking.signIns[signIn.number] = signIn.asker.named(tokens.username)
    sessions.handle(
      .signInRequested(
        SignInRequest(
          id: signIn.waiter?.client, number: signIn.number, input: .providerTokens(tokens),
          customRoleARN: signIn.origin.customRoleARN, deadline: now + Self.acceptanceTime,
          onlookers: onlookers)),
      session, now)
  }

  func fail(_ signIn: OpenSignIn, _ failure: UpstreamFailure, isRefusal: Bool) {
    book.remove(signIn)
    recordJudgement(signIn, isRefusal: isRefusal)
    countUnjudged(signIn)
    revokeUnclaimed(of: signIn)
    if isRefusal, signIn.waiter == nil { recordRefusal(of: signIn, failure.signInRefusal) }
    answer(signIn, withRefusal: failure.signInRefusal, isOpen: false)
    // A failure of the provider, not of its user, concerns the operator too.
    if failure.severity == .operatorMustAct || failure.failureClass.isTransient,
      let session = sessions[signIn.key]
    {
      sessions.announce(.signInFailed(failure), session)
    }
  }

  /// Revokes the tokens of a sign-in that has ended without success: the user was signed in at the
  /// pool or the provider, and nobody has the tokens.
  func revokeUnclaimed(of signIn: OpenSignIn) {
    guard let session = sessions[signIn.key] else { return }
    let unclaimed: ProviderSession?
    switch signIn.conversation {
    case .pool(let conversation): unclaimed = conversation.unclaimedTokens
    case .provider(let conversation):
      unclaimed = conversation.unclaimed.flatMap { signIn.signInProfile.providerSession(of: $0) }
    case .logins: unclaimed = nil
    }
    if let unclaimed { tokens.revoke(unclaimed, of: session, givenBy: signIn.profile) }
  }
}

extension UpstreamFailure {
  /// The error for a `login` or a `respond`. `SignInRequired` tells clients that a password is
  /// missing, so it is right only then.
  var signInRefusal: ProtocolError {
    var error = protocolError
    if error.code == .signInRequired, failureClass == .signInRequired { error.code = .signInFailed }
    return error
  }
}

extension Profile {
  /// The tokens of a sign-in that has ended without success, so that they can be revoked.
  func providerSession(of tokens: UnclaimedTokens) -> ProviderSession? {
    plan.backend.issuer.map { ProviderSession(tokens, of: $0) }
  }
}
