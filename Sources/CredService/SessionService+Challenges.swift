import CredCore
import Logging

/// Sign-ins that may ask back: `login`, and `respond`. Those by browser and device code are in
/// SessionService+Providers.swift.
extension SessionService {
  /// How long a step may take in all, with the requests that follow of themselves: a person waits for
  /// it.
  private static func stepTime(_ signIn: OpenSignIn) -> Duration {
    max(.seconds(30), (signIn.place.backend?.timeout ?? .zero) * 2)
  }

  // MARK: login

  /// Begins a conversation with the user pool of a profile: the session's, or the one that is linked.
  /// The session stays as it is until its end.
  func beginPoolSignIn(
    _ login: LoginRequest, _ username: String, _ password: Secret?, at place: Profile,
    _ session: Session, _ request: Request, _ client: Client, _ now: Instant
  ) {
    var input = PoolConversation.Input(username: username, password: password)
    input.metadata = login.metadata ?? ClientMetadata()
    input.validationData = login.validationData ?? ClientMetadata()
    if let issuer = place.plan.backend.issuer {
      input.devices =
        devices[session.key.uid]?.devices(of: session.owner, at: issuer) ?? []
    }
    guard let plan = place.conversationPlan else {
      preconditionFailure("the profile has no user pool")
    }
    let conversation: PoolConversation
    do throws(ProtocolError) {
      conversation = try PoolConversation(plan, input)
    } catch {
      return refuse(error, id: request.id, client)
    }
    let attempt = PasswordLimiter.Attempt(
      uid: session.key.uid, account: accountNumber(of: session.key.uid),
      profile: session.key.profile,
      username: username)
    let isCustom = plan.flow == .custom
    if let error = passwordRefusal(attempt, now)
      ?? codeLimitError(attempt, at: isCustom ? nil : plan.backend, now)
    {
      recordRefusal(of: request, session, client, error)
      return refuse(error, id: request.id, client)
    }
    let signIn = enter(
      OpenSignIn(
        number: signIns.nextNumber(), session, attempt, .pool(conversation),
        customRoleARN: login.customRoleARN, by: caller(client, of: session), now: now))
    // Before a password was proved, the pool's triggers may send whatever they want.
    if isCustom { countCustomMessage(of: signIn, now) }
    begin(signIn, session, request, client) {
      take(PoolConversation.Event.started, signIn, now)
    }
  }

  /// Enters a sign-in, in place of what the session or its user has too many of.
  func enter(_ signIn: OpenSignIn) -> OpenSignIn {
    endSignIn(of: signIn.key, Self.replaced)
    if let victim = signIns.victim(of: signIn.key.uid) { end(victim, Self.crowdedOut) }
    signIns.insert(signIn)
    return signIn
  }

  static let replaced = ProtocolError(
    .signInFailed, "another sign-in to the same profile took its place")
  private static let crowdedOut = ProtocolError(
    .tooManyRequests, "too many sign-ins are open: this one made room for another")

  /// Lets a client wait for the next question, or for the end.
  func begin(
    _ signIn: OpenSignIn, _ session: Session, _ request: Request, _ client: Client,
    _ event: () -> Void
  ) {
    passwordsUnderWay.insert(signIn.key)
    signIn.client = client.id
    signIn.asker = asker(
      client, session, by: signIn.conversation.means, as: signIn.attempt.username)
    signIn.answerDue = host.clock.now + Self.stepTime(signIn)
    wait(client, for: WaitingRequest(request, for: .session(session)))
    session.askedBy = client.id
    event()
    recordAccess(to: session, ofWaiting: client)
  }

  // MARK: respond

  func respond(
    _ respond: RespondRequest, _ request: Request, _ client: Client, _ now: Instant
  ) {
    guard let signIn = signIns[respond.handle], signIn.key.uid == client.peer.uid else {
      return refuse(.unknownChallenge, id: request.id, client)
    }
    switch resolve(signIn.key.profile, client, now, since: client.nameSince) {
    case .pending: wait(client, for: WaitingRequest(request, for: .caller))
    // The sign-in goes on: the program that began it may well be admitted, and who could not be
    // identified may answer again.
    case .refused(var error):
      if !error.endsAccess { error.handle = respond.handle }
      refuse(error, id: request.id, client)
    case .session(let session):
      // Whoever has the uid now need not be the person who signs in.
      guard clients[client.id] != nil else { return }
      guard signIns[respond.handle] === signIn,
        signIn.owner.successor(session.owner) == .samePerson
      else { return refuse(.unknownChallenge, id: request.id, client) }
      carryOut(respond, signIn, session, request, client, now)
    }
  }

