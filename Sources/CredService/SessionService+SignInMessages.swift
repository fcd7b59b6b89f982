import CredCore

/// The messages that sign-ins make a pool send.
extension SessionService {
  /// A pool sends messages at somebody's cost, in every flow, and perhaps to whomever a client names.
  ///
  /// - Parameter backend: nil where nobody knows whether there will be a message.
  func codeLimitError(
    _ attempt: PasswordLimiter.Attempt, at backend: String?, _ now: Instant
  ) -> ProtocolError? {
    let pause = codeLimiter.pause(
      of: attempt.account, username: attempt.username, at: backend, now: now)
    return pause.map {
      counters.hit(.signIns)
      return ProtocolError(
        .tooManyRequests, "too many codes were asked for; try again later", retryAfter: $0)
    }
  }

  /// Counts the message of the next question, once.
  func countMessage(of signIn: OpenSignIn, _ now: Instant) {
    guard !signIn.isMessageCounted else { return }
    signIn.isMessageCounted = true
    codeLimiter.count(
      by: signIn.attempt.account, username: signIn.attempt.username,
      at: signIn.place.backend?.name, now: now)
  }

  /// Nobody knows which of the questions of the pool's own send a message. One for each sign-in counts,
  /// and from some questions on each: with a few of them, people sign in.
  func countCustomMessage(of signIn: OpenSignIn, _ now: Instant) {
    guard !signIn.isCustomCounted || signIn.hasManyCustomQuestions else { return }
    signIn.isCustomCounted = true
    codeLimiter.count(
      by: signIn.attempt.account, username: signIn.attempt.username, at: nil, now: now)
  }

  /// Counts what the pool has sent before it asked.
  func countMessage(before challenge: SignInChallenge, _ signIn: OpenSignIn, _ now: Instant) {
    switch challenge.step {
    case .code(.sms, _), .code(.email, _): countMessage(of: signIn, now)
    case .custom where challenge.name != "MFA_SETUP":
      signIn.customQuestions += 1
      countCustomMessage(of: signIn, now)
    default: break
    }
    signIn.isMessageCounted = false
  }

  /// Counts the message that a request asks for, unless there were too many.
  func messageRefusal(
    _ request: PoolRequest, _ signIn: OpenSignIn, _ now: Instant
  ) -> ProtocolError? {
    guard request.asksForMessage else {
      // Its next question may bring one.
      guard request.answersTrigger, signIn.hasManyCustomQuestions else { return nil }
      return codeLimitError(signIn.attempt, at: nil, now)
    }
    if let error = codeLimitError(signIn.attempt, at: signIn.place.backend?.name, now) {
      return error
    }
    countMessage(of: signIn, now)
    return nil
  }
}
