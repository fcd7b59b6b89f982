import CredCore

/// Counts the messages that a pool sends for sign-ins.
extension SignIns {
  /// Counts the message for the next question, once.
  func countMessage(of signIn: OpenSignIn) {
    guard !signIn.messages.isCounted else { return }
    signIn.messages.isCounted = true
    guesses.countMessage(signIn.attempt, at: signIn.signInProfile.backend?.name)
  }

  /// credd cannot know which custom questions of a pool send a message. A few of them count as one
  /// message, because people sign in with a few; each further one counts as a message.
  func countCustomMessage(of signIn: OpenSignIn) {
    guard !signIn.messages.isCustomCounted || signIn.messages.hasManyCustomQuestions else { return }
    signIn.messages.isCustomCounted = true
    guesses.countMessage(signIn.attempt, at: nil)
  }

  /// Counts the message that the pool has sent before its question.
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

  /// Counts the message that a request asks for. Returns its refusal if there were too many.
  func countMessage(askedForBy request: PoolRequest, _ signIn: OpenSignIn) -> ProtocolError? {
    guard request.asksForMessage else {
      // The pool may send a message with its next question.
      guard request.answersTrigger, signIn.messages.hasManyCustomQuestions else { return nil }
      return guesses.refusalOfMessage(signIn.attempt, at: nil)
    }
    if let error = guesses.refusalOfMessage(signIn.attempt, at: signIn.signInProfile.backend?.name)
    {
      return error
    }
    countMessage(of: signIn)
    return nil
  }
}
