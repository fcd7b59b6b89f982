import CredCore

/// `respond` with `wait` while an answer that another client gave is at the user pool.
extension SessionService {
  static let answerUnderWay = ProtocolError(
    .tooManyRequests, "an answer to this challenge is under way", retryAfter: .seconds(1))

  /// Lets a client wait for what comes of the step.
  func waitForStep(
    of signIn: OpenSignIn, until end: Instant, _ session: Session, _ request: Request,
    _ client: Client
  ) {
    signIn.onlookers.append(SignInOnlooker(client: client.id, until: end))
    wait(client, for: WaitingRequest(request, for: .session(session)))
    recordAccess(to: session, ofWaiting: client)
    armSignInTimer()
  }

  /// The step is over: there is a question, or the sign-in has ended. Where the user is signed in, the
  /// session answers instead, as it answers the client that brought the answer.
  func stepTaken(_ signIn: OpenSignIn) {
    guard !signIn.onlookers.isEmpty else { return }
    let onlookers = signIn.onlookers
    signIn.onlookers = []
    let isOpen = signIns[signIn.key] === signIn
    let again = isOpen ? signIn.handle.map { RespondRequest($0, .wait(.zero)) } : nil
    for waiter in onlookers.map(\.client) {
      guard let session = sessions[signIn.key],
        !asksAnew(waiter, in: session, for: again.map { .respond($0) }),
        let (client, request) = endWait(waiter, in: session)
      else { continue }
      if isOpen, signIn.conversation.challenge != nil {
        giveQuestion(of: signIn, session, request, client, host.clock.now)
      } else {
        refuse(.unknownChallenge, id: request.id, client)
      }
    }
  }

  /// Ends the waits whose time is over, though the step is not.
  func endStepWaits(of signIn: OpenSignIn, _ now: Instant) {
    let ended = signIn.onlookers.filter { $0.until <= now }
    guard !ended.isEmpty else { return }
    signIn.onlookers.removeAll { $0.until <= now }
    for waiter in ended.map(\.client) {
      guard let session = sessions[signIn.key],
        let (client, request) = endWait(waiter, in: session)
      else { continue }
      refuse(Self.answerUnderWay, id: request.id, client)
    }
  }
}
