import CredCore
import Logging

/// Sign-ins by browser and by device code.
extension SignIns {
  /// How long credd asks for the tokens of a device code after the last client has left.
  private static let pollTime: Duration = .seconds(60)

  // MARK: login

  /// Begins a sign-in that goes on in a browser or on another device. The session does not change
  /// until the sign-in ends.
  func beginElsewhere(_ login: LoginRequest, _ session: Session, _ turn: Turn) {
    let attempt = guesses.attempt(of: session.key, as: "")
    if let error = guesses.refusal(of: attempt) { return refuse(login, session, turn, error) }
    if let refusal = session.machine.refusalOfLinking { return turn.refuse(refusal) }
    let plan: ProviderConversation.Plan
    do {
      guard
        let found = try session.profile.signInProfile.providerPlan(
          login.signIn, user: session.owner.name, uid: session.key.uid, host: host.process.hostName)
      else { preconditionFailure("the profile refuses a sign-in that it has no way for") }
      plan = found
    } catch {
      return turn.refuse(
        ProtocolError(.accessDenied, "a required claim needs a user name, and this uid has none"))
    }
    let signIn = enter(
      login, .provider(ProviderConversation(plan)), attempt, session, turn)
    begin(signIn, session, turn) { take(ProviderConversation.Event.started, signIn, turn.now) }
  }

  // MARK: respond

  /// Lets a client wait until the user has acted elsewhere.
  func waitElsewhere(
    _ signIn: OpenSignIn, until end: Instant, _ session: Session, _ turn: Turn
  ) {
    setAsker(of: signIn, session, turn)
    signIn.waiter = OpenSignIn.Waiter(
      client: turn.client.id, answerDue: .distantFuture, questionDue: end)
    signIn.pollsUntil = end + Self.pollTime
    turn.wait(for: session)
    goOn(signIn, turn.now)
    armTimer()
    grants.grantWait(of: turn.client, in: session)
  }

  /// The last waiting client has left, but the user may still act elsewhere: credd asks the
  /// provider a little longer.
  func clientLeftElsewhere(_ signIn: OpenSignIn) {
    guesses.ended(in: signIn.key)
    let end = host.clock.now + Self.pollTime
    signIn.pollsUntil = signIn.pollsUntil.map { min($0, end) }
    armTimer()
  }

  /// Goes on with a sign-in while its user acts elsewhere. It asks the provider, or gives the
  /// client the same question with less time left.
  func goOn(_ signIn: OpenSignIn, _ now: Instant) {
    if signIn.nextPoll.map({ $0 <= now }) ?? false {
      take(ProviderConversation.Event.pollDue, signIn, now)
    }
    guard book[signIn.key] === signIn, signIn.waiter?.questionDue.map({ $0 <= now }) ?? false
    else { return }
    signIn.waiter?.questionDue = nil
    guard signIn.conversation.challenge != nil, let session = sessions[signIn.key],
      let waiter = signIn.waiter.take(), let turn = clients.endWait(waiter.client, in: session)
    else { return }
    giveQuestion(of: signIn, session, turn)
  }

  // MARK: Steps

  /// Takes an event of a sign-in, and carries out the action that follows.
  func take(_ event: ProviderConversation.Event, _ signIn: OpenSignIn, _ now: Instant) {
    guard case .provider(var conversation) = signIn.conversation else {
      preconditionFailure("a provider answers sign-ins at providers alone")
    }
    let action = conversation.handle(event, now: now, random: &host.random)
    signIn.conversation = .provider(conversation)
    switch action {
    case .send(let request): send(request, signIn)
    case .ask(let challenge): ask(challenge, false, signIn, now)
    case .refuse(let error):
      guesses.ended(in: signIn.key)
      answer(signIn, withRefusal: error, isOpen: true)
    case .wait:
      guesses.ended(in: signIn.key)
      // A client that only waits gets the same question at once.
      if signIn.waiter != nil, signIn.waiter?.questionDue == nil {
        signIn.waiter?.questionDue = now
      }
    case .finish(let result): finish(signIn, result, now)
    case .fail(let failure, let isRefusal): fail(signIn, failure, isRefusal: isRefusal)
    }
    if signIn.call == nil { stepTaken(signIn) }
    armTimer()
  }

