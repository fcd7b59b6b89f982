import CredCore

/// `respond`: an answer to a question, a wait, or the end of a sign-in.
extension SignIns {
  static let answerUnderWay = ProtocolError(
    .tooManyRequests, "an answer to this challenge is under way", retryAfter: .seconds(1))

  func respond(_ respond: RespondRequest, _ turn: Turn) {
    guard let signIn = book[respond.handle], signIn.key.uid == turn.client.peer.uid else {
      return turn.refuse(.unknownChallenge)
    }
    let resolution = admittance.resolve(
      signIn.key.profile, for: turn.requester, turn.now, since: turn.nameSince)
    switch resolution {
    case .pending: turn.waitForCaller()
    // The sign-in goes on: the program that began it may be admitted, and a client that could not
    // be identified may answer again.
    case .refused(var error):
      if !error.endsAccess { error.handle = respond.handle }
      turn.refuse(error)
    case .session(let session):
      // The uid's present user may not be the person who signs in.
      guard turn.isOpen else { return }
      guard book[respond.handle] === signIn,
        signIn.origin.owner.successor(session.owner) == .samePerson
      else { return turn.refuse(.unknownChallenge) }
      carryOut(respond, signIn, session, turn)
    }
  }

  private func carryOut(
    _ respond: RespondRequest, _ signIn: OpenSignIn, _ session: Session, _ turn: Turn
  ) {
    if case .cancel = respond.input {
      end(signIn, ProtocolError(.signInFailed, "the sign-in was cancelled"))
      return turn.giveState(of: session)
    }
    let isElsewhere = signIn.conversation.isElsewhere
    let isFree = isElsewhere ? signIn.waiter == nil : signIn.call == nil
    guard isFree, signIn.conversation.challenge != nil else {
      if case .wait(let time) = respond.input, !isElsewhere, time > .zero {
        return waitForStep(of: signIn, until: turn.now + time, session, turn)
      }
      return turn.refuse(Self.answerUnderWay)
    }
    guard let deadline = signIn.deadline, turn.now < deadline else {
      end(signIn, .unknownChallenge)
      return turn.refuse(.unknownChallenge)
    }
    switch respond.input {
    case .wait(let time) where isElsewhere && time > .zero:
      waitElsewhere(signIn, until: min(turn.now + time, deadline), session, turn)
    case .answers(let answers):
      answer(signIn, answers, metadata: respond.metadata, session, turn)
    case .wait, .cancel: giveQuestion(of: signIn, session, turn)
    }
  }

  private func answer(
    _ signIn: OpenSignIn, _ answers: ChallengeAnswers, metadata: ClientMetadata?,
    _ session: Session, _ turn: Turn
  ) {
    if var error = limits.refusalOfCall(by: session.key.uid) ?? guesses.refusal(of: signIn.attempt)
      ?? factorRefusal(signIn) ?? (metadata == nil ? nil : session.profile.refusalOfMetadata)
    {
      error.handle = signIn.handle
      let asker = journal.asker(
        turn.requester, session, by: signIn.conversation.means, as: signIn.attempt.username)
      record(asker, session, error)
      return turn.refuse(error)
    }
    signIn.factor = signIn.factorInQuestion
    begin(signIn, session, turn) {
      switch signIn.conversation {
      case .pool: take(.answered(answers, metadata: metadata), signIn, turn.now)
      case .provider: take(ProviderConversation.Event.answered(answers), signIn, turn.now)
      case .logins: confirmed(answers, signIn, turn)
      }
    }
  }

  /// Allows one try of a user's second factor at a time, with a pause after failures. It does not
  /// matter which uid tries, because a program may have many uids.
  private func factorRefusal(_ signIn: OpenSignIn) -> ProtocolError? {
    guard let factor = signIn.factorInQuestion else { return nil }
    if book.isTried(factor, besides: signIn) {
      return ProtocolError(
        .tooManyRequests, "another sign-in of this user is under way", retryAfter: .seconds(1))
    }
    return guesses.pause(before: factor).map {
      ProtocolError(.tooManyRequests, "too many sign-ins of this user failed", retryAfter: $0)
    }
  }

  /// Gives a client the question that waits for its user.
  func giveQuestion(of signIn: OpenSignIn, _ session: Session, _ turn: Turn) {
    guard let challenge = signIn.conversation.challenge, let handle = signIn.handle,
      let deadline = signIn.deadline
    else { preconditionFailure("an open sign-in has its question, with a handle and a time") }
    turn.give(
      .challenge(
        challenge, handle, profile: session.key.profile, state: session.machine.state.reported,
        remaining: deadline - turn.now))
  }

  // MARK: Waits for another client's answer

  /// Lets a client wait for the result of the step.
  private func waitForStep(
    of signIn: OpenSignIn, until end: Instant, _ session: Session, _ turn: Turn
  ) {
    signIn.onlookers.append(SignInOnlooker(client: turn.client.id, until: end))
    turn.wait(for: session, isAsking: false)
    grants.grantWait(of: turn.client, in: session)
    armTimer()
  }

  /// The step is over: there is a question, or the sign-in has ended. If the user is signed in, the
  /// session answers these clients, as it answers the client that brought the answer.
  func stepTaken(_ signIn: OpenSignIn) {
    guard !signIn.onlookers.isEmpty else { return }
    let onlookers = signIn.onlookers
    signIn.onlookers = []
    let isOpen = book[signIn.key] === signIn
    let again = isOpen ? signIn.handle.map { RespondRequest($0, .wait(.zero)) } : nil
    for waiter in onlookers.map(\.client) {
      guard let session = sessions[signIn.key],
        !grants.askAnew(waiter, in: session, for: again.map { .respond($0) }),
        let turn = clients.endWait(waiter, in: session)
      else { continue }
      if isOpen, signIn.conversation.challenge != nil {
        giveQuestion(of: signIn, session, turn)
      } else {
        turn.refuse(.unknownChallenge)
      }
    }
  }

  /// Ends the waits that have lasted too long, although the step goes on.
  func endStepWaits(of signIn: OpenSignIn, _ now: Instant) {
    let ended = signIn.onlookers.filter { $0.until <= now }
    guard !ended.isEmpty else { return }
    signIn.onlookers.removeAll { $0.until <= now }
    for waiter in ended.map(\.client) {
      guard let session = sessions[signIn.key],
        let turn = clients.endWait(waiter, in: session)
      else { continue }
      turn.refuse(Self.answerUnderWay)
    }
  }
}
