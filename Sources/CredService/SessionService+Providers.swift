import CredCore
import Logging

/// Sign-ins by browser and by device code.
extension SessionService {
  /// How long a device code is asked for after the last client that waited.
  private static let pollTime: Duration = .seconds(60)

  // MARK: login

  /// Begins a sign-in that goes on elsewhere. The session stays as it is until its end.
  func signInElsewhere(
    _ login: LoginRequest, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    let attempt = PasswordLimiter.Attempt(
      uid: session.key.uid, account: accountNumber(of: session.key.uid),
      profile: session.key.profile,
      username: "")
    if let error = passwordRefusal(attempt, now) {
      recordRefusal(of: request, session, client, error)
      return refuse(error, id: request.id, client)
    }
    if let refusal = session.machine.refusalOfLinking {
      return refuse(refusal, id: request.id, client)
    }
    let plan: ProviderConversation.Plan
    do {
      guard
        let found = try session.profile.signInProfile.providerPlan(
          login.signIn, user: session.owner.name, uid: session.key.uid, host: host.process.hostName)
      else { preconditionFailure("the profile refuses a sign-in that it has no way for") }
      plan = found
    } catch {
      let refusal = ProtocolError(
        .accessDenied, "a required claim needs a user name, and this uid has none")
      return refuse(refusal, id: request.id, client)
    }
    let signIn = enter(
      OpenSignIn(
        number: signIns.nextNumber(), session, attempt, .provider(ProviderConversation(plan)),
        customRoleARN: login.customRoleARN, by: caller(client, of: session), now: now))
    begin(signIn, session, request, client) {
      take(ProviderConversation.Event.started, signIn, now)
    }
  }

  // MARK: respond

  /// Lets a client wait for what the user does elsewhere.
  func waitElsewhere(
    _ signIn: OpenSignIn, until end: Instant, _ session: Session, _ request: Request,
    _ client: Client, _ now: Instant
  ) {
    signIn.client = client.id
    signIn.asker = asker(
      client, session, by: signIn.conversation.means, as: signIn.attempt.username)
    signIn.waitEnds = end
    signIn.answerDue = .distantFuture
    signIn.pollsUntil = end + Self.pollTime
    wait(client, for: WaitingRequest(request, for: .session(session)))
    session.askedBy = client.id
    goOn(signIn, now)
    armSignInTimer()
    recordAccess(to: session, ofWaiting: client)
  }

  /// Nobody waits any more for what the user does elsewhere: the provider is asked a little longer.
  func clientLeftElsewhere(_ signIn: OpenSignIn) {
    passwordsUnderWay.remove(signIn.key)
    let end = host.clock.now + Self.pollTime
    signIn.pollsUntil = signIn.pollsUntil.map { min($0, end) }
    armSignInTimer()
  }

  /// What is due of a sign-in whose user acts elsewhere: the provider is asked, or the client gets the
  /// same question, counted down.
  func goOn(_ signIn: OpenSignIn, _ now: Instant) {
    if signIn.nextPoll.map({ $0 <= now }) ?? false {
      take(ProviderConversation.Event.pollDue, signIn, now)
    }
    guard signIns[signIn.key] === signIn, signIn.waitEnds.map({ $0 <= now }) ?? false else {
      return
    }
    signIn.waitEnds = nil
    guard signIn.conversation.challenge != nil, let session = sessions[signIn.key],
      let waiter = signIn.client.take(), let (client, request) = endWait(waiter, in: session)
    else { return }
    giveQuestion(of: signIn, session, request, client, now)
  }

  // MARK: Steps

  /// Takes an event of a sign-in, and does what follows.
  func take(_ event: ProviderConversation.Event, _ signIn: OpenSignIn, _ now: Instant) {
    guard case .provider(var conversation) = signIn.conversation else {
      preconditionFailure("a provider answers sign-ins at providers alone")
    }
    let action = conversation.handle(event, now: now, random: &host.random)
    signIn.conversation = .provider(conversation)
    switch action {
    case .send(let request): send(request, signIn)
    case .ask(let challenge):
      signIn.waitEnds = nil
      ask(challenge, false, signIn, now)
    case .refuse(let error):
      passwordsUnderWay.remove(signIn.key)
      answer(signIn, withRefusal: error, isOpen: true)
    case .wait:
      passwordsUnderWay.remove(signIn.key)
      // Who has answered nothing gets the same question at once.
      if signIn.client != nil, signIn.waitEnds == nil { signIn.waitEnds = now }
    case .finish(let result): finish(signIn, result, now)
    case .fail(let failure, let isRefusal): fail(signIn, failure, isRefusal: isRefusal)
    }
    if signIn.call == nil { stepTaken(signIn) }
    armSignInTimer()
  }