  private func send(_ request: ProviderConversation.Request, _ signIn: OpenSignIn) {
    limits.callSpent(by: signIn.key.uid)
    figures.signInStepSent()
    let id = beginCall(of: signIn)
    let call = ProviderCall(
      id: id, profile: signIn.signInProfile, user: signIn.user, request: request)
    host.upstream.converse(call) { [unowned self] result in
      callEnded(id, of: signIn) {
        take(event(result, of: $0), $0, host.clock.now)
      } late: {
        lateTokens(in: result, of: signIn)
      }
    }
  }

  /// The tokens that came after the end of the sign-in; nil if none came.
  private func lateTokens(
    in result: Result<ProviderReply, UpstreamFailure>, of signIn: OpenSignIn
  ) -> ProviderSession? {
    guard case .success = result, case .provider(var conversation) = signIn.conversation else {
      return nil
    }
    let action = conversation.handle(
      event(result, of: signIn), now: host.clock.now, random: &host.random)
    let tokens =
      if case .finish(let result) = action {
        UnclaimedTokens(result)
      } else {
        conversation.unclaimed
      }
    return tokens.flatMap { signIn.signInProfile.providerSession(of: $0) }
  }

  private func event(
    _ result: Result<ProviderReply, UpstreamFailure>, of signIn: OpenSignIn
  ) -> ProviderConversation.Event {
    switch result {
    case .failure(let failure): .failed(failure)
    case .success(.prepared(let provider, let challenge)):
      .prepared(provider, challenge: challenge)
    case .success(.deviceGranted(let grant, let provider)): .deviceGranted(grant, at: provider)
    case .success(.exchanged(let tokens, let time)):
      .exchanged(tokens, serverTime: time, present: present(signIn))
    case .success(.deviceAnswered(let answer, let time)):
      .deviceAnswered(answer, serverTime: time, present: present(signIn))
    }
  }

  /// The present user of the session.
  private func present(_ signIn: OpenSignIn) -> ProviderConversation.Present {
    guard let machine = sessions[signIn.key]?.machine else { return .init() }
    let provider = signIn.profile.settings.developerProvider
    return ProviderConversation.Present(machine, linkedTo: provider)
  }

  /// The user is known, and has confirmed if that was needed: hands the sign-in to the session.
  private func finish(_ signIn: OpenSignIn, _ result: ProviderSignIn, _ now: Instant) {
    accept(signIn)
    // STS itself takes others too.
    if result.tokens.id.needsOtherAlgorithm, !signIn.profile.takesEveryAlgorithm {
      warnOfAlgorithm(result, signIn)
    }
    guard let session = sessions[signIn.key] else { return }
    do throws(InvalidInput) {
      use(try signIn.signInProfile.sessionTokens(result), of: signIn, session, now)
    } catch {
      let failure = UpstreamFailure.malformed(
        error, from: .backend(signIn.signInProfile.backend?.name ?? ""))
      if let unclaimed = UnclaimedTokens(result).flatMap({
        signIn.signInProfile.providerSession(of: $0)
      }) {
        tokens.revoke(unclaimed, of: session, givenBy: signIn.profile)
      }
      answer(signIn, withRefusal: failure.protocolError, isOpen: false)
    }
  }

  /// Warns of the algorithm, because Cognito only says that it could not verify such a token.
  private func warnOfAlgorithm(_ result: ProviderSignIn, _ signIn: OpenSignIn) {
    let metadata: Logger.Metadata = [
      "backend": "\(signIn.signInProfile.backend?.name ?? "")",
      "algorithm": "\(result.tokens.id.algorithm)",
    ]
    host.log.warning(
      "the provider signs its ID tokens by another algorithm than RS256, which identity pools verify: set RS256 for the client there",
      metadata: metadata)
  }
}

extension Profile {
  /// The tokens that a session keeps of a sign-in by browser or device code.
  fileprivate func sessionTokens(_ signIn: ProviderSignIn) throws(InvalidInput) -> AcceptedSignIn {
    if let client = try userPoolClient(secret: nil) {
      return try AcceptedSignIn(signIn, of: client)
    }
    guard let issuer = plan.backend.issuer else {
      throw InvalidInput(field: "backend", reason: "is no provider")
    }
    return try AcceptedSignIn(signIn, as: issuer)
  }
}
