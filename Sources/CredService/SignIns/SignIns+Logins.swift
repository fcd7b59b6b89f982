import CredCore

/// Logins that a client brings: at once, or after the word of their user.
extension SignIns {
  /// Asks the user before logins of another person are linked. The session stays as it is until then, and
  /// nobody else is told of the logins.
  func ask(
    before login: LoginRequest, _ confirmation: LoginsConfirmation, _ session: Session, _ turn: Turn
  ) {
    let attempt = guesses.attempt(of: session.key, as: "")
    if let error = guesses.refusal(of: attempt) { return refuse(login, session, turn, error) }
    let signIn = enter(login, .logins(confirmation, login), attempt, session, turn)
    begin(signIn, session, turn) { ask(confirmation.challenge, false, signIn, turn.now) }
    armTimer()
  }

  /// Takes the user's word, and goes on with the next question or with the logins themselves. A session
  /// that would ask something else by now, or would refuse the logins, ends the question.
  func confirmed(_ answers: ChallengeAnswers, _ signIn: OpenSignIn, _ turn: Turn) {
    guard case .logins(let confirmation, let login) = signIn.conversation,
      let session = sessions[signIn.key]
    else { preconditionFailure("logins are confirmed in a session") }
    let present = session.machine.confirmation(of: login.signIn, now: turn.now)
    guard confirmation.asksTheSame(as: present),
      session.profile.refusal(of: login) == nil, refusalOfLogins(login, session) == nil
    else { return end(signIn, .unknownChallenge) }
    let next: LoginsConfirmation?
    do throws(ProtocolError) {
      next = try confirmation.next(after: answers)
    } catch {
      stepEnded(signIn)
      return answer(signIn, withRefusal: error, isOpen: true)
    }
    if let next {
      signIn.conversation = .logins(next, login)
      return ask(next.challenge, false, signIn, turn.now)
    }
    book.remove(signIn)
    armTimer()
    stepEnded(signIn)
    carryOut(login, signIn.number, in: session, turn, for: signIn.waiter?.client)
  }

  /// Gives a `login` to its session.
  ///
  /// - Parameter client: who waits for the end.
  func carryOut(
    _ login: LoginRequest, _ number: UInt64, in session: Session, _ turn: Turn, for client: UInt64?
  ) {
    let (now, wall) = (turn.now, host.clock.wallTime)
    session.asking.signIns[number] = journal.asker(turn.requester, session, of: login)
    sessions.handle(
      .signInRequested(
        SignInRequest(
          id: client, number: number, input: login.signIn,
          customRoleARN: login.customRoleARN,
          expires: login.signIn.tokenExpiration.map { now + ($0 - wall) },
          loginsExpire: login.signIn.loginExpirations.mapValues { now + ($0 - wall) },
          deadline: now + Self.loginTime)),
      session, now)
  }

  /// How long a `login` may take in all; a person waits for it.
  private static let loginTime: Duration = .seconds(30)
}

extension SignInInput {
  /// When a developer token expires, if the token says.
  fileprivate var tokenExpiration: WallTime? {
    if case .developerToken(_, let token) = self { token.expiration } else { nil }
  }

  /// When logins expire, if they are JWTs that say.
  fileprivate var loginExpirations: [String: WallTime] {
    guard let map = logins else { return [:] }
    let ends = map.logins.compactMap { login in
      (try? DeveloperToken(login.token))?.expiration.map { (login.provider, $0) }
    }
    return Dictionary(ends) { first, _ in first }
  }
}