  private func carryOut(
    _ respond: RespondRequest, _ signIn: OpenSignIn, _ session: Session, _ request: Request,
    _ client: Client, _ now: Instant
  ) {
    if case .cancel = respond.input {
      end(signIn, ProtocolError(.signInFailed, "the sign-in was cancelled"))
      return giveState(of: session, request, client)
    }
    let isFree = signIn.conversation.isElsewhere ? signIn.client == nil : signIn.call == nil
    guard isFree, signIn.conversation.challenge != nil else {
      if case .wait(let time) = respond.input, !signIn.conversation.isElsewhere, time > .zero {
        return waitForStep(of: signIn, until: now + time, session, request, client)
      }
      return refuse(Self.answerUnderWay, id: request.id, client)
    }
    guard let deadline = signIn.deadline, now < deadline else {
      end(signIn, .unknownChallenge)
      return refuse(.unknownChallenge, id: request.id, client)
    }
    if case .wait(let time) = respond.input, signIn.conversation.isElsewhere, time > .zero {
      return waitElsewhere(
        signIn, until: min(now + time, deadline), session, request, client, now)
    }
    guard case .answers(let answers) = respond.input else {
      return giveQuestion(of: signIn, session, request, client, now)
    }
    if var error = callLimitError(session.key.uid, now) ?? passwordRefusal(signIn.attempt, now)
      ?? factorRefusal(signIn, now)
      ?? (respond.metadata == nil ? nil : session.profile.refusalOfMetadata)
    {
      error.handle = respond.handle
      record(
        asker(client, session, by: signIn.conversation.means, as: signIn.attempt.username), session,
        error)
      return refuse(error, id: request.id, client)
    }
    signIn.factor = signIn.factorInQuestion
    begin(signIn, session, request, client) {
      switch signIn.conversation {
      case .pool: take(.answered(answers, metadata: respond.metadata), signIn, now)
      case .provider: take(ProviderConversation.Event.answered(answers), signIn, now)
      }
    }
  }

  /// Gives a client the question that waits for its user.
  func giveQuestion(
    of signIn: OpenSignIn, _ session: Session, _ request: Request, _ client: Client, _ now: Instant
  ) {
    guard let challenge = signIn.conversation.challenge, let handle = signIn.handle,
      let deadline = signIn.deadline
    else { preconditionFailure("an open sign-in has its question, with a handle and a time") }
    give(
      .challenge(
        challenge, handle, profile: session.key.profile, state: session.machine.state.reported,
        remaining: deadline - now),
      request, client)
  }

  /// One try of a user's second factor at a time, with a pause after failures, whoever tries: a
  /// program may have many uids.
  private func factorRefusal(_ signIn: OpenSignIn, _ now: Instant) -> ProtocolError? {
    guard let factor = signIn.factorInQuestion else { return nil }
    if signIns.isTried(factor, besides: signIn) {
      return ProtocolError(
        .tooManyRequests, "another sign-in of this user is under way", retryAfter: .seconds(1))
    }
    return passwordLimiter.pause(before: factor, now: now).map {
      ProtocolError(.tooManyRequests, "too many sign-ins of this user failed", retryAfter: $0)
    }
  }
}

extension Profile {
  /// How a conversation with the profile's user pool goes; nil without one.
  var conversationPlan: PoolConversation.Plan? {
    guard let backend, case .userPool(let settings) = backend.kind, let issuer = plan.backend.issuer
    else { return nil }
    return PoolConversation.Plan(
      backend: backend.name, issuer: issuer, flow: settings.authFlow,
      rememberDevice: settings.rememberDevice)
  }
}

extension SignInInput {
  /// What a user pool asks for first; nil for other sign-ins.
  var poolUser: (name: String, password: Secret?)? {
    switch self {
    case .username(let name): (name, nil)
    case .password(let name, let password): (name, password)
    case .host, .developerToken, .logins, .poolTokens, .browser, .device: nil
    }
  }
}