  private func send(_ request: ProviderConversation.Request, _ signIn: OpenSignIn) {
    callAllowance.spent(by: accountNumber(of: signIn.key.uid), now: host.clock.now)
    backendCalls += 1
    let id = beginCall(of: signIn)
    let call = ProviderCall(id: id, profile: signIn.place, user: signIn.user, request: request)
    host.upstream.converse(call) { [unowned self] result in
      callEnded(id, of: signIn) {
        take(event(result, of: $0), $0, host.clock.now)
      } late: {
        lateTokens(in: result, of: signIn)
      }
    }
  }

  /// The tokens that came after the end of the sign-in; nil for none.
  private func lateTokens(
    in result: Result<ProviderReply, UpstreamFailure>, of signIn: OpenSignIn
  ) -> PoolSession? {
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
    return tokens.flatMap { signIn.place.poolSession(of: $0) }
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

  /// Whose the session is now.
  private func present(_ signIn: OpenSignIn) -> ProviderConversation.Present {
    guard let machine = sessions[signIn.key]?.machine else { return .init() }
    let provider = signIn.profile.settings.developerProvider
    return ProviderConversation.Present(machine, linkedTo: provider)
  }

  // MARK: The end

  /// Revokes what came of a sign-in that has come to nothing: the user was signed in at the pool or the
  /// provider, and nobody has the tokens.
  func revokeUnclaimed(of signIn: OpenSignIn) {
    guard let session = sessions[signIn.key] else { return }
    let tokens: PoolSession?
    switch signIn.conversation {
    case .pool(let conversation): tokens = conversation.unclaimedTokens
    case .provider(let conversation):
      tokens = conversation.unclaimed.flatMap { signIn.place.poolSession(of: $0) }
    }
    if let tokens { revoke(tokens, of: session, signIn.profile) }
  }

  /// The user is known, and has confirmed what was to be confirmed: now it is the session's sign-in.
  private func finish(_ signIn: OpenSignIn, _ result: ProviderSignIn, _ now: Instant) {
    signIns.remove(signIn)
    passwordsUnderWay.remove(signIn.key)
    passwordLimiter.succeeded(signIn.attempt)
    if result.tokens.id.needsOtherAlgorithm { warnOfAlgorithm(result, signIn) }
    guard let session = sessions[signIn.key] else { return }
    do throws(InvalidInput) {
      use(try signIn.place.sessionTokens(result), of: signIn, session, now)
    } catch {
      let failure = UpstreamFailure.notSent(
        error, to: .backend(signIn.place.backend?.name ?? ""))
      if let tokens = UnclaimedTokens(result).flatMap({ signIn.place.poolSession(of: $0) }) {
        revoke(tokens, of: session, signIn.profile)
      }
      answer(signIn, withRefusal: failure.protocolError, isOpen: false)
    }
  }
}

extension SessionService {
  /// Cognito says of such tokens only that it could not verify them.
  private func warnOfAlgorithm(_ result: ProviderSignIn, _ signIn: OpenSignIn) {
    let metadata: Logger.Metadata = [
      "backend": "\(signIn.place.backend?.name ?? "")",
      "algorithm": "\(result.tokens.id.algorithm)",
    ]
    log.warning(
      "the provider signs its ID tokens by another algorithm than RS256, which identity pools verify: set RS256 for the client there",
      metadata: metadata)
  }
}

extension Profile {
  /// What a session keeps of a sign-in by browser or device code.
  fileprivate func sessionTokens(_ signIn: ProviderSignIn) throws(InvalidInput) -> PoolSignIn {
    if let client = try userPoolClient(secret: nil) { return try PoolSignIn(signIn, of: client) }
    guard let issuer = plan.backend.issuer else {
      throw InvalidInput(field: "backend", reason: "is no provider")
    }
    return try PoolSignIn(signIn, as: issuer)
  }

  /// The same of a sign-in that comes to nothing, to revoke it.
  fileprivate func poolSession(of tokens: UnclaimedTokens) -> PoolSession? {
    plan.backend.issuer.map { PoolSession(tokens, of: $0) }
  }
}
