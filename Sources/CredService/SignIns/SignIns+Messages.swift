import CredCore

/// The messages that sign-ins make a pool send.
extension SignIns {
  /// Counts the message of the next question, once.
  func countMessage(of signIn: OpenSignIn) {
    guard !signIn.messages.isCounted else { return }
    signIn.messages.isCounted = true
    guesses.countMessage(signIn.attempt, at: signIn.place.backend?.name)
  }

  /// Nobody knows which of the questions of the pool's own send a message. One for each sign-in counts,
  /// and from some questions on each: with a few of them, people sign in.
  func countCustomMessage(of signIn: OpenSignIn) {
    guard !signIn.messages.isCustomCounted || signIn.messages.hasManyCustomQuestions else { return }
    signIn.messages.isCustomCounted = true
    guesses.countMessage(signIn.attempt, at: nil)
  }

  /// Counts what the pool has sent before it asked.
  func countMessage(before challenge: SignInChallenge, _ signIn: OpenSignIn) {
    switch challenge.step {
    case .code(.sms, _), .code(.email, _): countMessage(of: signIn)
    case .custom where challenge.name != "MFA_SETUP":
      signIn.messages.customQuestions += 1
      countCustomMessage(of: signIn)
    default: break
    }
    signIn.messages.isCounted = false
  }

  /// Counts the message that a request asks for; the refusal of one message too many.
  func countMessage(askedForBy request: PoolRequest, _ signIn: OpenSignIn) -> ProtocolError? {
    guard request.asksForMessage else {
      // Its next question may bring one.
      guard request.answersTrigger, signIn.messages.hasManyCustomQuestions else { return nil }
      return guesses.refusalOfMessage(signIn.attempt, at: nil)
    }
    if let error = guesses.refusalOfMessage(signIn.attempt, at: signIn.place.backend?.name) {
      return error
    }
    countMessage(of: signIn)
    return nil
  }
}
